internal import Positioning
internal import Spatial

extension PipelineConfiguration {
  /// Returns a stored position if it may still be published; nil if this configuration makes it private.
  func shown(stored coordinate: Coordinate) -> ShownCoordinate? {
    guard location.isEnabled else { return nil }
    return privacy.stored(coordinate, isReduced: location.desiredAccuracy == .reduced)
  }

  /// Returns whether this configuration makes a stored position private.
  func hides(_ coordinate: Coordinate) -> Bool { shown(stored: coordinate) == nil }
}
