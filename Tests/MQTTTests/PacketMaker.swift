import TestSupport

/// Generates valid and damaged packets of a broker.
struct PacketMaker {
  var random: SplitMix
  let version311: Bool

  /// Properties of MQTT 5 with the types of the packets that can contain them.
  private static let properties: [(identifier: UInt8, value: Character, packets: [UInt8])] = [
    (0x01, "b", [3]), (0x02, "4", [3]), (0x03, "s", [3]), (0x08, "s", [3]), (0x09, "s", [3]),
    (0x0B, "v", [3]),
    (0x11, "4", [2]), (0x12, "s", [2]), (0x13, "2", [2]), (0x15, "s", [2]), (0x16, "s", [2]),
    (0x1A, "s", [2]),
    (0x1C, "s", [2, 14]), (0x1F, "s", [2, 4, 5, 6, 7, 9, 11, 14]), (0x21, "2", [2]), (0x22, "2", [2]),
    (0x24, "b", [2]), (0x25, "b", [2]), (0x26, "p", [2, 3, 4, 5, 6, 7, 9, 11, 14]), (0x27, "4", [2]),
    (0x28, "b", [2]), (0x29, "b", [2]), (0x2A, "b", [2]),
  ]

  static func length(_ value: Int) -> [UInt8] {
    var bytes: [UInt8] = []
    var rest = value
    repeat {
      bytes.append(UInt8(rest & 127) | (rest > 127 ? 128 : 0))
      rest >>= 7
    } while rest > 0
    return bytes
  }

  static func packet(_ first: UInt8, _ body: [UInt8]) -> [UInt8] { [first] + length(body.count) + body }

  private mutating func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &random) }

  private mutating func text(_ count: Int) -> [UInt8] {
    let characters = ["a", "/", "z", "7", "ä", "€", "🚗", " "]
    let text = (0..<count).map { _ in characters.randomElement(using: &random) ?? "a" }.joined()
    return [UInt8(text.utf8.count >> 8), UInt8(text.utf8.count & 255)] + Array(text.utf8)
  }

  private mutating func list(_ type: UInt8) -> [UInt8] {
    guard !version311 else { return [] }
    var bytes: [UInt8] = []
    for property in Self.properties.shuffled(using: &random)
    where property.packets.contains(type) && below(4) == 0 {
      for _ in 0..<(property.value == "p" || property.value == "v" ? 1 + below(3) : 1) {
        bytes.append(property.identifier)
        switch property.value {
        case "b": bytes.append(UInt8(below(2)))
        case "2": bytes += [UInt8(below(256)), UInt8(1 + below(255))]
        case "4": bytes += [UInt8(below(256)), 0, UInt8(below(256)), UInt8(1 + below(255))]
        case "v": bytes += Self.length(1 + below(1 << 20))
        case "p": bytes += text(below(5)) + text(below(5))
        default: bytes += text(1 + below(20))
        }
      }
    }
    return Self.length(bytes.count) + bytes
  }

  /// Returns a packet that the specification allows after CONNACK.
  mutating func sound() -> [UInt8] {
    let identifier = [UInt8(below(2)), UInt8(1 + below(255))]
    let type = [UInt8](arrayLiteral: 3, 3, 3, 4, 5, 6, 7, 9, 11, 13, version311 ? 13 : 14).randomElement(
      using: &random)
    switch type {
    case 3?:
      let quality = below(3)
      let payload = (0..<below(below(8) == 0 ? 20_000 : 100)).map { _ in UInt8(below(256)) }
      return Self.packet(
        0x30 | UInt8(quality << 1) | UInt8(below(2)),
        text(1 + below(30)) + (quality > 0 ? identifier : []) + list(3) + payload)
    case let type? where (4...7).contains(type):
      let first = type << 4 | (type == 6 ? 2 : 0)
      let reason: UInt8 = [0, 0x10, 0x80, 0x87, 0x92, 0x97].randomElement(using: &random) ?? 0
      switch version311 ? 0 : below(3) {
      case 0: return Self.packet(first, identifier)
      case 1: return Self.packet(first, identifier + [reason])
      default: return Self.packet(first, identifier + [reason] + list(type))
      }
    case 9?: return Self.packet(0x90, identifier + list(9) + [UInt8(below(3))])
    case 11?: return Self.packet(0xB0, version311 ? identifier : identifier + list(11) + [0])
    case 14?: return Self.packet(0xE0, below(2) == 0 ? [] : [0x8B] + list(14))
    default: return [0xD0, 0]
    }
  }

  /// Returns a CONNACK that accepts the client.
  mutating func connectAnswer() -> [UInt8] {
    Self.packet(0x20, [0, 0] + list(2))
  }

  /// Changes one part of a packet, or replaces it with random bytes.
  mutating func damaged(_ packet: [UInt8]) -> [UInt8] {
    var bytes = packet
    switch below(6) {
    case 0: bytes[below(bytes.count)] ^= 1 << UInt8(below(8))
    case 1: bytes[below(bytes.count)] = UInt8(below(256))
    case 2: bytes.insert(UInt8(below(256)), at: below(bytes.count + 1))
    case 3: bytes.remove(at: below(bytes.count))
    case 4: bytes = (0...below(40)).map { _ in UInt8(below(256)) }
    default:
      // Valid header, random body.
      bytes = Self.packet(packet[0], (0...below(60)).map { _ in UInt8(below(below(2) == 0 ? 256 : 0x30)) })
    }
    return bytes
  }
}
