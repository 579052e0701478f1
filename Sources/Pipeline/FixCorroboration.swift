internal import Positioning
internal import Sensors
internal import Spatial

/// Decides whether a fix contradicted by beacons may still be right: other beacons confirmed the receiver
/// within the last hour, and the vehicle can have come from there.
///
/// Beacons of an office that has moved contradict all fixes near them, in the same way as they contradict a
/// spoofed receiver. A receiver that was recently right elsewhere is more likely to be right here.
struct FixCorroboration: Sendable {
  private let mobility: Mobility
  private var last: (fix: Location, witnesses: Set<Beacon>)?

  /// Validity of a confirmation in s.
  private static let memory = 3600.0
  /// Minimum number of previous witnesses that are not among the contradicting beacons.
  private static let others = 3
  /// Maximum number of examined sightings of a scan.
  private static let mostSeen = 256
  /// Radii (68 %) of either fix by which their distance may be smaller than measured.
  private static let radii = 3.0

  init(mobility: Mobility) { self.mobility = mobility }

  /// Stores a fix that a scan has confirmed.
  /// - Parameter limit: distance in m from the fix within which a beacon agrees with it.
  mutating func observe(_ fix: Location, by scan: RadioScan, _ map: any BeaconMap, within limit: Double) {
    let known = map.lookUp(Array(Set(scan.sightings.prefix(Self.mostSeen).map(\.beacon))))
    let witnesses = known.filter {
      $0.isSound && $0.coordinate.distance(to: fix.coordinate) <= limit + $0.reach
    }
    last = (fix, Set(witnesses.map(\.beacon)))
  }

  /// - Parameter scan: the contradicting scan, whose beacons do not confirm the fix.
  func corroborates(for fix: Location, against scan: RadioScan) -> Bool {
    guard let last, case let age = fix.timestamp.seconds(since: last.fix.timestamp),
      (0...Self.memory).contains(age)
    else { return false }
    let others = last.witnesses.subtracting(scan.sightings.map(\.beacon))
    guard others.count >= Self.others else { return false }
    let error = Self.radii * ((last.fix.horizontalAccuracy ?? 0) + (fix.horizontalAccuracy ?? 0))
    let way = mobility.metersCovered(in: age, startingAt: last.fix.speed ?? mobility.topSpeed)
    return last.fix.coordinate.distance(to: fix.coordinate) <= way + error
  }
}

/// Decides whether a date may be used for learning. A spoofed receiver can report another date, which would
/// affect everything counted in days.
struct DateScreen: Sendable {
  private var last: (time: UTCTime, at: Timestamp)?
  private var jumped: Timestamp?

  /// Maximum difference in s between civil time and time since the start from scan to scan, more than any
  /// clock drifts in a week of sleep.
  private static let slack = 600.0
  /// Time in s after a jump for which the date is not used.
  private static let pause = 86_400.0

  /// - Returns: false during a day after a jump.
  mutating func process(_ time: UTCTime, at timestamp: Timestamp) -> Bool {
    if let last, abs(time.seconds(since: last.time) - timestamp.seconds(since: last.at)) > Self.slack {
      jumped = timestamp
    }
    last = (time, timestamp)
    return jumped.map { timestamp.seconds(since: $0) >= Self.pause } ?? true
  }
}
