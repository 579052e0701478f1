package import Fleet
package import FleetProgram

/// The source of the base map: `[map]` of the configuration, or `--map`.
package struct MapSettings: Hashable, Sendable {
  package enum Source: Hashable, Sendable {
    /// A file of raster tiles; see `TileFile`.
    case file(String)
    /// A URL with `{z}`, `{x}` and `{y}`, which browsers request themselves.
    case address(String, origin: String)
  }

  /// The source; nil without a base map.
  package var source: Source?
  /// The attribution as plain text.
  package var attribution: String?
  /// The zoom levels of the URL; a file contains its own.
  package var zooms: ClosedRange<Int> = 0...19

  package static let table = "map"
  package static let keys = ["mbtiles", "tiles", "attribution", "minimum_zoom", "maximum_zoom"]
  static let deepest = 24

  package init() {}

  /// Reads the settings.
  ///
  /// - Parameters:
  ///   - settings: nil without a configuration.
  ///   - file: the file of the command line, which takes precedence.
  /// - Throws: `FleetError` with the position of an error.
  package init(_ settings: SettingsFile?, file: String? = nil) throws(FleetError) {
    self.init()
    if let settings { self = try MapSettings(settings.table(Self.table, keys: Self.keys)) }
    if let file { source = .file(file) }
  }

  private init(_ table: SettingsTable) throws(FleetError) {
    let (file, address) = (try table.file("mbtiles"), try table.text("tiles"))
    attribution = try table.text("attribution")
    let lowest = try table.integer("minimum_zoom", in: 0...Self.deepest) ?? 0
    let highest = try table.integer("maximum_zoom", in: 0...Self.deepest) ?? max(lowest, 19)
    guard lowest <= highest else {
      throw table.wrong("maximum_zoom", "it is below minimum_zoom, \(lowest)")
    }
    zooms = lowest...highest
    guard let address else {
      source = file.map { .file($0) }
      return
    }
    guard file == nil else {
      throw table.wrong("tiles", "it cannot be combined with mbtiles")
    }
    do throws(FleetError) { source = .address(address, origin: try Self.origin(of: address)) } catch {
      throw table.wrong("tiles", error.cause)
    }
    guard attribution != nil else {
      throw table.wrong("attribution", "required: the source of the map, which the page shows")
    }
  }

  /// Returns the origin that browsers may access, such as `https://tiles.example:8443`.
  /// - Throws: `FleetError` for an invalid URL of tiles.
  static func origin(of address: String) throws(FleetError) -> String {
    func wrong(_ cause: String) -> FleetError { .usage("use", "\(address.prefix(80))", cause) }
    let form = "write it as https://tiles.example/{z}/{x}/{y}.png"
    guard let scheme = ["https://", "http://"].first(where: address.hasPrefix) else {
      throw wrong("it begins with neither https:// nor http://; \(form)")
    }
    let rest = address.dropFirst(scheme.count)
    let host = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
    // The host becomes a part of the page's security policy, so it must contain no other characters.
    guard !host.isEmpty, host.utf8.allSatisfy({ $0.isPartOfHost }) else {
      throw wrong(
        host.contains("{")
          ? "the host's name contains a placeholder; name one host, because browsers may request tiles from it only"
          : "it has no valid host; \(form)")
    }
    guard address.unicodeScalars.allSatisfy({ $0.isASCII && $0.value > 0x20 && $0 != "\"" && $0 != "\\" })
    else { throw wrong("it has characters that an address does not have; percent-encode them") }
    var path = String(rest.dropFirst(host.count))
    for part in ["{z}", "{x}", "{y}"] {
      guard let range = path.firstRange(of: part) else { throw wrong("it has no \(part); \(form)") }
      path.removeSubrange(range)
    }
    guard !path.contains("{") else {
      throw wrong("it has more than {z}, {x} and {y} between braces; \(form)")
    }
    return scheme + host
  }
}

extension UInt8 {
  /// True for the characters of a host name, an address in brackets, or a port.
  fileprivate var isPartOfHost: Bool {
    switch self {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: ":"),
      UInt8(ascii: "["), UInt8(ascii: "]"):
      true
    default: false
    }
  }
}
