internal import Motion
package import Navigation
internal import Positioning
package import Sensors
package import Spatial

/// A report of the receiver, and what the parts have derived from it so far.
struct FixStep {
  /// The report as received, without an implausible position at 0° N 0° E.
  var fix: PositionFix
  /// The report at the time of its measurement, without an error that gpsd derived from the dilution.
  var timely: PositionFix
  /// The positions that were accepted from this and earlier reports, in order of time; after navigation, those to pass on.
  var locations: [Location] = []
  /// The navigation estimate without this report; nil if there is none.
  var estimate: NavigationEstimate?

  init(_ fix: PositionFix) { (self.fix, timely) = (fix, fix) }
}

/// An inertial scan, and what the parts have derived from it so far.
struct ScanStep {
  let scan: InertialScan
  /// Start of the rest before this scan; nil in motion, and if unknown.
  let restSince: Timestamp?
  /// The positions that navigation has derived, which are passed on after the scan.
  var locations: [Location] = []
  /// Position by navigation at this scan, if one was due (`PipelineContext.fusedDue`); nil if there is none.
  var fused: Location?
  /// The navigation estimate with this scan; nil if there is none, and if no part uses it.
  var estimate: NavigationEstimate?
  /// Acceleration of the device in its own axes, according to navigation; nil if there is no new one.
  var acceleration: KnownAcceleration?
  /// The corrected track of the last outage; nil if there is no new one.
  var correction: [Location]?
}

/// Readings of the CAN bus, and the wheel speeds among them.
package struct VehicleStep {
  package let readings: [VehicleReading]
  /// Time of the newest reading.
  package let timestamp: Timestamp
  package var speeds: [WheelSpeed] = []

  package init?(_ readings: [VehicleReading], at timestamp: Timestamp?) {
    guard let timestamp else { return nil }
    (self.readings, self.timestamp) = (readings, timestamp)
  }
}

/// A change between rest and motion.
struct ActivityChange {
  /// The state; nil if it became unknown.
  let state: StationaryDetector.State?
  /// Start of the state.
  let since: Timestamp
  /// Time at which the change was detected.
  let timestamp: Timestamp

  /// True at rest; nil if unknown.
  var isAtRest: Bool? { state.map { $0 == .stationary } }
}
