/// An address of the web in its parts, as far as it has to be known before anything is sent there.
package struct WebAddress: Hashable, Sendable {
  /// In small letters, as in `https`.
  package let scheme: String
  /// What is between `://` and the path, a port and whatever else included.
  package let authority: Substring
  /// Without the port, an IPv6 address in its brackets; empty where there is none.
  package let host: String

  /// - Returns: nil for a text without `://`.
  package init?(_ url: String) {
    guard let end = url.firstRange(of: "://") else { return nil }
    scheme = url[..<end.lowerBound].lowercased()
    authority = url[end.upperBound...].prefix { $0 != "/" && $0 != "?" && $0 != "#" }
    host = Self.host(authority)
  }

  private static func host(_ authority: Substring) -> String {
    if authority.first == "[" {
      let rest = authority.drop { $0 != "]" }.dropFirst()
      return rest.isEmpty || rest.first == ":" ? String(authority.prefix { $0 != "]" }) + "]" : ""
    }
    return String(authority.prefix { $0 != ":" })
  }

  /// Whether the host is of letters, digits and what else names have.
  package var hasSoundHost: Bool {
    !host.isEmpty && host.allSatisfy { $0.isLetter || $0.isNumber || ".-:[]_".contains($0) }
  }

  /// Whether it is this machine.
  package var isLoopback: Bool {
    let octets = host.split(separator: ".", omittingEmptySubsequences: false)
    return host.lowercased() == "localhost" || host == "[::1]"
      || octets.count == 4 && octets[0] == "127" && octets.allSatisfy { UInt8($0) != nil }
  }
}
