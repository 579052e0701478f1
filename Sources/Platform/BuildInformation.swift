internal import CBuild

/// The version of the programs, with commit and build date.
package struct BuildInformation: Hashable, Sendable {
  /// The version, such as "0.1.0".
  package var version: String
  /// The abbreviated commit, with "-modified" if the tree had changes; nil in a development build.
  package var commit: String?
  /// The build date in UTC, such as "2026-11-21"; nil in a development build.
  package var date: String?

  package init(version: String, commit: String? = nil, date: String? = nil) {
    (self.version, self.commit, self.date) = (version, commit, date)
  }

  /// The version of the running program.
  package static let current = BuildInformation(
    version: unsafe String(cString: odograph_version()),
    commit: unsafe text(odograph_commit()),
    date: unsafe text(odograph_build_date()))

  private static func text(_ pointer: UnsafePointer<CChar>?) -> String? {
    guard let pointer = unsafe pointer, unsafe pointer.pointee != 0 else { return nil }
    return unsafe String(cString: pointer)
  }
}

extension BuildInformation: CustomStringConvertible {
  /// The text that `--version` prints: "0.1.0 (commit 5169b0e, built 2026-11-21)", or "0.1.0 (development
  /// version)".
  package var description: String {
    let origin = [commit.map { "commit \($0)" }, date.map { "built \($0)" }].compactMap { $0 }
    return "\(version) (\(origin.isEmpty ? "development version" : origin.joined(separator: ", ")))"
  }
}
