public import Sensors
public import Spatial

/// Decides when a scan with a fix is worth its energy, by how much can be learned from such a scan.
///
/// - If scans contain only well and recently known beacons, the pause doubles, from half a minute to eight
///   minutes. New beacons reset the pause.
/// - On average, scans use a tenth of an active receiver's energy: 31 J an hour with default figures. Unused
///   energy is saved for new areas, up to 40 J.
///
/// A value type without I/O.
public struct LearningSchedule: Hashable, Sendable {
  /// Average energy of scans as a share of the receiver's, and maximum savings in J.
  public static let (share, reserve) = (0.1, 40.0)
  /// Minimum and maximum time in s between two scans.
  public static let (shortestPause, longestPause) = (30.0, 480.0)
  /// Number of sightings after which a transmitter is well known, and number of days since its last sighting
  /// for which it remains well known.
  private static let (wellKnown, lately) = (3, 30)
  /// Share of well known transmitters in a scan from which nothing can be learned. It is below 1, because
  /// some transmitters always come and go.
  private static let familiar = 0.7

  private var income: Double
  private var savings = reserve
  /// Current pause in s between two scans of a radio for learning.
  private var pauses: [SensorKind: Double] = [:]
  private var last: Timestamp?

  /// - Parameter receiverPower: power of the receiver in W; 0 if energy is not limited.
  public init(receiverPower: Double) {
    income = Self.share * max(0, receiverPower)
  }

  /// Changes the receiver's power in W.
  public mutating func update(receiverPower: Double) { income = Self.share * max(0, receiverPower) }

  /// Returns whether a scan may be requested.
  /// - Parameter joules: energy of the scan.
  public func isDue(joules: Double, at time: Timestamp) -> Bool {
    guard let last else { return true }
    let pause = pauses.values.min() ?? Self.shortestPause
    return time.seconds(since: last) >= pause && (income == 0 || savings(at: time) >= joules)
  }

  /// Updates the schedule with a scan at a fix, before the scan enters the map.
  /// - Parameters:
  ///   - radios: radios of the scan. The radios scan together, as soon as one of them may hear a new beacon.
  ///   - joules: energy of the scan.
  ///   - day: days since 1970.
  public mutating func observe(
    _ scan: RadioScan, of radios: Set<SensorKind>, by map: any BeaconMap, joules: Double, day: Int
  ) {
    savings = max(0, savings(at: scan.timestamp) - max(0, joules))
    last = scan.timestamp
    let isNews = isNews(scan, map, day)
    for radio in radios {
      let before = pauses[radio] ?? Self.shortestPause
      pauses[radio] = isNews ? Self.shortestPause : min(Self.longestPause, 2 * before)
    }
  }

  private func savings(at time: Timestamp) -> Double {
    guard let last else { return savings }
    return min(Self.reserve, savings + income * max(0, time.seconds(since: last)))
  }

  private func isNews(_ scan: RadioScan, _ map: any BeaconMap, _ day: Int) -> Bool {
    let heard = scan.useful.map(\.beacon)
    let known = Set(
      map.lookUp(heard).lazy.filter {
        $0.sightings >= Self.wellKnown && day - $0.lastSeen <= Self.lately
      }.map(\.beacon))
    return Double(known.count) < Self.familiar * Double(heard.count)
  }
}
