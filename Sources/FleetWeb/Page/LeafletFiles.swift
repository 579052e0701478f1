package import Fleet
internal import FleetControl
internal import Platform

/// Leaflet as Debian installs it (libjs-leaflet): read at the start, as far as a browser asks for it.
package struct LeafletFiles: Sendable {
  /// Where Debian has it.
  package static let usualFolder = "/usr/share/javascript/leaflet"
  static let remedy = "apt install libjs-leaflet, or name another folder with --leaflet, and start again"

  /// By their paths in the folder.
  package private(set) var files: [String: [UInt8]] = [:]
  /// Why there is none; nil when there is.
  package private(set) var problem: String?

  /// What the page cannot do without.
  private static let needed = ["leaflet.esm.min.js", "leaflet.css"]
  /// Bytes that a file may have: Leaflet's greatest, not made small, has half a megabyte.
  private static let largest = 4 << 20

  /// - Parameter folder: one that was asked for; nil for the usual one, whose absence is no reason not to serve the rest.
  /// - Throws: `FleetError` for a folder that was asked for and has no Leaflet.
  package init(folder: String?) throws(FleetError) {
    let place = folder ?? Self.usualFolder
    for part in ["", "images/"] {
      for name in SmallFiles.names(in: "\(place)/\(part)") {
        guard let suffix = name.split(separator: ".").last, ["js", "css", "png"].contains(suffix),
          let bytes = InputFile.read("\(place)/\(part)\(name)", limit: Self.largest)
        else { continue }
        files[part + name] = bytes
      }
    }
    guard let missing = Self.needed.first(where: { files[$0] == nil }) else { return }
    files = [:]
    problem = "the map needs Leaflet, and there is no \(place)/\(missing)"
    if folder != nil {
      throw .usage("serve Leaflet from", place, "there is no \(missing); \(Self.remedy)")
    }
  }
}
