internal import Glibc
package import NIOCore

/// An IP address, by which clients are identified and rate-limited.
package struct Address: Hashable, Sendable, CustomStringConvertible {
  /// The 4 bytes of an IPv4 address or the 16 of an IPv6 address; IPv4-mapped IPv6 addresses are converted to
  /// IPv4. Empty for a connection without an address, such as a local socket.
  package let bytes: [UInt8]

  package static let unknown = Address(bytes: [])

  package init(bytes: [UInt8]) {
    let mapped: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF]
    self.bytes = bytes.count == 16 && bytes.starts(with: mapped) ? Array(bytes[12...]) : bytes
  }

  /// Parses an address without port and brackets, such as `10.0.0.5` or `2001:db8::1`; nil for other texts.
  package init?(parsing text: some StringProtocol) {
    let text = String(text)
    guard text.utf8.count <= 45 else { return nil }
    var four = in_addr()
    if unsafe inet_pton(AF_INET, text, &four) == 1 {
      self.init(bytes: unsafe withUnsafeBytes(of: &four) { unsafe Array($0) })
      return
    }
    var six = in6_addr()
    guard unsafe inet_pton(AF_INET6, text, &six) == 1 else { return nil }
    self.init(bytes: unsafe withUnsafeBytes(of: &six) { unsafe Array($0) })
  }

  package init(_ address: SocketAddress?) {
    self = address?.ipAddress.flatMap { Address(parsing: $0.prefix { $0 != "%" }) } ?? .unknown
  }

  package var isLoopback: Bool {
    bytes.count == 4 ? bytes[0] == 127 : bytes == [UInt8](repeating: 0, count: 15) + [1]
  }

  /// The address without the last 64 bits of an IPv6 address, which a client can change freely. It identifies
  /// the subscriber's connection to the Internet.
  package var subscriber: Address {
    bytes.count == 16 ? Address(bytes: bytes[..<8] + [UInt8](repeating: 0, count: 8)) : self
  }

  package var description: String {
    switch bytes.count {
    case 4: bytes.map { "\($0)" }.joined(separator: ".")
    case 16: Self.text(bytes)
    default: "unknown"
    }
  }

  private static func text(_ bytes: [UInt8]) -> String {
    var characters = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
    guard unsafe inet_ntop(AF_INET6, bytes, &characters, socklen_t(characters.count)) != nil else {
      return "unknown"
    }
    return String(decoding: characters.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}

/// A range of addresses such as `10.0.0.0/8`; a single address is also a range.
package struct AddressRange: Hashable, Sendable {
  package let first: Address
  package let bits: Int

  /// Parses a range; nil for an invalid text.
  package init?(parsing text: String) {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count <= 2, let first = Address(parsing: parts[0]) else { return nil }
    let most = first.bytes.count * 8
    guard parts.count == 2 else {
      (self.first, bits) = (first, most)
      return
    }
    guard let bits = Int(parts[1]), (0...most).contains(bits) else { return nil }
    (self.first, self.bits) = (first, bits)
  }

  package func contains(_ address: Address) -> Bool {
    guard address.bytes.count == first.bytes.count else { return false }
    for (index, (a, b)) in zip(address.bytes, first.bytes).enumerated() {
      let left = bits - index * 8
      if left <= 0 { return true }
      let mask: UInt8 = left >= 8 ? 0xFF : ~(0xFF >> UInt8(left))
      if (a ^ b) & mask != 0 { return false }
    }
    return true
  }
}
