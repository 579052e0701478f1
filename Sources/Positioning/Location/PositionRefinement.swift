internal import Spatial
package import VehicleData

/// Decides whether a position of a device at rest is reported only because it is much more accurate than the last
/// reported one.
///
/// The first fixes of a receiver, and positions from radios, can be wrong by hundreds of metres. Better fixes at the same
/// position are within the distance filter, so that consumers would show the first one until the device moves.
///
/// Each such report at least halves the stated accuracy. Between two reports that a filter passes, at most
/// log2(first accuracy / `sufficient`) of them follow, rounded up, however noisy the receiver is.
package struct PositionRefinement: Sendable {
  /// Ratio of two accuracies from which a position replaces another one. Twice is more than the usual variation of a
  /// receiver at one position, and limits the number of reports to the logarithm to base 2.
  private static let ratio = 2.0
  /// Accuracy in m (68 %) that is sufficient with any setting: a person within 100 m of a parked vehicle finds it. A coarse
  /// distance filter saves reports in motion, but must not hide the position of a parked vehicle.
  private static let coarsest = 100.0
  /// Accuracy in m (68 %) that is sufficient without a distance filter: that of an ordinary receiver with a poor view of
  /// the sky.
  private static let finest = 10.0

  /// Accuracy in m (68 %) of the last reported position, up to which it is not replaced.
  private let sufficient: Double

  /// - Parameters:
  ///   - distance: distance in m that a device must move before the next report; nil without a filter. An inaccuracy
  ///     within this distance is expected.
  ///   - desiredAccuracy: desired accuracy of locations.
  package init(distance: Double?, desiredAccuracy: DesiredAccuracy) {
    sufficient = min(distance ?? Self.finest, desiredAccuracy.meters ?? .infinity, Self.coarsest)
  }

  /// Returns whether a location replaces the last reported one. Only accuracies with privacy applied are compared, so that a
  /// report does not reveal more than its content.
  /// - Parameters:
  ///   - speed: measured speed of the device in m/s; nil if unknown. In motion, the filter passes a location soon.
  ///   - reported: the last reported location. An unknown accuracy counts as insufficient.
  package func replaces(_ reported: ShownLocation, by location: ShownLocation, speed: Double?) -> Bool {
    guard (speed ?? 0) < PowerPlanner.restSpeed, let radius = location.horizontalAccuracy else {
      return false
    }
    let former = reported.horizontalAccuracy ?? .infinity
    return former > sufficient && radius <= former / Self.ratio
  }
}
