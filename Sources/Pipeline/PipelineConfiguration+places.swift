internal import Positioning
internal import Sensors
internal import Spatial

extension PipelineConfiguration {
  /// Whether a place that was kept as it might be known then may not be known like that any longer.
  func hides(_ coordinate: Coordinate) -> Bool {
    guard location.isEnabled else { return true }
    let place = Positioning.Location(timestamp: Timestamp(nanoseconds: 0), coordinate: coordinate)
    var now = privacy.shown(place)
    if location.desiredAccuracy == .reduced { now = now?.reduced }
    guard let now else { return true }
    // The middle of a cell stays what it is, but for the digits that were kept.
    return abs(now.coordinate.latitude - coordinate.latitude) > Self.keptDigits
      || abs(now.coordinate.longitude - coordinate.longitude) > Self.keptDigits
  }

  /// Degrees: tracks are kept to a tenth of it.
  private static let keptDigits = 1e-6
}
