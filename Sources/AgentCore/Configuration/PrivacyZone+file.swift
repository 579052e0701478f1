internal import Glibc
internal import JSON
internal import Platform
internal import Positioning
internal import Spatial
internal import Telemetry

extension PrivacyPolicy {
  init(_ reader: ConfigurationReader) throws(ConfigurationError) {
    let accuracy = try reader.number("privacy.accuracy")
    self.init(accuracy: accuracy > 0 ? accuracy : nil)
    for text in try reader.texts("privacy.zones") {
      guard let zone = Zone(text) else {
        throw reader.problem(
          "privacy.zones",
          "\"\(text.prefix(80))\" is not \"LATITUDE LONGITUDE RADIUS [withhold|blur]\" in degrees and metres")
      }
      zones.append(zone)
    }
    if let path = reader.optionalText("privacy.path") {
      zones += try Zone.read(path, place: reader.place(of: "privacy.path"))
    }
  }
}

extension PrivacyPolicy.Zone {
  /// Parses "48.1371 11.5754 300 blur", optionally with commas between the parts. Nil for anything else.
  fileprivate init?(_ text: String) {
    let parts = text.split { $0 == " " || $0 == "," || $0 == "\t" }
    guard (3...4).contains(parts.count) else { return nil }
    let numbers = parts.prefix(3).compactMap { Double($0) }
    guard numbers.count == 3, (1...1_000_000).contains(numbers[2]) else { return nil }
    let centre = Coordinate(latitude: numbers[0], longitude: numbers[1])
    let treatment = parts.count == 4 ? PrivacyPolicy.Treatment(rawValue: String(parts[3])) : .withhold
    guard centre.isValid, let treatment else { return nil }
    guard let circle = Circle(center: centre, radius: numbers[2]) else { return nil }
    self.init(area: .circle(circle), treatment: treatment)
  }
}

/// Reading of the GeoJSON file of `privacy.path`. Any problem is an error, because an omitted zone would not
/// protect a place that its owner considers private.
extension PrivacyPolicy.Zone {
  /// - Parameter place: origin of the path.
  /// - Throws: `ConfigurationError` naming the file and the first invalid feature.
  static func read(_ path: String, place: String) throws(ConfigurationError) -> [Self] {
    let bytes: [UInt8]
    do throws(SystemError) {
      bytes = try AtomicFile.contents(of: path)
    } catch {
      throw ConfigurationError(
        .unreadable, place: place,
        problem:
          "key privacy.path: \(path) cannot be read: \(SystemError.message(for: error.code)); correct it or remove it"
      )
    }
    do throws(JSONError) {
      return try zones(in: JSONValue(parsing: bytes))
    } catch {
      throw ConfigurationError(.invalidValue, place: path, problem: error.description)
    }
  }

  private static func zones(in json: JSONValue) throws(JSONError) -> [Self] {
    let collection = try RegionCollection(json: json)
    if let problem = collection.problems.first { throw JSONError("\(problem)") }
    var zones: [Self] = []
    for (region, index) in zip(collection.regions, collection.places) {
      let area: Area
      do throws(RegionError) {
        area = try region.area()
      } catch {
        throw JSONError("feature \(index) (\"\(region.identifier.prefix(80))\"): \(error)")
      }
      zones.append(Self(area: area, treatment: try treatment(json["features"]?.array?[index], index)))
    }
    return zones
  }

  private static func treatment(
    _ feature: JSONValue?, _ index: Int
  ) throws(JSONError) -> PrivacyPolicy.Treatment {
    guard let value = feature?["properties"]?["privacy"] else { return .withhold }
    guard let treatment = value.string.flatMap(PrivacyPolicy.Treatment.init) else {
      throw JSONError("feature \(index): key \"properties.privacy\": must be \"withhold\" or \"blur\"")
    }
    return treatment
  }
}
