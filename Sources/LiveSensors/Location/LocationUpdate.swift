public import Positioning
public import Spatial

/// An element of `LiveLocation.liveUpdates`: a location, or a change of state. The corresponding type of Core
/// Location is `CLLocationUpdate`.
public struct LocationUpdate: Hashable, Sendable {
  /// Time of the update, by the device's monotonic clock.
  public var timestamp: Timestamp
  /// The location; nil if the update only reports a change of state.
  public var location: Location?
  /// True if the device is at rest and updates are paused. The next update follows when the device moves.
  public var isStationary: Bool
  /// True if the location answers a one-shot request of the manager.
  public var isRequested: Bool
  /// True if deferred updates ended, like the call of `locationManager(_:didFinishDeferredUpdatesWithError:)`
  /// in Core Location. The deferred locations come before this update.
  public var didFinishDeferredUpdates: Bool
  /// The reason if deferred updates ended before their distance or time was reached; nil otherwise.
  public var deferralError: DeferralError?
  /// Reason for missing locations; nil if there is none. Each failure is reported once.
  public var failure: LocationFailure?

  public init(
    timestamp: Timestamp, location: Location? = nil, isStationary: Bool = false, isRequested: Bool = false,
    didFinishDeferredUpdates: Bool = false, deferralError: DeferralError? = nil,
    failure: LocationFailure? = nil
  ) {
    self.timestamp = timestamp
    self.location = location
    self.isStationary = isStationary
    self.isRequested = isRequested
    self.didFinishDeferredUpdates = didFinishDeferredUpdates
    self.deferralError = deferralError
    self.failure = failure
  }

  /// True if the receiver is unavailable or has no fix. Locations resume automatically.
  public var isLocationUnavailable: Bool {
    switch failure {
    case .receiverUnavailable, .positionUnknown: true
    case .denied, .restricted, .requestTimedOut, nil: false
    }
  }

  /// True if locations are disabled, or the agent has no permission to read a device.
  public var isAuthorizationDenied: Bool {
    switch failure {
    case .denied, .restricted: true
    case .receiverUnavailable, .positionUnknown, .requestTimedOut, nil: false
    }
  }
}

extension LocationUpdate {
  /// Converts an event of the manager to updates, in order. Significant changes are not included, because
  /// they have a stream of their own.
  static func updates(from event: LocationEvent, at timestamp: Timestamp) -> [LocationUpdate] {
    switch event {
    case .location(let shown): [LocationUpdate(timestamp: shown.timestamp, location: shown.location)]
    case .batch(let fixes): fixes.map { LocationUpdate(timestamp: $0.timestamp, location: $0.location) }
    case .deferredUpdatesFinished(let error):
      [LocationUpdate(timestamp: timestamp, didFinishDeferredUpdates: true, deferralError: error)]
    case .requested(let shown):
      [LocationUpdate(timestamp: shown.timestamp, location: shown.location, isRequested: true)]
    case .paused(let shown):
      [LocationUpdate(timestamp: timestamp, location: shown?.location, isStationary: true)]
    case .resumed: [LocationUpdate(timestamp: timestamp)]
    case .failed(let failure): [LocationUpdate(timestamp: timestamp, failure: failure)]
    case .significantChange: []
    }
  }
}
