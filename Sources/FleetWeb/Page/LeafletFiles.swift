package import Fleet
internal import FleetProgram
internal import Platform

/// Debian's Leaflet (libjs-leaflet): the files that browsers request, read at the start.
package struct LeafletFiles: Sendable {
  /// The folder of Debian's package.
  package static let usualFolder = "/usr/share/javascript/leaflet"
  static let remedy = "apt install libjs-leaflet, or name another folder with --leaflet, and start again"

  /// The files by their paths in the folder.
  package private(set) var files: [String: [UInt8]] = [:]
  /// The reason for a missing Leaflet; nil if it is installed.
  package private(set) var problem: String?

  /// The files that the page requires.
  private static let needed = ["leaflet.esm.min.js", "leaflet.css"]
  /// The maximum size of a file in bytes: Leaflet's largest, not minified, has half a megabyte.
  private static let largest = 4 << 20

  /// Reads the files.
  ///
  /// - Parameter folder: the requested folder; nil for the default, which may be missing.
  /// - Throws: `FleetError` for a requested folder without Leaflet.
  package init(folder: String?) throws(FleetError) {
    let place = folder ?? Self.usualFolder
    for part in ["", "images/"] {
      for name in SmallFiles.names(in: "\(place)/\(part)") {
        guard let suffix = name.split(separator: ".").last, ["js", "css", "png"].contains(suffix),
          let bytes = try? InputFile.read("\(place)/\(part)\(name)", limit: Self.largest)
        else { continue }
        files[part + name] = bytes
      }
    }
    guard let missing = Self.needed.first(where: { files[$0] == nil }) else { return }
    files = [:]
    problem = "the map requires Leaflet; missing: \(place)/\(missing)"
    if folder != nil {
      throw .usage("serve Leaflet from", place, "there is no \(missing); \(Self.remedy)")
    }
  }
}
