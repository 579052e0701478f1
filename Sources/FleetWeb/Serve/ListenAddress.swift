package import Fleet

/// The address of the server: host and port, such as `127.0.0.1:8080` or `[::1]:8080`.
package struct ListenAddress: Hashable, Sendable {
  /// A name or an address, without brackets.
  package var host: String
  package var port: Int

  /// Parses an address.
  ///
  /// - Throws: `FleetError` for a text that is not an address with a port.
  package init(parsing text: String) throws(FleetError) {
    let wrong = FleetError.usage(
      "listen at", "\(text.prefix(80))",
      "write an address and a port, for example 127.0.0.1:8080 or [::1]:8080")
    guard let colon = text.lastIndex(of: ":"), let port = Int(text[text.index(after: colon)...]),
      (0...65_535).contains(port)
    else { throw wrong }
    var host = text[..<colon]
    if host.hasPrefix("["), host.hasSuffix("]") {
      host = host.dropFirst().dropLast()
    } else if host.contains(":") {
      throw wrong
    }
    guard !host.isEmpty, !host.contains(where: { "[] /".contains($0) }) else { throw wrong }
    (self.host, self.port) = (String(host), port)
  }

  /// True if only this machine can connect.
  package var isLoopback: Bool { Self.isLoopback(host) }

  /// The address as in a URL.
  package var text: String { (host.contains(":") ? "[\(host)]" : host) + ":\(port)" }

  static func isLoopback(_ host: String) -> Bool {
    if host == "localhost" || host == "::1" { return true }
    // A host name can start with "127." but resolve to any address.
    let parts = host.split(separator: ".", omittingEmptySubsequences: false)
    return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
  }
}
