/// A request's path in its parts, as the router splits it, and decoded.
package struct RequestPath: Hashable, Sendable {
  package let parts: [String]

  /// Bytes at most; fleets and vehicles are topic levels, which are shorter.
  package static let longest = 4096

  /// nil for a path that none here is: with a zero or control byte, a dot part, a slash in a part, or what is no UTF-8.
  package init?(_ path: String) {
    guard path.utf8.count <= Self.longest else { return nil }
    var parts: [String] = []
    for raw in path.split(separator: "/", omittingEmptySubsequences: true) {
      guard let part = PercentEncoding.decoded(raw), part != ".", part != "..",
        !part.unicodeScalars.contains(where: { $0.value < 0x20 || $0.value == 0x7F || $0 == "/" })
      else { return nil }
      parts.append(part)
    }
    self.parts = parts
  }

  /// The parts below `/api/v1`; nil for what is elsewhere.
  package var interface: ArraySlice<String>? { parts.starts(with: ["api", "v1"]) ? parts[2...] : nil }

  /// Whether something of the fleet is there, so that one has to be let in.
  package var isProtected: Bool { parts.first == "api" || parts.first == "metrics" }
}
