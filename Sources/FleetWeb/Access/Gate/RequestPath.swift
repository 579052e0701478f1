/// The decoded parts of a request's path, as split by the router.
package struct RequestPath: Hashable, Sendable {
  package let parts: [String]

  /// The maximum length of a path in bytes: the names of fleet and vehicle are topic levels, which are
  /// shorter.
  package static let longest = 4096

  /// Parses a path; nil for an invalid one: control characters, dot segments, a slash in a segment, or
  /// invalid UTF-8.
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

  /// The segments below `/api/v1`; nil for other paths.
  package var interface: ArraySlice<String>? { parts.starts(with: ["api", "v1"]) ? parts[2...] : nil }

  /// True if the path requires authentication.
  package var isProtected: Bool { parts.first == "api" || parts.first == "metrics" }
}
