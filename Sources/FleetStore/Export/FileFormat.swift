package import Fleet

/// A format of output files, which a file name's extension can select.
package protocol FileFormat: RawRepresentable<String>, CaseIterable {
  /// The usual extension of the format's files, without a dot.
  var fileExtension: String { get }
  /// Other extensions.
  static var synonyms: [String: Self] { get }
}

extension FileFormat {
  package var fileExtension: String { rawValue }
  package static var synonyms: [String: Self] { [:] }

  /// Returns the format for a file name's extension; nil if the name has no extension.
  /// - Throws: `FleetError` for an unsupported extension.
  package static func named(by path: String) throws(FleetError) -> Self? {
    let name = path.split(separator: "/").last ?? ""
    // A leading dot does not start an extension.
    guard let dot = name.lastIndex(of: "."), dot > name.startIndex else { return nil }
    let end = name[name.index(after: dot)...].lowercased()
    if let format = allCases.first(where: { $0.fileExtension == end }) ?? synonyms[end] { return format }
    let forms = allCases.map { ".\($0.fileExtension)" }.joined(separator: ", ")
    throw .usage(
      "write", path, ".\(end.prefix(20)) is none of the forms; name a file that ends with one of: \(forms)")
  }
}
