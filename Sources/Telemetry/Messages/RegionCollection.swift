package import JSON
package import Spatial
package import VehicleData

/// Regions from a GeoJSON FeatureCollection (RFC 7946).
///
/// A feature is a region if its geometry is a Polygon, a MultiPolygon, or a Point with a member `radius`
/// (metres) in its `properties`. Its identifier is the feature's `id`, or `id`, `identifier` or `name` of its
/// properties. A document in another reference system than WGS 84 (`crs`) is refused. Further properties:
/// `dwell` (seconds), `desiredAccuracy` (metres at 68 %, required of fixes near the boundary), `speedLimit`
/// (m/s, above 0, for vehicles inside), `notifyOnEntry`, `notifyOnExit` (default true), `name`, and `tst`,
/// the time of creation or last change (seconds since 1970, as in OwnTracks). Other properties are ignored.
/// Edges are shortest lines on the earth, not straight lines on a map: for an edge of 10 km at 50° north the
/// difference is 2 m.
package struct RegionCollection: Hashable, Sendable {
  /// A feature that is not a valid region, with its identification, the problem and the remedy.
  package struct Problem: Hashable, Sendable, CustomStringConvertible {
    /// Index of the feature in the collection, from 0.
    package var index: Int
    /// Identifier; nil if the feature has none.
    package var identifier: String?
    package var reason: String

    package init(index: Int, identifier: String?, reason: String) {
      self.index = index
      self.identifier = identifier
      self.reason = reason
    }

    package var description: String {
      "feature \(index)" + (identifier.map { " (\"\($0.prefix(80))\")" } ?? "") + ": " + reason
    }
  }

  package private(set) var regions: [Region] = []
  /// Index of each region's feature in the collection, in the order of the regions.
  package private(set) var places: [Int] = []
  package private(set) var problems: [Problem] = []

  /// Reads all valid regions. `RegionMonitor.replaceAll(_:)` of `Positioning` checks their geometry.
  /// - Parameter time: creation time for regions without `tst`; nil if unknown.
  /// - Throws: `JSONError` if the document is no FeatureCollection.
  package init(json: JSONValue, definedAt time: UTCTime? = nil) throws(JSONError) {
    guard json["type"]?.string == "FeatureCollection" else {
      throw JSONError("key \"type\": must be \"FeatureCollection\"")
    }
    guard let features = json["features"]?.array else {
      throw JSONError("key \"features\": missing or not an array")
    }
    try RegionGeometry.checkReferenceSystem(of: json)
    for (index, feature) in features.enumerated() {
      do throws(JSONError) {
        var region = try Region(feature: feature)
        region.definedAt = region.definedAt ?? time
        regions.append(region)
        places.append(index)
      } catch {
        problems.append(
          Problem(
            index: index, identifier: RegionGeometry.identifier(of: feature, acceptsName: true),
            reason: error.description)
        )
      }
    }
  }
}

extension Region {
  /// Reads a region from one feature.
  /// - Throws: `JSONError` with the path inside the feature.
  package init(feature: JSONValue) throws(JSONError) {
    guard feature["type"]?.string == "Feature" else { throw JSONError("key \"type\": must be \"Feature\"") }
    guard let identifier = RegionGeometry.identifier(of: feature, acceptsName: true) else {
      throw JSONError("has no identifier; give it an \"id\"")
    }
    try RegionGeometry.check(identifier: identifier)
    let properties = feature["properties"]
    self.init(identifier: identifier, shape: try Self.shape(feature["geometry"], properties))
    notifyOnEntry = try Self.flag("notifyOnEntry", properties)
    notifyOnExit = try Self.flag("notifyOnExit", properties)
    if let value = properties?["dwell"] {
      guard let seconds = value.double else {
        throw JSONError("key \"properties.dwell\": not a number; give seconds")
      }
      dwell = seconds
    }
    if let value = properties?["desiredAccuracy"] {
      guard let metres = value.double else {
        throw JSONError("key \"properties.desiredAccuracy\": not a number; give metres")
      }
      desiredAccuracy = metres
    }
    speedLimit = try Self.speedLimit(properties)
    name = RegionGeometry.name(of: feature)
    if let seconds = properties?["tst"]?.double, (0...9e9).contains(seconds) {
      definedAt = UTCTime(secondsSince1970: seconds)
    }
  }

  /// Returns `speedLimit` of a feature's properties in m/s; nil if missing.
  /// - Throws: `JSONError` with the path inside the feature unless the value is a number above 0 or a speed
  ///   with a unit.
  package static func speedLimit(_ properties: JSONValue?) throws(JSONError) -> Double? {
    guard let value = properties?["speedLimit"] else { return nil }
    guard let speed = value.double ?? value.string.flatMap(SpeedText.metresPerSecond), speed > 0,
      speed.isFinite
    else {
      throw JSONError(
        "key \"properties.speedLimit\": must be a number above 0 in m/s, or \(SpeedText.example)")
    }
    return speed
  }

  private static func flag(_ name: String, _ properties: JSONValue?) throws(JSONError) -> Bool {
    guard let value = properties?[name] else { return true }
    guard let flag = value.bool else { throw JSONError("key \"properties.\(name)\": must be true or false") }
    return flag
  }

  private static func shape(_ geometry: JSONValue?, _ properties: JSONValue?) throws(JSONError) -> Shape {
    switch try RegionGeometry(geometry) {
    case .polygon(let parts): return .polygon(parts)
    case .point(let center):
      guard let radius = properties?["radius"]?.double else {
        throw JSONError("key \"properties.radius\": missing or not a number; a Point needs one, in metres")
      }
      return .circle(center: center, radius: radius)
    }
  }
}
