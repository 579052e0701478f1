internal import JSON
package import Spatial
package import VehicleData

/// A region event as the agent sends it to the sockets in `regions.notify`.
package struct RegionLine: Hashable, Sendable {
  package var kind: RegionEvent.Kind
  package var identifier: String
  package var name: String?
  package var time: UTCTime
  /// Nil in a privacy zone.
  package var coordinate: Coordinate?
  package var horizontalAccuracy: Double?
  package var confidence: Double
  package var isLate: Bool

  /// Parses a line. Nil for an invalid one.
  package init?(_ line: some Sequence<UInt8>) {
    guard let json = try? JSONValue(parsing: Array(line)),
      let kind = json["event"]?.string.flatMap(RegionEvent.Kind.init),
      let identifier = json["region"]?.string, !identifier.isEmpty,
      let time = json["time"]?.string.flatMap({ UTCTime(rfc3339: $0) })
    else { return nil }
    (self.kind, self.identifier, self.time) = (kind, identifier, time)
    name = json["name"]?.string
    if let latitude = json["latitude"]?.double, let longitude = json["longitude"]?.double {
      let place = Coordinate(latitude: latitude, longitude: longitude)
      coordinate = place.isValid ? place : nil
    }
    horizontalAccuracy = json["horizontalAccuracy"]?.double?.ifMagnitude
    confidence = min(max(json["confidence"]?.double ?? 1, 0), 1)
    isLate = json["late"]?.bool ?? false
  }
}
