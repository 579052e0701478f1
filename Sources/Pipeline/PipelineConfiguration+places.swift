internal import Positioning
internal import Sensors
internal import Spatial

extension PipelineConfiguration {
  /// Returns whether a stored position has become private.
  func hides(_ coordinate: Coordinate) -> Bool {
    guard location.isEnabled else { return true }
    let place = Positioning.Location(timestamp: Timestamp(nanoseconds: 0), coordinate: coordinate)
    var now = privacy.shown(place)
    if location.desiredAccuracy == .reduced { now = now?.reduced }
    guard let now else { return true }
    // The centre of a cell equals the stored value up to rounding.
    return abs(now.coordinate.latitude - coordinate.latitude) > Self.keptDigits
      || abs(now.coordinate.longitude - coordinate.longitude) > Self.keptDigits
  }

  /// Rounding of stored positions in degrees; tracks are stored with a tenth of it.
  private static let keptDigits = 1e-6
}
