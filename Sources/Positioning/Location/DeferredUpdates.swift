internal import Spatial
internal import VehicleData

/// Limits of a deferral.
package struct DeferralLimits: Hashable, Sendable {
  /// Distance in m after which a deferral ends; nil for no limit.
  package var distance: Double?
  /// Time in s after which a deferral ends; nil for no limit.
  package var timeout: Double?

  package init(distance: Double?, timeout: Double?) { (self.distance, self.timeout) = (distance, timeout) }

  /// Maximum time in s for which the first fix of a deferral may wait until it is read.
  var maxFixDelay: Double {
    max(0, min(DeferredUpdates.longestWait, (timeout ?? .infinity) - DeferredUpdates.reserve))
  }
}

/// Collects fixes until a distance or a time is exceeded, whichever comes first.
///
/// The distance is the straight line from the start of the deferral, as in Core Location, so that noise
/// around a parking place does not add up.
struct DeferredUpdates: Sendable {
  /// Maximum number of fixes, after which the deferral ends. It corresponds to two hours at 1 Hz and less
  /// than 2 MB.
  static let largestCount = 7200

  /// Maximum time in s for which fixes may wait until they are read. A longer time would hide the loss of a
  /// receiver.
  static let longestWait = 10.0
  /// Time in s before the deadline, in which fixes are read immediately so that the deferral still includes
  /// them.
  static let reserve = 1.5

  /// Distance in m after which the deferral ends; infinite for no limit.
  let distance: Double
  /// Time at which the deferral ends; nil for no limit.
  let deadline: Timestamp?
  /// Collected fixes in order of time.
  private(set) var fixes: [ShownLocation] = []
  private var origin: Coordinate?

  /// - Parameters:
  ///   - distance: distance in m; infinite for no limit.
  ///   - timeout: time in s; infinite for no limit.
  ///   - location: current location; nil counts from the first fix.
  init(untilTraveled distance: Double, timeout: Double, from location: ShownLocation?, at start: Timestamp) {
    self.distance = distance
    deadline = timeout.isFinite ? start.advanced(bySeconds: max(0, timeout)) : nil
    origin = location?.coordinate
  }

  /// Adds a fix. Returns true if the deferral ends with this fix.
  mutating func process(_ location: ShownLocation) -> Bool {
    let origin = self.origin ?? location.coordinate
    self.origin = origin
    fixes.append(location)
    if fixes.count >= Self.largestCount { return true }
    return distance.isFinite && origin.distance(to: location.coordinate) >= distance
  }

  /// Returns the time in s for which the next fixes may wait so that the deferral still includes them.
  func maxFixDelay(after location: Location?) -> Double {
    guard let deadline else { return Self.longestWait }
    guard let location else { return 0 }
    return max(0, min(Self.longestWait, deadline.seconds(since: location.timestamp) - Self.reserve))
  }

  /// Returns the distance in m from a location until the deferral ends; nil without a distance limit.
  func remainder(from location: Location?) -> Double? {
    guard distance.isFinite else { return nil }
    guard let origin, let location else { return distance }
    return max(0, distance - origin.distance(to: location.coordinate))
  }
}

/// The reason why deferred updates ended early or never started, as in Core Location.
public enum DeferralError: String, Error, Hashable, Sendable, CaseIterable, CustomStringConvertible {
  /// Locations are not being updated, or are paused.
  case notUpdating
  /// The desired accuracy is neither `best` nor `bestForNavigation`, which a single deferral requires.
  case accuracyTooLow
  /// A distance filter is set. A single deferral collects every fix.
  case distanceFiltered
  /// The deferral was replaced by a newer call, or updates were stopped.
  case cancelled
  /// The receiver was lost or locations were disabled.
  case failed

  public var description: String {
    switch self {
    case .notUpdating: "updates cannot be deferred while locations are not updated"
    case .accuracyTooLow: "updates are deferred at desired accuracy best or bestForNavigation only"
    case .distanceFiltered: "updates are not deferred with a distance filter"
    case .cancelled: "the deferral was cancelled by a newer call"
    case .failed: "the deferral ended because there are no locations any more"
    }
  }
}
