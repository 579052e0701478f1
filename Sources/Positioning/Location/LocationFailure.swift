public import Spatial

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
