internal import Spatial

/// What is kept of a region while it is more than plainly outside.
struct RegionTrack: Hashable, Sendable {
  /// Whether the newest fix itself lies inside, whatever its error; nil before the first.
  var isInside: Bool?
  /// Where that changed last; nil when nobody saw it.
  var crossing: RegionCrossing?
  var evidence = RegionEvidence()
  /// What the evidence is for, while the state is unknown.
  var target: WatchState?
  /// The state comes from before a restart.
  var isRestored = false
  /// The first fix after a restart contradicted the state.
  var isLate = false
  /// When the vehicle came in; nil while that is known only in civil time, or not at all.
  var since: Timestamp?
  /// Civil time of the same.
  var sinceTime: UTCTime?
  var hasDwelt = false
  /// The vehicle is surely inside while it is nearer to this position than these metres.
  var clearance: Clearance?

  struct Clearance: Hashable, Sendable {
    var position: Vector3
    var metres: Double
  }
}

/// A state, and how it came about.
enum WatchState: UInt8, Hashable, Sendable {
  case unknown
  case outside
  case inside
  /// Outside as far as known, but the region has a new shape since.
  case outsideUnseen
  /// Outside before a restart.
  case outsideRestored

  var isOutside: Bool { self != .unknown && self != .inside }
}
