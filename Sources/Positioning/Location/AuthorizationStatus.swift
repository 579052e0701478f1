/// Whether locations may be had on this device.
public enum AuthorizationStatus: String, Hashable, Sendable, CaseIterable {
  /// Nobody has looked yet.
  case notDetermined
  /// The user the agent runs as may not read a device that is needed; it cannot change that itself.
  case restricted
  /// Locations are switched off on the device.
  case denied
  case authorized
}

/// What can be asked of the location side.
public enum LocationService: String, Hashable, Sendable, CaseIterable {
  case location
  case deferredUpdates
  case significantChanges
  case regions
  case heading
  /// Pausing on rest and resuming on motion by the accelerometer; without it, by the receiver's speed alone.
  case motionActivity
}
