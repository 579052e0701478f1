/// The parts of a URL that must be checked before a request is sent.
package struct WebAddress: Hashable, Sendable {
  /// The scheme in lower case, such as `https`.
  package let scheme: String
  /// The text between `://` and the path, including a port and user information.
  package let authority: Substring
  /// The host without the port; an IPv6 address includes its brackets. Empty if missing.
  package let host: String

  /// Parses a URL.
  ///
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

  /// True if the host consists of the characters that host names and addresses can contain.
  package var hasSoundHost: Bool {
    !host.isEmpty && host.allSatisfy { $0.isLetter || $0.isNumber || ".-:[]_".contains($0) }
  }

  /// True if the host is this machine.
  package var isLoopback: Bool {
    let octets = host.split(separator: ".", omittingEmptySubsequences: false)
    return host.lowercased() == "localhost" || host == "[::1]"
      || octets.count == 4 && octets[0] == "127" && octets.allSatisfy { UInt8($0) != nil }
  }
}
