public import Spatial

/// What a subscriber shows of a vehicle that reports within bounds.
public struct FollowedPosition: Hashable, Sendable {
  /// The moment that it is for.
  public var moment: Timestamp
  public var coordinate: Coordinate
  /// Metres within which the fix of that moment is. It grows once the promise has lapsed, as fast as a vehicle can get away.
  public var bound: Double
  /// Until which moment the vehicle promised its bound without another word; nil for a vehicle that does not say.
  public var promisedUntil: Timestamp?

  /// Whether the bound is the one that was promised.
  public var isPromised: Bool { promisedUntil.map { moment <= $0 } ?? true }
}

/// A subscriber's side of bounded reporting: keeps the reports that it may still need and says where the vehicle is.
///
/// Reports come before they take effect, by up to their delay; what is shown is always the moment `delay` seconds
/// ago, predicted from the newest report in effect then.
public struct ReportFollower: Sendable {
  /// Reports in the order of their moments; the first is in effect, the others wait.
  private var reports: [ReportPredictor] = []

  public init() {}

  /// Takes a report. A repeated one replaces its twin; one that comes late finds its place by its moment.
  public mutating func receive(_ report: ReportPredictor) {
    let place = reports.firstIndex { $0.moment >= report.moment } ?? reports.endIndex
    if place < reports.endIndex, reports[place].moment == report.moment {
      reports[place] = report
    } else {
      reports.insert(report, at: place)
    }
  }

  /// The report in effect for a moment; nil before the first.
  public func report(for moment: Timestamp) -> ReportPredictor? {
    reports.last { $0.moment <= moment }
  }

  /// What to show at a time: the position at the moment `delay` seconds before it. Nil before the first report takes effect.
  public func position(now: Timestamp) -> FollowedPosition? {
    guard let delay = reports.last?.delay else { return nil }
    let moment = now.advanced(bySeconds: -delay)
    guard let report = report(for: moment) else { return nil }
    return FollowedPosition(
      moment: moment, coordinate: report.coordinate(at: moment), bound: report.bound(at: moment),
      promisedUntil: report.validity.map { report.moment.advanced(bySeconds: $0) })
  }

  /// Forgets the reports that no moment from here on needs.
  public mutating func forget(before moment: Timestamp) {
    guard let inEffect = reports.lastIndex(where: { $0.moment <= moment }) else { return }
    reports.removeFirst(inEffect)
  }
}
