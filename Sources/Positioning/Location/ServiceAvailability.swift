public import Sensors

/// Which location services this device offers, and why not the others. A value: whoever does the I/O fills it in.
public struct ServiceAvailability: Hashable, Sendable {
  /// The local switch.
  public var isLocationEnabled: Bool
  /// Device nodes that are there and may not be opened, as in "/dev/iio:device0", with the kind of sensor behind each
  /// where that is known. Nil while nobody has looked.
  public var deniedNodes: [String: SensorKind?]?
  /// Why a kind of sensor cannot be had now, as its source says; kinds that are not named are there.
  public var unavailable: [SensorKind: String]

  public init(
    isLocationEnabled: Bool = true, deniedNodes: [String: SensorKind?]? = nil,
    unavailable: [SensorKind: String] = [:]
  ) {
    self.isLocationEnabled = isLocationEnabled
    self.deniedNodes = deniedNodes
    self.unavailable = unavailable
  }

  public var authorizationStatus: AuthorizationStatus {
    guard isLocationEnabled else { return .denied }
    guard deniedNodes != nil else { return .notDetermined }
    return denial(of: .positioning) == nil ? .authorized : .restricted
  }

  /// Why a service cannot be had, with what to do about it; nil when it can.
  public func reason(against service: LocationService) -> String? {
    switch service {
    case .location, .deferredUpdates, .significantChanges, .regions:
      guard isLocationEnabled else { return "location is switched off; set location.enabled = true" }
      return reason(against: .positioning)
    case .heading: return reason(against: .magnetometer) ?? reason(against: .accelerometer)
    case .motionActivity: return reason(against: .accelerometer)
    }
  }

  public func isAvailable(_ service: LocationService) -> Bool { reason(against: service) == nil }

  /// Why a kind of sensor cannot be had, as far as anybody has said; nil when it can, or nobody has.
  public func reason(against kind: SensorKind) -> String? { denial(of: kind) ?? unavailable[kind] }

  private func denial(of kind: SensorKind) -> String? {
    let nodes = (deniedNodes ?? [:]).filter { $0.value == kind || ($0.value == nil && kind != .positioning) }
    guard let node = nodes.keys.min() else { return nil }
    return "no permission to read \(node); give the agent's user the right by a udev rule or a group"
  }
}

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
