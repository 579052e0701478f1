internal import Spatial

/// A region that was found good, in the form that is quick to look at.
struct WatchedRegion: Hashable, Sendable {
  let identifier: String
  let area: Area
  /// Seconds; nil for never.
  let dwell: Double?
  let notifyOnEntry: Bool
  let notifyOnExit: Bool

  init(_ region: Region) throws(RegionError) {
    guard !region.identifier.isEmpty else { throw .emptyIdentifier }
    if let dwell = region.dwell, !(dwell > 0 && dwell.isFinite) { throw .invalidDwell(dwell) }
    switch region.shape {
    case .circle(let center, let radius):
      guard center.isValid else { throw .invalidCenter }
      guard let circle = Circle(center: center, radius: radius) else { throw .invalidRadius(radius) }
      area = .circle(circle)
    case .polygon(let parts):
      do {
        area = .polygon(try Polygon(parts: parts))
      } catch {
        throw .polygon(error)
      }
    }
    identifier = region.identifier
    dwell = region.dwell
    notifyOnEntry = region.notifyOnEntry
    notifyOnExit = region.notifyOnExit
  }
}
