internal import Spatial

/// Limits of a deferral.
package struct DeferralLimits: Hashable, Sendable {
  /// Metres; nil for no limit.
  package var distance: Double?
  /// Seconds; nil for no limit.
  package var timeout: Double?

  package init(distance: Double?, timeout: Double?) { (self.distance, self.timeout) = (distance, timeout) }

  /// Seconds that the first fix may wait.
  var patience: Double {
    max(0, min(DeferredUpdates.longestWait, (timeout ?? .infinity) - DeferredUpdates.reserve))
  }
}

/// Collects fixes until the device has travelled so far or so much time has passed, whichever comes first.
///
/// Travelled is the distance from where the deferral began, as in Core Location: noise around a parking place adds up to
/// no way.
struct DeferredUpdates: Sendable {
  /// More fixes than this end the deferral as if its time had passed: two hours of one a second, below 2 MB.
  static let largestCount = 7200

  /// Seconds: a longer wait would hide that a receiver has gone.
  static let longestWait = 10.0
  /// Seconds before the deadline in which fixes do not wait, so that they are still in the batch.
  static let reserve = 1.5

  /// Metres; infinite for no limit.
  let distance: Double
  /// When its time is over; nil for never.
  let deadline: Timestamp?
  /// In order of time.
  private(set) var fixes: [Location] = []
  private var origin: Coordinate?

  /// - Parameters:
  ///   - distance: metres; infinite for no limit.
  ///   - timeout: seconds; infinite for no limit.
  ///   - location: where the device is now; nil counts from the first fix.
  init(untilTraveled distance: Double, timeout: Double, from location: Location?, at start: Timestamp) {
    self.distance = distance
    deadline = timeout.isFinite ? start.advanced(bySeconds: max(0, timeout)) : nil
    origin = location?.coordinate
  }

  /// Takes a fix; returns whether the deferral is over with it.
  mutating func process(_ location: Location) -> Bool {
    let origin = self.origin ?? location.coordinate
    self.origin = origin
    fixes.append(location)
    if fixes.count >= Self.largestCount { return true }
    return distance.isFinite && origin.distance(to: location.coordinate) >= distance
  }

  /// Seconds that the next fixes may wait, so that those before the deadline are still in the batch.
  func patience(after location: Location?) -> Double {
    guard let deadline else { return Self.longestWait }
    guard let location else { return 0 }
    return max(0, min(Self.longestWait, deadline.seconds(since: location.timestamp) - Self.reserve))
  }

  /// Metres that are left from a location.
  func remainder(from location: Location?) -> Double? {
    guard distance.isFinite else { return nil }
    guard let origin, let location else { return distance }
    return max(0, distance - origin.distance(to: location.coordinate))
  }
}

/// Why deferred updates ended before their distance or time, or never began; Core Location's five reasons.
public enum DeferralError: String, Error, Hashable, Sendable, CaseIterable, CustomStringConvertible {
  /// Locations are not being updated, or are paused.
  case notUpdating
  /// A single deferral requires the best accuracy.
  case accuracyTooLow
  /// A distance filter is set. A single deferral collects every fix.
  case distanceFiltered
  /// A newer call, or the end of updates, took its place.
  case cancelled
  /// The receiver was lost or locations were switched off.
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
