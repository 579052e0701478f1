import MQTT
import Platform
import TestSupport
import Testing

/// Sends hostile packets to the real libmosquitto behind the packet guard. Without the guard each of these
/// packets terminates the process.
@Suite(.serialized) struct HostilePacketTests {
  private func configuration(_ port: Int, _ version: MQTTConfiguration.ProtocolVersion) -> MQTTConfiguration {
    var configuration = MQTTConfiguration(
      brokers: [.init(host: "127.0.0.1", port: port)], clientID: "vehicle")
    configuration.protocolVersion = version
    configuration.backoffBase = 0.0005
    configuration.backoffLimit = 0.001
    configuration.maximumPacketSize = 65_536
    return configuration
  }

  @Test(
    .timeLimit(.minutes(6)),
    arguments: [
      ([0x20, 5, 0, 0, 2, 0x7F, 0], "CONNACK, byte 5: unknown property 0x7f"),
      ([0x20, 3, 0, 0, 0, 0x30, 6, 0, 1, 0x61, 2, 0x7F, 0], "PUBLISH, byte 6: unknown property 0x7f"),
      ([0x20, 3, 0, 0, 0, 0xE0, 4, 0x8B, 2, 0x7F, 0], "DISCONNECT, byte 4: unknown property 0x7f"),
    ] as [([UInt8], String)])
  func anUnknownPropertyEndsTheConnectionAndNotTheProcess(bytes: [UInt8], said: String) throws {
    let broker = try FakeBroker { connection, number in
      guard connection.read() != nil else { return }
      connection.send(number == 0 ? bytes : [0x20, 3, 0, 0, 0])
      connection.waitForEnd()
    }
    let states = Locked([MQTTConnectionState]())
    let session = try MQTTSession(
      configuration: configuration(broker.port, .v5),
      handlers: .init(connectionChanged: { state in states.withLock { $0.append(state) } }))
    try session.start()
    #expect(
      waitUntil {
        if case .connected? = states.withLock({ $0.last }) { broker.connectionCount > 1 } else { false }
      })
    session.stop()
    let causes = states.withLock { $0 }.compactMap { state -> MQTTDisconnection.Cause? in
      if case .disconnected(let end, _) = state { end.cause } else { nil }
    }
    #expect(causes.first == .protocolViolation(said))
  }

  @Test(.timeLimit(.minutes(10)), arguments: [MQTTConfiguration.ProtocolVersion.v5, .v311])
  func theLibrarySurvivesAnyBytes(version: MQTTConfiguration.ProtocolVersion) throws {
    let generator = SplitMix.announced()
    let connections = Shared.isFullRun ? 8000 : 800
    let packets = Locked(0)
    let broker = try FakeBroker { connection, number in
      guard connection.read() != nil else { return }
      // Packets of a connection depend only on the seed and the number of the connection.
      var seeded = generator
      var maker = PacketMaker(
        random: SplitMix(seed: seeded.next() &+ UInt64(number)), version311: version == .v311)
      // A random CONNACK often ends the connection, and the packets behind it would not be read. Only every
      // fourth connection gets one.
      var bytes: [UInt8] = version == .v311 ? [0x20, 2, 0, 0] : [0x20, 3, 0, 0, 0]
      if number % 4 == 0 { bytes = maker.connectAnswer() }
      if number % 8 == 0 { bytes = maker.damaged(bytes) }
      for _ in 0..<(number % 8) { bytes += maker.sound() }
      bytes += maker.damaged(maker.sound())
      connection.send(bytes)
      packets.withLock { $0 += number % 8 + 2 }
      // Closing a socket with unread input would discard the sent bytes.
      while connection.hasMore(milliseconds: 10), connection.read() != nil {}
    }
    let received = Locked(0)
    let session = try MQTTSession(
      configuration: configuration(broker.port, version), subscriptions: [MQTTSubscription("#")],
      handlers: .init(received: { batch in
        received.withLock { $0 += batch.count }
        return .kept
      }))
    try session.start()
    #expect(waitUntil(atMost: 300) { broker.connectionCount > connections })
    session.stop(drain: 0)
    print(
      "\(connections) connections, \(packets.withLock { $0 }) packets, \(received.withLock { $0 }) messages")
    // Part of the valid packets must reach the library.
    #expect(received.withLock { $0 } > connections / 20)
  }
}
