/// The syntax of the header `Host`: `uri-host [":" port]` (RFC 9110, section 7.2; RFC 3986, section 3.2.2).
package enum HostHeader {
  /// Returns whether a value is a host name or an address with an optional port. User names, paths and spaces are invalid: two
  /// servers could interpret them differently.
  package static func isValid(_ value: String) -> Bool {
    let bytes = Array(value.utf8)
    let end: Int
    if bytes.first == UInt8(ascii: "[") {
      guard let bracket = bytes.firstIndex(of: UInt8(ascii: "]")) else { return false }
      // The zone identifier of an IPv6 address, such as `%eth0`, is ignored.
      let inside = String(decoding: bytes[1..<bracket].prefix { $0 != UInt8(ascii: "%") }, as: UTF8.self)
      guard inside.contains(":"), Address(parsing: inside) != nil else { return false }
      end = bracket + 1
    } else {
      end = bytes.firstIndex(of: UInt8(ascii: ":")) ?? bytes.count
      guard end > 0, isName(bytes[..<end]) else { return false }
    }
    guard end < bytes.count else { return true }
    guard bytes[end] == UInt8(ascii: ":") else { return false }
    let port = bytes[(end + 1)...]
    guard port.allSatisfy({ (0x30...0x39).contains($0) }) else { return false }
    return port.isEmpty || UInt16(String(decoding: port, as: UTF8.self)) != nil
  }

  private static func isName(_ name: ArraySlice<UInt8>) -> Bool {
    var index = name.startIndex
    while index < name.endIndex {
      let byte = name[index]
      if byte == UInt8(ascii: "%") {
        guard index + 2 < name.endIndex, isHexadecimal(name[index + 1]), isHexadecimal(name[index + 2]) else {
          return false
        }
        index += 3
        continue
      }
      let isLetter = (0x41...0x5A).contains(byte & 0xDF) || (0x30...0x39).contains(byte)
      guard isLetter || "-._~!$&'()*+,;=".utf8.contains(byte) else { return false }
      index += 1
    }
    return true
  }

  private static func isHexadecimal(_ byte: UInt8) -> Bool {
    (0x30...0x39).contains(byte) || (0x41...0x46).contains(byte & 0xDF)
  }
}
