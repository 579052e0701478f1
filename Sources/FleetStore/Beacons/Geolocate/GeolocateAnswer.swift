internal import JSON
internal import Spatial

/// What a service says of where a scan was made.
struct GeolocateAnswer: Hashable, Sendable {
  var coordinate: Coordinate
  /// Metres, as the service states it: nobody has to believe it.
  var accuracy: Double

  /// Half of the earth's circumference.
  private static let farthest = 20_100_000.0

  /// - Throws: `JSONError` naming what is wrong: nothing of such an answer is believed.
  init(parsing bytes: [UInt8]) throws(JSONError) {
    let json = try JSONValue(parsing: bytes)
    if let fallback = json["fallback"], fallback != .null {
      throw JSONError("it is a guess (key \"fallback\"), not what was asked for")
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

/// What became of a question.
enum GeolocateOutcome: Hashable, Sendable {
  case answered(GeolocateAnswer)
  /// It does not know the place either.
  case unknown
  /// It wants to be asked later, after so many seconds where it says so.
  case busy(String, after: Double?)
  /// Nothing that can be used came; another question may fare better.
  case failed(String)
  /// It does not answer this fleet: no question will fare better.
  case refused(String)
  /// The command is to end.
  case interrupted
}
