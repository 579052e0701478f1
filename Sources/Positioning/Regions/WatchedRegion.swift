internal import Glibc
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

/// What speaks for a change of a region's state, summed up over independent fixes.
///
/// Each fix that is likely on the other side counts by the decimal logarithm of how unlikely it is wrong: 2 for 99 %, 3
/// for 99.9 %. The errors of a receiver at rest stay the same for minutes, so fixes that are no farther apart than their
/// accuracy count as one, the best of them. A single fix that is less than 90 % likely there takes all back.
struct RegionEvidence: Hashable, Sendable {
  /// What a single fix counts at most.
  static let largestScore = 12.0
  /// Of a fix that does not take back what was there.
  private static let largestDoubt = 0.1

  private var settled = 0.0
  private var newest = 0.0
  private var place: Vector3?

  var isEmpty: Bool { place == nil }

  /// - Parameters:
  ///   - doubt: the probability that the fix is not on the other side.
  ///   - least: what a fix must count to count at all.
  ///   - position: of the fix, m, earth-centred.
  ///   - accuracy: of the fix, m at 68 %.
  /// - Returns: the sum; zero when this fix does not count.
  mutating func add(doubt: Double, least: Double, position: Vector3, accuracy: Double) -> Double {
    if doubt > Self.largestDoubt { self = RegionEvidence() }
    let score = min(Self.largestScore, -log10(doubt))
    guard score >= least else { return 0 }
    if let place, (position - place).length < accuracy {
      newest = max(newest, score)
    } else {
      settled += newest
      newest = score
      place = position
    }
    return settled + newest
  }
}
