package import JSON
package import Spatial
package import Telemetry

/// A `regions/desired` document: a GeoJSON FeatureCollection. A value without I/O.
package struct RemoteRegions: Sendable {
  /// The document's features.
  package private(set) var features: [JSONValue] = []
  package private(set) var version: String?
  package let collection: RegionCollection

  /// Maximum size in bytes: about ten thousand circles, or a thousand polygons of fifty corners.
  static let sizeLimit = 1 << 20

  /// - Parameters:
  ///   - before: the previously monitored features.
  ///   - time: time of definition for new features that contain none; nil if unknown.
  /// - Throws: `JSONError` if the document as a whole is invalid.
  package init(parsing payload: [UInt8], before: [JSONValue] = [], at time: UTCTime? = nil) throws(JSONError)
  {
    // An empty payload deletes a retained message, and therefore all regions.
    let empty = JSONValue.object(["type": .string("FeatureCollection"), "features": .array([])])
    guard payload.count <= Self.sizeLimit else { throw JSONError("more than \(Self.sizeLimit) bytes") }
    let json = payload.isEmpty ? empty : try JSONValue(parsing: payload)
    guard case .object(var members) = json else { throw JSONError("not a JSON object") }
    if let given = json["features"]?.array {
      features = time.map { Self.stamped(given, before: before, at: $0) } ?? given
      members["features"] = .array(features)
    }
    collection = try RegionCollection(json: .object(members))
    if collection.regions.isEmpty, let first = collection.problems.first {
      throw JSONError("no feature is a region; \(first)")
    }
    version = json["version"]?.string.map { String($0.prefix(128)) }
  }

  /// Returns the features with the time (`tst`) of their definition or last change, if they contain none.
  /// Unchanged features retain their time.
  static func stamped(_ features: [JSONValue], before: [JSONValue], at time: UTCTime) -> [JSONValue] {
    var known: [JSONValue: JSONValue] = [:]
    for feature in before { known[feature.with("tst", nil)] = feature["properties"]?["tst"] }
    return features.map { feature in
      guard feature["properties"]?["tst"] == nil else { return feature }
      let made = known[feature.with("tst", nil)] ?? .integer(time.nanoseconds / 1_000_000_000)
      return feature.with("tst", made)
    }
  }

  /// Returns a FeatureCollection with the given features.
  package static func document(_ features: [JSONValue], version: String? = nil) -> [UInt8] {
    JSONWriter.object { json in
      json.field("type", "FeatureCollection")
      json.field("version", version)
      json.key("features")
      json.value(.array(features))
    }
  }
}

// MARK: Circles of the OwnTracks format

extension RemoteRegions {
  /// Returns the features with `waypoints` added as circles. A circle replaces the feature with the same
  /// identifier.
  static func adding(_ waypoints: [OwnTracksWaypoint], to features: [JSONValue]) -> [JSONValue] {
    let identifiers = Set(waypoints.map(\.regionID))
    let others = features.filter { feature in
      feature["id"]?.string.map { !identifiers.contains($0) } ?? true
    }
    return others
      + waypoints.map { waypoint in
        .object([
          "type": .string("Feature"), "id": .string(waypoint.regionID),
          "geometry": .object([
            "type": .string("Point"),
            "coordinates": .array([
              .number(waypoint.coordinate.longitude), .number(waypoint.coordinate.latitude),
            ]),
          ]),
          "properties": .object([
            "radius": .number(waypoint.radius), "name": .string(waypoint.description),
            "tst": .integer(waypoint.time.nanoseconds / 1_000_000_000),
          ]),
        ])
      }
  }

  /// Returns the circles among the features.
  static func waypoints(in features: [JSONValue]) -> [OwnTracksWaypoint] {
    features.compactMap { feature in
      guard feature["geometry"]?["type"]?.string == "Point", let identifier = feature["id"]?.string,
        let position = feature["geometry"]?["coordinates"]?.array?.compactMap(\.double), position.count >= 2,
        let radius = feature["properties"]?["radius"]
      else { return nil }
      let properties = feature["properties"]
      return try? OwnTracksWaypoint(
        json: .object([
          "desc": properties?["name"] ?? .string(identifier), "rid": .string(identifier),
          "lon": .number(position[0]), "lat": .number(position[1]), "rad": radius,
          "tst": properties?["tst"] ?? .integer(0),
        ]))
    }
  }
}

extension JSONValue {
  /// Returns a feature with another value of a property, or without the property. Values that are not objects
  /// are returned unchanged.
  fileprivate func with(_ property: String, _ value: JSONValue?) -> JSONValue {
    guard case .object(var members) = self else { return self }
    var properties: [String: JSONValue] = [:]
    if case .object(let own)? = members["properties"] { properties = own }
    properties[property] = value
    members["properties"] = .object(properties)
    return .object(members)
  }
}
