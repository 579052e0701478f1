package import Positioning
package import Sensors
package import Spatial

/// Decides whether a fix that beacons contradict may still be right. This is the case if other beacons
/// confirmed the receiver within the last hour, and if the vehicle can have moved from there to the fix.
///
/// Access points of an office that has moved contradict all fixes near them, in the same way as they
/// contradict a spoofed receiver. If the receiver was recently right elsewhere, it is more likely to be right
/// here, too.
package struct FixCorroboration: Sendable {
  private let mobility: Mobility
  private var last: (fix: Location, witnesses: Set<Beacon>)?

  /// Time in s for which a confirmation is valid.
  private static let memory = 3600.0
  /// Minimum number of confirming beacons that are not in the contradicting scan.
  private static let others = 3
  /// Maximum number of sightings of a scan that are examined.
  private static let mostSeen = 256
  /// Multiple of each fix's radius (68 %) that is added to the distance that the vehicle can have moved.
  private static let radii = 3.0

  package init(mobility: Mobility) { self.mobility = mobility }

  /// Stores a fix that the beacons of a scan have confirmed.
  /// - Parameter limit: maximum distance in m between the fix and a confirming beacon, in addition to the
  ///   beacon's reach.
  package mutating func observe(
    _ fix: Location, by scan: RadioScan, _ map: any BeaconMap, within limit: Double
  ) {
    let known = map.lookUp(Array(Set(scan.sightings.prefix(Self.mostSeen).map(\.beacon))))
    let witnesses = known.filter {
      $0.isSound && $0.coordinate.distance(to: fix.coordinate) <= limit + $0.reach
    }
    last = (fix, Set(witnesses.map(\.beacon)))
  }

  /// Returns whether the last confirmation makes a contradicted fix credible.
  ///
  /// - Parameter scan: the contradicting scan, whose beacons do not count as confirming.
  package func corroborates(for fix: Location, against scan: RadioScan) -> Bool {
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

/// Decides whether civil time may be used for learning, which counts in days. A spoofed receiver can report a
/// wrong date.
package struct DateScreen: Sendable {
  private var last: (time: UTCTime, at: Timestamp)?
  private var jumped: Timestamp?

  /// Maximum difference in s between the civil and the monotonic time from one scan to the next. No clock
  /// drifts that much in a week of sleep.
  private static let slack = 600.0
  /// Time in s after a jump of civil time during which the date is not used.
  private static let pause = 86_400.0

  package init() {}

  /// - Returns: false for a day after a jump of civil time.
  package mutating func process(_ time: UTCTime, at timestamp: Timestamp) -> Bool {
    if let last, abs(time.seconds(since: last.time) - timestamp.seconds(since: last.at)) > Self.slack {
      jumped = timestamp
    }
    last = (time, timestamp)
    return jumped.map { timestamp.seconds(since: $0) >= Self.pause } ?? true
  }
}
