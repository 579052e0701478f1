/// Why deferred updates ended before their distance or time, or never began; Core Location's five reasons.
public enum DeferralError: String, Error, Hashable, Sendable, CaseIterable, CustomStringConvertible {
  /// Locations are not being updated, or are paused.
  case notUpdating
  /// Deferral is for the best accuracy, which the receiver gives by itself: a coarser one lets it sleep.
  case accuracyTooLow
  /// A distance filter is set: a batch has every fix in it.
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
