// Wire names and remedies of failures and ends of deferrals.

extension LocationFailure {
  /// Name of the case, for example `positionUnknown`.
  public var name: String {
    switch self {
    case .denied: "denied"
    case .restricted: "restricted"
    case .receiverUnavailable: "receiverUnavailable"
    case .positionUnknown: "positionUnknown"
    case .requestTimedOut: "requestTimedOut"
    }
  }

  /// The problem without the remedy.
  public var problem: String {
    switch self {
    case .denied: "location is switched off"
    case .restricted, .receiverUnavailable, .requestTimedOut: description
    case .positionUnknown: "the receiver has no fix"
    }
  }

  /// The remedy.
  public var remedy: String {
    switch self {
    case .denied: "set location.enabled = true"
    case .restricted: "grant the agent's user read permission for the receiver"
    case .receiverUnavailable:
      "see that gpsd runs and the receiver is plugged in; locations go on by themselves"
    case .positionUnknown: "check that its antenna sees the sky"
    case .requestTimedOut: "retry with a longer time limit and the antenna in view of the sky"
    }
  }
}

extension DeferralError {
  /// The remedy; nil if none is required.
  public var remedy: String? {
    switch self {
    case .notUpdating, .cancelled: nil
    case .accuracyTooLow: "set location.desired_accuracy = \"best\""
    case .distanceFiltered: "set location.distance_filter = 0"
    case .failed: "see the preceding failure"
    }
  }
}
