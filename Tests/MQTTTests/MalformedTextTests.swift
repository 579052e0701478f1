import Platform
import TestSupport
import Testing

@testable import MQTT

/// Text that libmosquitto rejects, placed in every string of every packet that a broker sends. The real library
/// reads the packets.
@Suite(.serialized) struct MalformedTextTests {
  /// Code points that libmosquitto 2.0.11 rejects: all control characters, and the limits of the other ranges.
  static let rejected: [UInt32] =
    Array(0...0x1F) + Array(0x7F...0x9F) + Array(0xFDD0...0xFDEF) + [0xD800, 0xDABC, 0xDBFF, 0xDC00, 0xDFFF]
    + (0...16).flatMap { [$0 << 16 | 0xFFFE, $0 << 16 | 0xFFFF] }
  /// Code points next to the rejected ones.
  static let accepted: [UInt32] = [
    0x20, 0x7E, 0xA0, 0x7FF, 0x800, 0xD7FF, 0xE000, 0xFDCF, 0xFDF0, 0xFFFD, 0x10000, 0x1FFFD, 0x10FFFD,
  ]
  static let notUTF8: [[UInt8]] = [
    [0x80], [0xC0, 0x80], [0xC3], [0xC3, 0x28], [0xE2, 0x82], [0xE2, 0x28, 0xA1], [0xE0, 0x80, 0x80],
    [0xF0, 0x80, 0x80, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xF8, 0x88, 0x80, 0x80, 0x80], [0xFF],
  ]

  /// Encodes a code point as UTF-8 by definition, including surrogates.
  static func bytes(_ codePoint: UInt32) -> [UInt8] {
    func tail(_ shift: UInt32) -> UInt8 { 0x80 | UInt8(codePoint >> shift & 0x3F) }
    switch codePoint {
    case ..<0x80: return [UInt8(codePoint)]
    case ..<0x800: return [0xC0 | UInt8(codePoint >> 6), tail(0)]
    case ..<0x10000: return [0xE0 | UInt8(codePoint >> 12), tail(6), tail(0)]
    default: return [0xF0 | UInt8(codePoint >> 18), tail(12), tail(6), tail(0)]
    }
  }

  private static func text(_ bytes: [UInt8]) -> [UInt8] {
    [UInt8(bytes.count >> 8), UInt8(bytes.count & 0xFF)] + bytes
  }

  private static func list(_ properties: [UInt8]) -> [UInt8] {
    PacketMaker.length(properties.count) + properties
  }

  /// Position of the text in a PUBLISH packet.
  enum Field: String, CaseIterable { case topic, contentType, responseTopic, name, value }

  private static func publish(
    _ part: [UInt8], in field: Field, quality: UInt8, identifier: UInt8, version311: Bool
  ) -> [UInt8] {
    let middle = Array("bad/x".utf8) + part + Array("y".utf8)
    var properties: [UInt8] = []
    switch field {
    case .topic: break
    case .contentType: properties = [0x03] + text(middle)
    case .responseTopic: properties = [0x08] + text(middle)
    case .name: properties = [0x26] + text(middle) + text([0x61])
    case .value: properties = [0x26] + text([0x61]) + text(middle)
    }
    return PacketMaker.packet(
      0x30 | quality << 1,
      text(field == .topic ? middle : Array("bad/topic".utf8)) + (quality > 0 ? [0, identifier] : [])
        + (version311 ? [] : list(properties)) + Array("payload".utf8))
  }

  private static func good(_ number: Int, version311: Bool) -> [UInt8] {
    PacketMaker.packet(
      0x32, text(Array("good/\(number)".utf8)) + [1, 1] + (version311 ? [] : [0]) + Array("payload".utf8))
  }

  private struct Outcome {
    var topics: [String] = []
    var acknowledged = 0
    var malformed = 0
    var warnings: [String] = []
    var connections = 0
    var isConnected = false
  }

  /// Delivers messages to a session, each followed by a valid message. The next pair is sent after both have
  /// been acknowledged.
  private func deliver(
    _ messages: [[UInt8]], quality: UInt8, version311: Bool, connectAnswer: [UInt8] = [0x20, 3, 0, 0, 0],
    subscribeProperties: [UInt8] = []
  ) throws -> Outcome {
    let state = Locked(Outcome())
    let broker = try FakeBroker { connection, _ in
      guard connection.read() != nil else { return }
      connection.send(version311 ? [0x20, 2, 0, 0] : connectAnswer)
      while let packet = connection.read() {
        switch packet.type {
        case 8:
          connection.send(
            PacketMaker.packet(
              0x90, Array(packet.body.prefix(2)) + (version311 ? [] : Self.list(subscribeProperties)) + [1]))
          for (index, message) in messages.enumerated() {
            connection.send(message + Self.good(index, version311: version311))
            // QoS 0 has no answer, QoS 2 has two. The valid message is acknowledged once.
            var answers = 1 + Int(quality)
            while answers > 0, let answer = connection.read() {
              switch answer.type {
              case 4, 7: break
              case 5: connection.send([0x62, 2] + answer.body.prefix(2))
              default: continue
              }
              answers -= 1
              state.withLock { $0.acknowledged += 1 }
            }
          }
        case 12: connection.send([0xD0, 0])
        default: break
        }
      }
    }
    var configuration = MQTTConfiguration(
      brokers: [.init(host: "127.0.0.1", port: broker.port)], clientID: "vehicle")
    configuration.protocolVersion = version311 ? .v311 : .v5
    configuration.backoffBase = 0.0005
    configuration.backoffLimit = 0.001
    let session = try MQTTSession(
      configuration: configuration, subscriptions: [MQTTSubscription("#")],
      handlers: .init(
        received: { batch in
          state.withLock { $0.topics += batch.map(\.topic) }
          return .kept
        }, warned: { text in state.withLock { $0.warnings.append(text) } }))
    try session.start()
    let last = "good/\(messages.count - 1)"
    waitUntil(atMost: 30) {
      broker.connectionCount > 1
        || state.withLock {
          $0.topics.contains(last) && $0.acknowledged >= messages.count * (1 + Int(quality))
        }
    }
    session.stop(drain: 1)
    var outcome = state.withLock { $0 }
    outcome.malformed = session.statistics.malformed
    outcome.connections = broker.connectionCount
    return outcome
  }

