/// The fixed header of a packet (section 2.1): type, flags and length.
struct FixedHeader {
  let type: PacketType
  /// QoS of a PUBLISH.
  let quality: UInt8
  /// Number of bytes of the packet after this header.
  let length: Int
  /// Number of bytes of this header.
  let size: Int

  /// Parses a header; nil if it is incomplete.
  /// - Throws: a violation of the protocol, as soon as it is detectable.
  init?(_ bytes: UnsafeRawBufferPointer, version311: Bool) throws(PacketValidator.Violation) {
    guard bytes.count > 0 else { return nil }
    let first = unsafe bytes[0]
    guard let type = PacketType(rawValue: first >> 4) else {
      throw PacketValidator.Violation(
        packet: "packet of type \(first >> 4)", offset: 0, cause: "no broker may send it")
    }
    self.type = type
    quality = first >> 1 & 3
    try Self.checkFlags(first & 15, type, version311: version311)
    var length = 0
    for index in 1...4 {
      guard index < bytes.count else { return nil }
      let byte = unsafe bytes[index]
      length |= Int(byte & 127) << (7 * (index - 1))
      guard byte & 128 == 0 else { continue }
      if index > 1, byte == 0 { throw Self.violation(type, index, "an overlong length encoding") }
      self.length = length
      size = index + 1
      return
    }
    throw Self.violation(type, 4, "a length above four bytes")
  }

  private static func checkFlags(
    _ flags: UInt8, _ type: PacketType, version311: Bool
  ) throws(PacketValidator.Violation) {
    switch type {
    case .publish:
      if flags >> 1 & 3 == 3 { throw violation(type, 0, "QoS 3") }
      if flags & 6 == 0, flags & 8 != 0 { throw violation(type, 0, "a repetition at QoS 0") }
    case .publishRelease: if flags != 2 { throw violation(type, 0, "reserved bits") }
    case .authentication: throw violation(type, 0, "authentication that was not requested")
    case .disconnect where version311: throw violation(type, 0, "no broker may send it under 3.1.1")
    default: if flags != 0 { throw violation(type, 0, "reserved bits") }
    }
  }

  private static func violation(
    _ type: PacketType, _ offset: Int, _ cause: String
  ) -> PacketValidator.Violation {
    PacketValidator.Violation(packet: type.name, offset: offset, cause: cause)
  }
}
