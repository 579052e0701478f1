import TestSupport
import Testing

@testable import MQTT

/// Packets of a broker, checked against the specification.
@Suite struct PacketValidatorTests {
  private static let accepted: [UInt8] = [0x20, 3, 0, 0, 0]

  /// Validates a byte stream that arrives in pieces of `piece` bytes. Returns the violation; nil if the stream
  /// is valid.
  private func verdict(_ bytes: [UInt8], version311: Bool = false, limit: Int = 1 << 20, piece: Int)
    -> String?
  {
    var validator = PacketValidator(version311: version311, limit: limit)
    var waiting: [UInt8] = []
    var passed = 0
    for start in stride(from: 0, to: bytes.count, by: piece) {
      waiting += bytes[start..<min(bytes.count, start + piece)]
      while !waiting.isEmpty {
        let step = waiting.withUnsafeMutableBytes { validator.check($0) }
        switch step {
        case .pass(let count), .drop(let count):
          waiting.removeFirst(count)
          passed += count
        case .incomplete: break
        case .refuse(let violation): return violation.description
        }
        if step == .incomplete { break }
      }
    }
    return waiting.isEmpty && validator.rest == 0 ? nil : "unfinished"
  }

  @Test(
    arguments: [
      ([0x20, 5, 0, 0, 2, 0x7F, 0], "CONNACK, byte 5: unknown property 0x7f"),
      ([0x20, 6, 0, 0, 3, 0x23, 0, 1], "CONNACK, byte 5: a topic alias, of which this side allows none"),
      ([0x20, 6, 0, 0, 3, 0x21, 0, 0], "CONNACK, byte 7: a limit of zero"),
      ([0x20, 8, 0, 0, 5, 0x27, 0, 0, 0, 0], "CONNACK, byte 9: a limit of zero"),
      ([0x20, 5, 0, 0, 2, 0x24, 2], "CONNACK, byte 6: 2 where only 0 and 1 are allowed"),
      ([0x20, 7, 0, 0, 4, 0x24, 1, 0x24, 1], "CONNACK, byte 7: property 0x24 twice"),
      ([0x20, 5, 0, 0, 2, 0x01, 1], "CONNACK, byte 5: property 0x1 does not belong here"),
      ([0x20, 5, 0, 0, 1, 0x24, 1], "CONNACK, byte 5: a property that is longer than the properties"),
      ([0x20, 5, 0, 0, 9, 0x24, 1], "CONNACK, byte 4: properties that are longer than the packet"),
      ([0x20, 5, 0, 0, 0, 0x24, 1], "CONNACK, byte 4: 2 bytes after the properties"),
      (
        [0x20, 7, 0, 0, 4, 0x1F, 0, 2, 0x61],
        "CONNACK, byte 7: a value that extends beyond the end of the properties"
      ),
      ([0x20, 7, 0, 0, 4, 0x1F, 0, 1, 0xFF], "CONNACK, byte 8: invalid UTF-8"),
      ([0x20, 7, 0, 0, 4, 0x1F, 0, 1, 0xC3], "CONNACK, byte 8: invalid UTF-8"),
      ([0x20, 7, 0, 0, 4, 0x26, 0, 1, 0x61], "CONNACK, byte 9: an incomplete pair"),
      ([0x20, 2, 0, 0], "CONNACK, byte 4: it ends too early"),
      ([0x20, 3, 2, 0, 0], "CONNACK, byte 2: reserved bits"),
      ([0x20, 3, 1, 0x87, 0], "CONNACK, byte 3: session present in a refused connection"),
      ([0x20, 0], "CONNACK, byte 1: it is empty"),
      ([0x20, 0x83, 0, 0, 0, 0], "CONNACK, byte 2: an overlong length encoding"),
      ([0x20, 0xFF, 0xFF, 0xFF, 0xFF, 1], "CONNACK, byte 4: a length above four bytes"),
      (
        [0x20, 0xFF, 0xFF, 0xFF, 0x7F],
        "CONNACK, byte 4: 268435460 bytes exceed this side's limit of 1048576"
      ),
      ([0xD0, 0], "PINGRESP, byte 0: it came before CONNACK"),
      ([0x00, 0], "packet of type 0, byte 0: no broker may send it"),
      ([0xF0, 0], "AUTH, byte 0: authentication that was not requested"),
      (accepted + accepted, "CONNACK, byte 0: a second one"),
      (accepted + [0x10, 0], "packet of type 1, byte 0: no broker may send it"),
      (accepted + [0x82, 5, 0, 1, 0, 0, 0], "packet of type 8, byte 0: no broker may send it"),
      (accepted + [0x36, 4, 0, 1, 0x61, 0], "PUBLISH, byte 0: QoS 3"),
      (accepted + [0x38, 4, 0, 1, 0x61, 0], "PUBLISH, byte 0: a repetition at QoS 0"),
      (accepted + [0x30, 3, 0, 0, 0], "PUBLISH, byte 3: an empty topic name"),
      (accepted + [0x30, 4, 0, 9, 0x61, 0], "PUBLISH, byte 3: a topic name that is longer than the packet"),
      (accepted + [0x30, 3, 0, 1, 0x61], "PUBLISH, byte 5: it ends too early"),
      (accepted + [0x32, 6, 0, 1, 0x61, 0, 0, 0], "PUBLISH, byte 6: packet identifier 0"),
      (accepted + [0x30, 6, 0, 1, 0x61, 2, 0x7F, 0], "PUBLISH, byte 6: unknown property 0x7f"),
      (accepted + [0x60, 2, 0, 1], "PUBREL, byte 0: reserved bits"),
      (accepted + [0x40, 1, 1], "PUBACK, byte 3: it ends too early"),
      (accepted + [0x90, 3, 0, 1, 0], "SUBACK, byte 5: it ends too early"),
      (accepted + [0xD0, 1, 0], "PINGRESP, byte 1: it has 1 bytes instead of 0"),
      (accepted + [0xE0, 4, 0x8B, 2, 0x7F, 0], "DISCONNECT, byte 4: unknown property 0x7f"),
    ] as [([UInt8], String)])
  func violationsOfMQTT5AreDescribed(bytes: [UInt8], said: String) {
    for piece in 1...bytes.count { #expect(verdict(bytes, piece: piece) == said) }
  }

  @Test(
    arguments: [
      ([0x20, 3, 0, 0, 0], "CONNACK, byte 1: it has 3 bytes instead of 2"),
      ([0x20, 2, 0, 0, 0x40, 3, 0, 1, 0], "PUBACK, byte 1: it has 3 bytes instead of 2"),
      ([0x20, 2, 0, 0, 0x90, 3, 0, 1, 3], "SUBACK, byte 4: return code 3"),
      ([0x20, 2, 0, 0, 0x90, 2, 0, 1], "SUBACK, byte 4: it ends too early"),
      ([0x20, 2, 0, 0, 0xE0, 0], "DISCONNECT, byte 0: no broker may send it under 3.1.1"),
      ([0x20, 2, 0, 0, 0x32, 3, 0, 1, 0x61], "PUBLISH, byte 5: it ends too early"),
    ] as [([UInt8], String)])
  func violationsOfMQTT311AreDescribed(bytes: [UInt8], said: String) {
    for piece in 1...bytes.count { #expect(verdict(bytes, version311: true, piece: piece) == said) }
  }

  @Test(
    arguments: [
      // A refusal in 3.1.1 of a client that offered 5, and the shortest packet of each type.
      ([0x20, 2, 0, 1], false), (accepted + [0x30, 4, 0, 1, 0x61, 0], false),
      (accepted + [0x40, 2, 0, 1], false), (accepted + [0x40, 3, 0, 1, 0x87], false),
      (accepted + [0xE0, 0], false), (accepted + [0xE0, 1, 0x8B], false), (accepted + [0xD0, 0], false),
      ([0x20, 2, 1, 0, 0x30, 3, 0, 1, 0x61], true), ([0x20, 2, 0, 5], true),
      ([0x20, 2, 0, 0, 0x90, 3, 0, 1, 0x80], true),
      // Empty strings and binary data.
      (accepted + [0x30, 12, 0, 1, 0x61, 8, 0x26, 0, 0, 0, 0, 0x03, 0, 0], false),
    ] as [([UInt8], Bool)])
  func validPacketsPass(bytes: [UInt8], version311: Bool) {
    for piece in 1...bytes.count { #expect(verdict(bytes, version311: version311, piece: piece) == nil) }
  }

  @Test func verdictDoesNotDependOnPieceSize() {
    let generator = SplitMix.announced()
    for version311 in [false, true] {
      var maker = PacketMaker(random: generator, version311: version311)
      var refused = 0
      for _ in 0..<3000 {
        let answer = maker.connectAnswer()
        let sound = answer + maker.sound() + maker.sound()
        #expect(verdict(sound, version311: version311, piece: sound.count) == nil, "\(sound)")
        let damaged = answer + maker.damaged(maker.sound())
        let whole = verdict(damaged, version311: version311, piece: damaged.count)
        for piece in [1, 2, 3, 7] {
          #expect(verdict(damaged, version311: version311, piece: piece) == whole, "\(damaged)")
        }
        if whole != nil { refused += 1 }
      }
      #expect(refused > 1000)
    }
  }

  @Test func oversizedMessageOfQoS0IsDropped() {
    let small = PacketMaker.packet(0x30, [0, 1, 0x61, 0] + [1, 2, 3])
    let large = PacketMaker.packet(0x30, [0, 1, 0x62, 0] + [UInt8](repeating: 7, count: 5000))
    for piece in [1, 2, 100, 10_000] {
      let (output, guarded) = through(Self.accepted + small + large + small, limit: 1000, piece: piece)
      #expect(output == Self.accepted + small + small)
      #expect(guarded.droppedCount == 1)
      #expect(guarded.violation == nil)
    }
    let owed = PacketMaker.packet(0x32, [0, 1, 0x62, 0, 1, 0] + [UInt8](repeating: 7, count: 5000))
    #expect(
      through(Self.accepted + owed, limit: 1000, piece: 100).guarded.violation?.description
        == "PUBLISH, byte 2: 5009 bytes exceed this side's limit of 1000")
  }

  @Test func guardPassesValidBytesUnchanged() {
    var maker = PacketMaker(random: .announced(), version311: false)
    var bytes = maker.connectAnswer()
    for _ in 0..<200 { bytes += maker.sound() }
    bytes += PacketMaker.packet(0x30, [0, 1, 0x62, 0] + [UInt8](repeating: 7, count: 200_000))
    bytes += maker.sound()
    for piece in [1, 17, 4096, 1 << 20] {
      let (output, guarded) = through(bytes, limit: 1 << 20, piece: piece)
      #expect(output == bytes)
      #expect(guarded.violation == nil)
    }
  }

  /// Reads a stream through a guard, alternating between small and large buffers.
  private func through(_ bytes: [UInt8], limit: Int, piece: Int) -> (output: [UInt8], guarded: PacketGuard) {
    let guarded = PacketGuard(version311: false, limit: limit)
    var rest = bytes[...]
    var output: [UInt8] = []
    var sizes = 0
    while true {
      sizes += 1
      var buffer = [UInt8](repeating: 0, count: sizes % 3 == 0 ? 10_000 : sizes % 5 + 1)
      let count = buffer.withUnsafeMutableBytes { output in
        guarded.read(into: output) { target in
          let part = rest.prefix(min(piece, target.count))
          target.copyBytes(from: part)
          rest = rest.dropFirst(part.count)
          return part.count
        }
      }
      guard count > 0 else { return (output, guarded) }
      output += buffer.prefix(count)
    }
  }
}
