internal import Positioning
internal import Sensors
internal import Spatial

/// Whether a fix that beacons contradict may be right all the same: where others have borne the receiver out within the last hour, and the
/// vehicle can have come from there.
///
/// Beacons of an office that has moved contradict every fix beside them, as they contradict a receiver that is deceived. A receiver that has
/// just been right elsewhere is more likely to be right here.
struct FixVouchers: Sendable {
  private let mobility: Mobility
  private var last: (fix: Location, witnesses: Set<Beacon>)?

  /// Seconds for which they vouch.
  private static let memory = 3600.0
  /// Of the last witnesses, those that are not among the ones that contradict now: as many as a contradiction needs.
  private static let others = 3
  /// Sightings of a scan that are looked up.
  private static let mostSeen = 256
  /// Radii at 68 % of either fix by which they may be nearer to each other than they seem.
  private static let radii = 3.0

  init(mobility: Mobility) { self.mobility = mobility }

  /// Remembers a fix that a scan has borne out.
  /// - Parameter limit: metres from the fix within which a beacon agrees with it.
  mutating func observe(_ fix: Location, by scan: RadioScan, _ map: any BeaconMap, within limit: Double) {
    let known = map.lookUp(Array(Set(scan.sightings.prefix(Self.mostSeen).map(\.beacon))))
    let witnesses = known.filter {
      $0.isSound && $0.coordinate.distance(to: fix.coordinate) <= limit + $0.reach
    }
    last = (fix, Set(witnesses.map(\.beacon)))
  }

  /// - Parameter scan: that contradicts the fix: what it has heard does not vouch for it.
  func vouch(for fix: Location, against scan: RadioScan) -> Bool {
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

/// Whether a date may be learned with: whoever deceives a receiver can tell it another day, and what counts by days would go by it.
struct DateScreen: Sendable {
  private var last: (time: UTCTime, at: Timestamp)?
  private var jumped: Timestamp?

  /// Seconds by which civil time and the time since the start may part from one scan to the next: no clock drifts by that in a week of sleep.
  private static let slack = 600.0
  /// Seconds for which a date that jumped is not learned with.
  private static let pause = 86_400.0

  /// - Returns: false on the day after a jump.
  mutating func process(_ time: UTCTime, at timestamp: Timestamp) -> Bool {
    if let last, abs(time.seconds(since: last.time) - timestamp.seconds(since: last.at)) > Self.slack {
      jumped = timestamp
    }
    last = (time, timestamp)
    return jumped.map { timestamp.seconds(since: $0) >= Self.pause } ?? true
  }
}
