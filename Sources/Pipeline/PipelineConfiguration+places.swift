internal import Positioning
internal import Sensors
internal import Spatial

extension PipelineConfiguration {
  /// Returns whether this configuration makes a stored position private.
  func hides(_ coordinate: Coordinate) -> Bool {
    guard location.isEnabled else { return true }
    let place = Positioning.Location(timestamp: Timestamp(nanoseconds: 0), coordinate: coordinate)
    var now = privacy.shown(place)
    if location.desiredAccuracy == .reduced { now = now?.reduced }
    guard let now else { return true }
    // A position reduced to its cell's centre must not be reduced again. It equals the stored one except for
    // rounding.
    return abs(now.coordinate.latitude - coordinate.latitude) > Self.keptDigits
      || abs(now.coordinate.longitude - coordinate.longitude) > Self.keptDigits
  }

  /// Rounding of stored positions in degrees; positions of tracks are stored with a tenth of this rounding.
  private static let keptDigits = 1e-6
}
