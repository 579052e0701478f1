public import Spatial

/// What `LocationManager` has to tell.
public enum LocationEvent: Hashable, Sendable {
  /// An update, after the distance filter.
  case location(Location)
  /// A significant change.
  case significantChange(Location)
  /// Deferred updates: every fix since the deferral began, in order; never empty. The end of the deferral follows.
  case batch([Location])
  /// A deferral is over: its distance or its time has passed (nil), or something came between.
  case deferredUpdatesFinished(DeferralError?)
  /// The answer to a one-shot request: the first location that was exact enough, or the best until its time was over.
  case requested(Location)
  /// Updates pause, because the device stands; with the location where it does, if that was not told yet.
  case paused(Location?)
  /// Updates go on.
  case resumed
  /// Something failed; told once, until something else does or a location comes.
  case failed(LocationFailure)
}

/// Why there is no location, in a sentence for the person on call.
public enum LocationFailure: Error, Hashable, Sendable, CustomStringConvertible {
  /// The local switch is off.
  case denied
  /// A device may not be read.
  case restricted(reason: String)
  /// The receiver is gone, or nobody speaks for it.
  case receiverUnavailable(reason: String)
  /// The receiver speaks, and has had no position since.
  case positionUnknown(since: Timestamp)
  /// A one-shot request's time was over before there was any location.
  case requestTimedOut(seconds: Double)

  public var description: String {
    switch self {
    case .denied: "location is switched off; set location.enabled = true"
    case .restricted(let reason): reason
    case .receiverUnavailable(let reason): "the receiver is not available: \(reason)"
    case .positionUnknown: "the receiver has no fix; check that its antenna sees the sky"
    case .requestTimedOut(let seconds): "no location within \(seconds) s"
    }
  }
}
