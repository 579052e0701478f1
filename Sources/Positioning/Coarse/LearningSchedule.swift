public import Sensors
public import Spatial

/// When a scan beside a fix is worth its energy, for what can be learned of it.
///
/// - Where scans hear what the map knows well and lately, the pause between two doubles, from half a minute to eight. One that brings news
///   ends that.
/// - In the long run scans use a tenth of what a receiver uses that is on: 31 J an hour by the usual figures. What is not used is saved, up
///   to 40 J, for country that is new.
///
/// A value type without I/O.
public struct LearningSchedule: Hashable, Sendable {
  /// Of a receiver's power, what scans use in the long run; and joules that are saved at most.
  public static let (share, reserve) = (0.1, 40.0)
  /// Seconds between two scans.
  public static let (shortestPause, longestPause) = (30.0, 480.0)
  /// Sightings from which on a transmitter is known well, and days for which that holds.
  private static let (wellKnown, lately) = (3, 30)
  /// Of the transmitters heard, the share that is known where nothing is to be learned: there are always some that come and go.
  private static let familiar = 0.7

  private var income: Double
  private var savings = reserve
  /// Of each radio.
  private var pauses: [SensorKind: Double] = [:]
  private var last: Timestamp?

  /// - Parameter receiverPower: watts; 0 where energy is not counted, and then savings never end.
  public init(receiverPower: Double) {
    income = Self.share * max(0, receiverPower)
  }

  /// Goes on with another figure.
  public mutating func update(receiverPower: Double) { income = Self.share * max(0, receiverPower) }

  /// Whether a scan may be asked for.
  /// - Parameter joules: that it costs.
  public func isDue(joules: Double, at time: Timestamp) -> Bool {
    guard let last else { return true }
    let pause = pauses.values.min() ?? Self.shortestPause
    return time.seconds(since: last) >= pause && (income == 0 || savings(at: time) >= joules)
  }

  /// Learns what a scan beside a fix has heard, before that is in the map.
  /// - Parameters:
  ///   - radios: that made it. They are asked together, as soon as one of them may have news.
  ///   - joules: that it has cost.
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
