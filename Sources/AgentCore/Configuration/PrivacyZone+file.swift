internal import Glibc
internal import Platform
internal import Positioning
internal import Spatial
internal import Telemetry

/// The GeoJSON file of `privacy.path`. What is wrong in it is an error, not a zone left out: nobody may go by a private
/// place believing that it is one.
extension PrivacyPolicy.Zone {
  /// - Parameter place: where the path was set.
  /// - Throws: `ConfigurationError` naming the file, and the first feature that is no zone.
  static func read(_ path: String, place: String) throws(ConfigurationError) -> [Self] {
    let bytes: [UInt8]
    do throws(SystemError) {
      bytes = try WholeFile.read(path)
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
