extension ArraySlice<UInt8> {
  /// Returns a number in host byte order at an offset from the start of the slice; nil if it exceeds the
  /// slice.
  func number<Number: FixedWidthInteger>(_ type: Number.Type = Number.self, at offset: Int = 0) -> Number? {
    let size = Number.bitWidth / 8
    guard offset >= 0, offset <= count - size else { return nil }
    let start = startIndex + offset
    var number: Number = 0
    for byte in self[start..<start + size].reversed() {
      number = number << 8 | Number(truncatingIfNeeded: byte)
    }
    return Number(littleEndian: number)
  }
}

/// The messages of a netlink(7) datagram. A truncated message or invalid length ends the sequence.
struct NetlinkMessages: Sequence, IteratorProtocol {
  struct Message {
    var type: UInt16
    /// The payload after the header.
    var payload: ArraySlice<UInt8>
  }

  /// The size of struct nlmsghdr.
  private static let headerSize = 16
  private var rest: ArraySlice<UInt8>

  init(_ datagram: [UInt8]) { rest = datagram[...] }

  mutating func next() -> Message? {
    guard let length = rest.number(UInt32.self).map({ Int($0) }), let type = rest.number(UInt16.self, at: 4),
      length >= Self.headerSize, length <= rest.count
    else { return nil }
    let payload = rest.prefix(length).dropFirst(Self.headerSize)
    rest = rest.dropFirst((length + 3) & ~3)
    return Message(type: type, payload: payload)
  }
}

/// The attributes of a netlink message, one level deep. A truncated attribute or invalid length ends the
/// sequence.
struct NetlinkAttributes: Sequence, IteratorProtocol {
  struct Attribute {
    /// The type without the flags for nesting and byte order.
    var type: UInt32
    var value: ArraySlice<UInt8>
  }

  /// The size of struct nlattr.
  private static let headerSize = 4
  private var rest: ArraySlice<UInt8>

  init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

  mutating func next() -> Attribute? {
    guard let length = rest.number(UInt16.self).map({ Int($0) }), let type = rest.number(UInt16.self, at: 2),
      length >= Self.headerSize, length <= rest.count
    else { return nil }
    let value = rest.prefix(length).dropFirst(Self.headerSize)
    rest = rest.dropFirst((length + 3) & ~3)
    return Attribute(type: UInt32(type & 0x3FFF), value: value)
  }
}
