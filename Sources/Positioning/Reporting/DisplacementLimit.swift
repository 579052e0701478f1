internal import Spatial
internal import VehicleData

/// A limit on the distance between the last reported position and the vehicle: a constant, plus the distance
/// that the vehicle drives in some seconds at its current speed.
///
/// The limit is for consumers that show the last reported position and do not predict. Their error is the
/// displacement of the vehicle since the last report.
public struct DisplacementLimit: Hashable, Sendable {
  public var metres: Double
  public var seconds: Double

  public init(metres: Double, seconds: Double = 0) {
    self.metres = metres
    self.seconds = seconds
  }

  /// Returns the limit in metres at a speed in m/s.
  public func distance(at speed: Double) -> Double { metres + seconds * speed }
}

/// Reports for consumers that do not predict.
extension BoundedReporter {
  /// Reports the newest position if its distance from the last reported one exceeds a limit.
  ///
  /// At rest, a valid prediction is within `epsilon` of the reported position. No limit is smaller than
  /// `epsilon`, so limits cause no reports at rest.
  /// - Parameter isRequired: true to report the newest position in any case.
  mutating func limitDisplacement(isRequired: Bool = false) -> [ReportPredictor] {
    guard isRequired || exceedsDisplacementLimit else { return [] }
    // A report that is pending for an earlier time is often close enough to the vehicle.
    let reports = decide { _ in true }
    guard let newest, isRequired ? reports.last?.moment != newest.timestamp : exceedsDisplacementLimit else {
      return reports
    }
    var next = ReportPredictor(
      moment: newest.timestamp, coordinate: newest.coordinate, velocity: newest.velocity, bound: epsilon,
      delay: delay, validity: Self.lease)
    next.growth = growth(of: next)
    next = next.rounded
    (report, watch) = (next, .receiver)
    return reports + [next]
  }

  private var exceedsDisplacementLimit: Bool {
    guard !limits.isEmpty, let report, let newest else { return false }
    let distance = report.coordinate.distance(to: newest.coordinate)
    return limits.contains { max(epsilon, $0.distance(at: newest.speed)) < distance }
  }
}
