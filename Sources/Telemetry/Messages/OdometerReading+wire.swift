internal import JSON
internal import VehicleData

// The members `odometer` and `odometerEstimated` contain whole metres, rounded down so that a later value is
// never smaller.
extension OdometerReading {
  /// Largest valid distance in m.
  private static let farthest = 1e11

  /// Reads an odometer; nil if missing or invalid.
  init?(json: JSONValue) {
    guard let distance = json["odometer"]?.double, (0...Self.farthest).contains(distance) else { return nil }
    self.init(
      distance: distance, estimated: min(max(json["odometerEstimated"]?.double ?? 0, 0), Self.farthest))
  }

  func write(to json: inout JSONWriter) {
    json.field("odometer", Self.metres(distance))
    if estimated >= 1 { json.field("odometerEstimated", Self.metres(estimated)) }
  }

  static func metres(_ value: Double) -> Int64 {
    value.isFinite ? Int64(min(max(value, 0), farthest).rounded(.down)) : 0
  }
}
