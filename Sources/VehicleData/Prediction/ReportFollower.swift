public import Spatial

/// The position to display for a vehicle with bounded reporting.
public struct FollowedPosition: Hashable, Sendable {
  /// Time for which the position is predicted.
  public var moment: Timestamp
  public var coordinate: Coordinate
  /// Maximum distance in m between the position and the vehicle's fix of that time. After the end of the
  /// validity it grows with the vehicle's possible motion.
  public var bound: Double
  /// Radius in m that contains the vehicle: `bound` plus the stated accuracy. Nil if the accuracy is unknown.
  public var radius: Double?
  /// End of the validity of the vehicle's bound; nil for a vehicle that does not report a validity.
  public var promisedUntil: Timestamp?

  /// True if the bound is guaranteed by the vehicle.
  public var isPromised: Bool { promisedUntil.map { moment <= $0 } ?? true }
}

/// The subscriber's side of bounded reporting: stores the reports that may still be needed, and computes the
/// position to display.
///
/// Reports arrive up to `delay` seconds before they take effect. The displayed position always belongs to the
/// time `delay` seconds ago, predicted from the newest report in effect at that time.
public struct ReportFollower: Sendable {
  /// Reports in order of their times. The first is in effect; the others are not in effect yet.
  private var reports: [ReportPredictor] = []

  public init() {}

  /// Adds a report. A report for the same time replaces the earlier one. A late report is inserted by its
  /// time.
  public mutating func receive(_ report: ReportPredictor) {
    let place = reports.firstIndex { $0.moment >= report.moment } ?? reports.endIndex
    if place < reports.endIndex, reports[place].moment == report.moment {
      reports[place] = report
    } else {
      reports.insert(report, at: place)
    }
  }

  /// Returns the report in effect at a time; nil before the first.
  public func report(for moment: Timestamp) -> ReportPredictor? {
    reports.last { $0.moment <= moment }
  }

  /// Returns the position to display at a time: the position `delay` seconds earlier. Nil before the first
  /// report takes effect.
  public func position(now: Timestamp) -> FollowedPosition? {
    guard let delay = reports.last?.delay else { return nil }
    let moment = now.advanced(bySeconds: -delay)
    guard let report = report(for: moment) else { return nil }
    return FollowedPosition(
      moment: moment, coordinate: report.coordinate(at: moment), bound: report.bound(at: moment),
      radius: report.radius(at: moment),
      promisedUntil: report.validity.map { report.moment.advanced(bySeconds: $0) })
  }

  /// Removes the reports that are not needed to display positions from a time on.
  public mutating func forget(before moment: Timestamp) {
    guard let inEffect = reports.lastIndex(where: { $0.moment <= moment }) else { return }
    reports.removeFirst(inEffect)
  }
}
