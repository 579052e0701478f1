import Foundation
import TestSupport
import Testing

/// Brokers that do not answer, or close the connection instead of answering.
@Suite(.timeLimit(.minutes(4))) struct UnresponsiveBrokerTests {
  @Test func silentQueueTimesOut() async throws {
    let folder = try TemporaryDirectory()
    let password = folder.file("password")
    try Data("x\n".utf8).write(to: URL(fileURLWithPath: password))
    let broker = try FakeBroker { connection, _ in connection.waitForEnd() }
    let result = try await OdographProcess.run([
      "record", folder.file("fleet.sqlite"), "--from", "amqp://fleet@127.0.0.1:\(broker.port)", "--queue",
      "q",
      "--password-file", password, "--seconds", "1.5",
    ])
    #expect(result.status == 69, "\(result.output)")
    #expect(result.output.contains("cannot reach the queue: no answer within 1.5 s"), "\(result.output)")
  }

  /// Behaviour of RabbitMQ 3.10 with MQTT 5, also if it is the only address.
  @Test func fallsBackTo311IfTheBrokerCloses() async throws {
    let broker = try FakeBroker { connection, _ in
      guard let connect = connection.read(), connect.protocolLevel == 4 else { return }
      connection.sendConnectAnswer(0, properties: nil)
      while let packet = connection.read() {
        guard packet.type == 8 else { continue }
        connection.send([0x90, 3] + Array(packet.body.prefix(2)) + [1])
        connection.send([0x30, 4, 0, 1, 0x61, 0x31])
      }
    }
    let result = try await OdographProcess.run([
      "tail", "--topic", "a", "--count", "1", "--broker", "mqtt://127.0.0.1:\(broker.port)",
    ])
    #expect(result.status == 0 && result.output.contains("\"payload\":1"), "\(result.output)")
    #expect(!result.output.contains("closed by"), "\(result.output)")
  }

  /// Behaviour of RabbitMQ for a shared subscription with MQTT 3.1.1.
  @Test func disconnectAfterASharedSubscriptionIsReported() async throws {
    let broker = try FakeBroker { connection, _ in
      guard connection.read() != nil else { return }
      connection.sendConnectAnswer(0, properties: nil)
      while let packet = connection.read(), packet.type != 8 {}
    }
    let result = try await OdographProcess.run([
      "tail", "--share", "g", "--mqtt-v311", "--timeout", "60", "--broker", "mqtt://127.0.0.1:\(broker.port)",
    ])
    #expect(result.status == 69, "\(result.output)")
    #expect(result.output.contains("may not support shared subscriptions"), "\(result.output)")
    #expect(result.output.contains("leave out --share"), "\(result.output)")
  }

  /// Behaviour of RabbitMQ 3.10: it closes the connection for MQTT 5, and for each publish that its access list refuses.
  @Test func checkTreatsADisconnectAsARefusal() async throws {
    let broker = try FakeBroker { connection, _ in
      guard let connect = connection.read(), connect.protocolLevel == 4 else { return }
      connection.sendConnectAnswer(0, properties: nil)
      while let packet = connection.read() {
        switch packet.type {
        case 8: connection.send([0x90, 3] + Array(packet.body.prefix(2)) + [1])
        case 12: connection.send([0xD0, 0])
        default: return
        }
      }
    }
    let result = try await OdographProcess.run(["check", "--broker", "mqtt://127.0.0.1:\(broker.port)"])
    #expect(result.status == 0, "\(result.output)")
    let refused = result.lines.filter { $0.hasPrefix("warning") && $0.contains("not authorized") }
    #expect(refused.count == 3, "\(result.output)")
    #expect(result.output.contains("ok       subscribe"), "\(result.output)")
  }
}