  @Test(
    .timeLimit(.minutes(5)),
    arguments: [(UInt8(0), false), (1, false), (2, false), (0, true), (1, true), (2, true)])
  func messagesWithRejectedTextAreAcknowledgedDroppedAndCounted(quality: UInt8, version311: Bool) throws {
    let parts = Self.rejected.map(Self.bytes) + Self.notUTF8 + [[0x23], [0x2B]]
    for field in version311 ? [Field.topic] : Field.allCases {
      // Wildcards are invalid only in topics.
      let parts = field == .topic || field == .responseTopic ? parts : parts.dropLast(2)
      let messages = parts.enumerated().map { index, part in
        Self.publish(part, in: field, quality: quality, identifier: UInt8(index + 1), version311: version311)
      }
      let outcome = try deliver(messages, quality: quality, version311: version311)
      #expect(outcome.connections == 1, "\(field)")
      #expect(outcome.malformed == messages.count, "\(field)")
      #expect(outcome.topics == (0..<messages.count).map { "good/\($0)" }, "\(field)")
      #expect(outcome.acknowledged == messages.count * (1 + Int(quality)), "\(field)")
      #expect(outcome.warnings.count == 1)
      #expect(
        outcome.warnings.first?.contains(field == .topic ? "U+0000 in the topic" : "U+0000 in a property")
          == true, "\(outcome.warnings)")
      print(
        "QoS \(quality), \(version311 ? "3.1.1" : "5"), \(field): \(messages.count) dropped, 1 connection")
    }
  }

  @Test(.timeLimit(.minutes(5)), arguments: Field.allCases) func neighboursOfRejectedTextPass(field: Field)
    throws
  {
    let messages = Self.accepted.enumerated().map { index, codePoint in
      Self.publish(
        Self.bytes(codePoint), in: field, quality: 1, identifier: UInt8(index + 1), version311: false)
    }
    let outcome = try deliver(messages, quality: 1, version311: false)
    #expect(outcome.connections == 1)
    #expect(outcome.malformed == 0)
    #expect(outcome.topics.count == 2 * messages.count)
  }

  /// In reason strings, user properties and other text outside messages, rejected characters are replaced.
  @Test(.timeLimit(.minutes(5))) func rejectedTextOutsideMessagesEndsNoConnection() throws {
    for codePoint in Self.rejected {
      let middle = Self.text([0x78] + Self.bytes(codePoint) + [0x79])
      let common = [0x1F] + middle + [0x26] + middle + middle
      let answer = [0x15] + middle + [0x1A] + middle + [0x1C] + middle + common
      let message = Self.publish([0x7A], in: .topic, quality: 2, identifier: 1, version311: false)
      var validator = PacketValidator(version311: false, limit: 1 << 20)
      // All packets with a reason string, per the specification.
      for packet in [
        PacketMaker.packet(0x20, [0, 0] + Self.list([0x12] + middle + answer)),
        PacketMaker.packet(0x40, [0, 1, 0] + Self.list(common)),
        PacketMaker.packet(0x50, [0, 1, 0] + Self.list(common)),
        PacketMaker.packet(0x62, [0, 1, 0] + Self.list(common)),
        PacketMaker.packet(0x70, [0, 1, 0] + Self.list(common)),
        PacketMaker.packet(0x90, [0, 1] + Self.list(common) + [0]),
        PacketMaker.packet(0xB0, [0, 1] + Self.list(common) + [0]),
        PacketMaker.packet(0xE0, [0x8B] + Self.list([0x1C] + middle + common)),
      ] {
        var bytes = packet
        let step = bytes.withUnsafeMutableBytes { validator.check($0) }
        #expect(step == .pass(packet.count), "U+\(String(codePoint, radix: 16))")
        #expect(String(validating: bytes, as: UTF8.self) != nil || packet[0] >= 0x80)
        #expect(bytes != packet && bytes.count == packet.count)
      }
      // The real library reads a sample of them.
      guard codePoint % 8 == 1 else { continue }
      let outcome = try deliver(
        [message], quality: 2, version311: false,
        connectAnswer: PacketMaker.packet(0x20, [0, 0] + Self.list(answer)), subscribeProperties: common)
      #expect(outcome.connections == 1, "U+\(String(codePoint, radix: 16))")
      #expect(outcome.topics == ["bad/xzy", "good/0"] || outcome.topics == ["good/0", "bad/xzy"])
      #expect(outcome.malformed == 0)
    }
  }
}
