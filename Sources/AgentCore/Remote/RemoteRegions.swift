internal import Spatial
internal import Telemetry

/// A `regions/desired` document: a GeoJSON FeatureCollection. A value without I/O.
struct RemoteRegions: Sendable {
  /// What the regions are read from: the document's features.
  private(set) var features: [JSONValue] = []
  private(set) var version: String?
  let collection: RegionCollection

  /// Bytes: some ten thousand circles, or a thousand polygons of fifty corners.
  static let sizeLimit = 1 << 20

  /// - Throws: `JSONError` when the document as a whole is of no use.
  init(parsing payload: [UInt8]) throws(JSONError) {
    // The way to delete a retained message, and so the way to take all regions away.
    let empty = JSONValue.object(["type": .string("FeatureCollection"), "features": .array([])])
    guard payload.count <= Self.sizeLimit else { throw JSONError("more than \(Self.sizeLimit) bytes") }
    let json = payload.isEmpty ? empty : try JSONValue(parsing: payload)
    collection = try RegionCollection(json: json)
    if collection.regions.isEmpty, let first = collection.problems.first {
      throw JSONError("no feature is a region; \(first)")
    }
    features = json["features"]?.array ?? []
    version = json["version"]?.string.map { String($0.prefix(128)) }
  }

  /// The document of these features.
  static func document(_ features: [JSONValue]) -> [UInt8] {
    JSONWriter.object { json in
      json.field("type", "FeatureCollection")
      json.key("features")
      json.value(.array(features))
    }
  }
}

// MARK: Circles, as the OwnTracks format has them

extension RemoteRegions {
  /// The features with these circles among them, in place of those with the same identifiers.
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

  /// The circles among the features.
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
