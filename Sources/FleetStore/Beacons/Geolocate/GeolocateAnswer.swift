internal import JSON
internal import Spatial

/// A service's answer: the position of a scan.
struct GeolocateAnswer: Hashable, Sendable {
  var coordinate: Coordinate
  /// The accuracy in m, as stated by the service. It can be wrong.
  var accuracy: Double

  /// The maximum accuracy in m that an answer can state: half of the earth's circumference.
  private static let farthest = 20_100_000.0

  /// Parses an answer.
  ///
  /// - Throws: `JSONError` with the problem.
  init(parsing bytes: [UInt8]) throws(JSONError) {
    let json = try JSONValue(parsing: bytes)
    if let fallback = json["fallback"], fallback != .null {
      throw JSONError("a guess (key \"fallback\") instead of the requested result")
    }
    guard let location = json["location"] else { throw JSONError("key \"location\": missing") }
    let latitude = try location.required("lat", in: -90...90)
    let longitude = try location.required("lng", in: -180...180)
    accuracy = try json.required("accuracy", in: 0...Self.farthest)
    coordinate = Coordinate(latitude: latitude, longitude: longitude)
  }

  init(coordinate: Coordinate, accuracy: Double) {
    (self.coordinate, self.accuracy) = (coordinate, accuracy)
  }
}

/// The outcome of a query.
enum GeolocateOutcome: Hashable, Sendable {
  case answered(GeolocateAnswer)
  /// The service does not know the position.
  case unknown
  /// The service is busy, for the given reason; with the retry delay in seconds, nil if the service states
  /// none.
  case busy(String, after: Double?)
  /// The query failed for the given reason; other queries can succeed.
  case failed(String)
  /// The service rejects this client for the given reason; no query will succeed.
  case refused(String)
  /// The query was aborted because the command is stopping.
  case interrupted
}
