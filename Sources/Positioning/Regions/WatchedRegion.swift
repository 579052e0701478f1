internal import Spatial

/// A region that was found good, in the form that is quick to look at.
struct WatchedRegion: Hashable, Sendable {
  let identifier: String
  let area: Area
  /// Seconds; nil for never.
  let dwell: Double?
  let notifyOnEntry: Bool
  let notifyOnExit: Bool
  let name: String?
  let definedAt: UTCTime?

  init(_ region: Region) throws(RegionError) {
    guard !region.identifier.isEmpty else { throw .emptyIdentifier }
    if let dwell = region.dwell, !(dwell > 0 && dwell.isFinite) { throw .invalidDwell(dwell) }
    area = try region.area()
    identifier = region.identifier
    dwell = region.dwell
    notifyOnEntry = region.notifyOnEntry
    notifyOnExit = region.notifyOnExit
    (name, definedAt) = (region.name, region.definedAt)
  }
}
