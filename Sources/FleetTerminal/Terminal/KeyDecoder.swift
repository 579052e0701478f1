/// A pressed key.
package enum Key: Hashable, Sendable {
  case character(Character)
  case up
  case down
  case left
  case right
  case pageUp
  case pageDown
  case home
  case end
  case enter
  case escape
  case backspace
  case delete
  case tab
  /// Control with a lower-case letter.
  case control(Character)
}

/// A decoder from terminal input to keys: UTF-8 text, control characters and the cursor sequences of ECMA-48
/// as sent by xterm and its relatives.
///
/// A pure value type. Input can be split anywhere. A lone escape character is either the Escape key or the
/// start of a sequence; only time can decide. The caller calls `flush` if no further input follows.
package struct KeyDecoder: Sendable {
  private var pending: [UInt8] = []
  /// The maximum length of a sequence; longer ones are dropped.
  private static let longestSequence = 32

  package init() {}

  /// True if an incomplete sequence is pending.
  package var isPending: Bool { !pending.isEmpty }

  package mutating func feed(_ bytes: some Sequence<UInt8>) -> [Key] {
    pending.append(contentsOf: bytes)
    var keys: [Key] = []
    while let (key, length) = Self.first(in: pending[...]) {
      pending.removeFirst(length)
      if let key { keys.append(key) }
    }
    return keys
  }

  /// Returns the pending escape as a key, because no further bytes followed.
  package mutating func flush() -> [Key] {
    defer { pending = [] }
    return pending.first == 0x1B ? [.escape] : []
  }

  /// Returns the first key and its length in bytes; the key is nil for an unknown sequence, the result nil if
  /// more bytes are needed.
  private static func first(in bytes: ArraySlice<UInt8>) -> (key: Key?, length: Int)? {
    guard let byte = bytes.first else { return nil }
    switch byte {
    case 0x1B: return escapeSequence(in: bytes)
    case 0x0D, 0x0A: return (.enter, 1)
    case 0x09: return (.tab, 1)
    case 0x7F, 0x08: return (.backspace, 1)
    case 0x01...0x1A: return (.control(Character(Unicode.Scalar(byte + 0x60))), 1)
    case 0x00...0x1F: return (nil, 1)
    case 0x20..<0x7F: return (.character(Character(Unicode.Scalar(byte))), 1)
    default: return text(in: bytes)
    }
  }

  private static func text(in bytes: ArraySlice<UInt8>) -> (key: Key?, length: Int)? {
    let lead = bytes[bytes.startIndex]
    let length = lead >= 0xF0 ? 4 : (lead >= 0xE0 ? 3 : (lead >= 0xC2 ? 2 : 1))
    if length == 1 { return (nil, 1) }
    let following = bytes.dropFirst().prefix(length - 1)
    if let wrong = following.firstIndex(where: { $0 & 0xC0 != 0x80 }) {
      return (nil, wrong - bytes.startIndex)
    }
    guard following.count == length - 1 else { return nil }
    guard let string = String(validating: bytes.prefix(length), as: UTF8.self), let character = string.first
    else { return (nil, length) }
    return (.character(character), length)
  }

  private static func escapeSequence(in bytes: ArraySlice<UInt8>) -> (key: Key?, length: Int)? {
    guard bytes.count >= 2 else { return nil }
    let start = bytes.startIndex
    let introducer = bytes[start + 1]
    if introducer == UInt8(ascii: "O") {
      guard bytes.count >= 3 else { return nil }
      return (cursorKey(final: bytes[start + 2]), 3)
    }
    // An escape before other bytes is the escape key; the bytes after it are decoded separately.
    guard introducer == UInt8(ascii: "[") else { return (.escape, 1) }
    guard let end = bytes[(start + 2)...].firstIndex(where: { (0x40...0x7E).contains($0) }) else {
      return bytes.count > longestSequence ? (nil, bytes.count) : nil
    }
    let length = end - start + 1
    let parameters = bytes[(start + 2)..<end]
    if bytes[end] == UInt8(ascii: "~") {
      let number = parameters.prefix { $0 != UInt8(ascii: ";") }
      return (editingKey(number: String(decoding: number, as: UTF8.self)), length)
    }
    return (cursorKey(final: bytes[end]), length)
  }

  private static func cursorKey(final: UInt8) -> Key? {
    switch final {
    case UInt8(ascii: "A"): .up
    case UInt8(ascii: "B"): .down
    case UInt8(ascii: "C"): .right
    case UInt8(ascii: "D"): .left
    case UInt8(ascii: "H"): .home
    case UInt8(ascii: "F"): .end
    default: nil
    }
  }

  private static func editingKey(number: String) -> Key? {
    switch number {
    case "1", "7": .home
    case "3": .delete
    case "4", "8": .end
    case "5": .pageUp
    case "6": .pageDown
    default: nil
    }
  }
}
