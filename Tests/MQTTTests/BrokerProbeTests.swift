import MQTT
import TestSupport
import Testing

/// Result of publishing a test message to a broker that accepts the connection.
@Suite struct BrokerProbeTests {
  @Test(
    .timeLimit(.minutes(6)),
    arguments: [
      ([], 0, nil), ([], 0x10, nil), ([], 0x87, .notAuthorized), ([0x27, 0, 0, 0, 20], 0, .packetTooLarge),
      ([0x24, 0], 0, .qosNotSupported),
    ] as [([UInt8], UInt8, MQTTReasonCode?)])
  func probeReportsARejectedTestMessage(
    granted: [UInt8], answer: UInt8, refusal: MQTTReasonCode?
  ) throws {
    let broker = try FakeBroker { connection, _ in
      guard connection.read() != nil else { return }
      connection.sendConnectAnswer(0, properties: granted)
      while let packet = connection.read() {
        if packet.type == 3 { connection.acknowledge(packet, reason: answer) }
      }
    }
    var configuration = MQTTConfiguration(
      brokers: [.init(host: "127.0.0.1", port: broker.port)], clientID: "vehicle")
    configuration.protocolVersion = .v5
    let message = MQTTMessage(
      topic: "odograph/v1/fleet/vehicle/status", payload: [], qos: .atLeastOnce)
    switch try BrokerProbe.run(configuration, publishing: message).first {
    case .accepting: #expect(refusal == nil)
    case .rejecting(_, let reason): #expect(refusal == reason)
    case let other: Issue.record("\(String(describing: other))")
    }
  }

  /// With TLS the library reports the refused connection at the first packet, before the socket is polled.
  @Test(.timeLimit(.minutes(6)), arguments: [nil, MQTTTLS()] as [MQTTTLS?])
  func closedPortIsReportedWithAndWithoutTLS(tls: MQTTTLS?) throws {
    var configuration = MQTTConfiguration(
      brokers: [.init(host: "127.0.0.1", port: try FreePort.next())], clientID: "vehicle")
    configuration.tls = tls
    guard case .unreachable(let end)? = try BrokerProbe.run(configuration).first else {
      Issue.record("expected a refused connection")
      return
    }
    #expect(end.phase == .tcp && end.cause == .unreachable("Connection refused"), "\(end)")
  }
}
