public import Spatial

/// One element of `LiveLocation.liveUpdates`: a location, or why there is none. The corresponding type of Core Location is
/// `CLLocationUpdate`.
public struct LocationUpdate: Hashable, Sendable {
  /// When it was known, on the device's time line.
  public var timestamp: Timestamp
  /// Nil when the update only tells that something has changed.
  public var location: Location?
  /// Whether the device stands and updates pause; the next update comes when it moves.
  public var isStationary: Bool
  /// Why there will be no locations until further notice; told once, nil when nothing is wrong.
  public var failure: LocationFailure?

  public init(
    timestamp: Timestamp, location: Location? = nil, isStationary: Bool = false,
    failure: LocationFailure? = nil
  ) {
    self.timestamp = timestamp
    self.location = location
    self.isStationary = isStationary
    self.failure = failure
  }

  /// Whether the receiver is gone or has no fix. Locations go on by themselves.
  public var isLocationUnavailable: Bool {
    switch failure {
    case .receiverUnavailable, .positionUnknown: true
    case .denied, .restricted, .requestTimedOut, nil: false
    }
  }

  /// Whether locations are switched off, or a device may not be read.
  public var isAuthorizationDenied: Bool {
    switch failure {
    case .denied, .restricted: true
    case .receiverUnavailable, .positionUnknown, .requestTimedOut, nil: false
    }
  }
}

extension LocationUpdate {
  /// What an event says to a consumer of updates, in order.
  static func updates(from event: LocationEvent, at timestamp: Timestamp) -> [LocationUpdate] {
    switch event {
    case .location(let location): [LocationUpdate(timestamp: location.timestamp, location: location)]
    case .batch(let locations): locations.map { LocationUpdate(timestamp: $0.timestamp, location: $0) }
    case .paused(let location):
      [LocationUpdate(timestamp: timestamp, location: location, isStationary: true)]
    case .resumed: [LocationUpdate(timestamp: timestamp)]
    // That a request of its own was not answered says nothing of the updates.
    case .failed(.requestTimedOut), .significantChange, .requested, .deferredUpdatesFinished: []
    case .failed(let failure): [LocationUpdate(timestamp: timestamp, failure: failure)]
    }
  }
}
