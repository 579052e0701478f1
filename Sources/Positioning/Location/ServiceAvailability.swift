public import Sensors

/// Available location services, and the reasons for unavailable ones. A value without I/O: the caller
/// provides the results of its checks.
public struct ServiceAvailability: Hashable, Sendable {
  /// The setting `location.enabled`: false disables all positions.
  public var isLocationEnabled: Bool
  /// Existing device nodes without read permission, such as "/dev/iio:device0", with the kind of sensor if
  /// known. Nil before the check.
  public var deniedNodes: [String: SensorKind?]?
  /// Reasons why kinds of sensors are unavailable, as reported by their sources. Kinds that are missing here
  /// are available.
  public var unavailable: [SensorKind: String]
  /// The access to positions that an agent permits; nil if the sensors are opened directly.
  public var access: PositionAccess?

  public init(
    isLocationEnabled: Bool = true, deniedNodes: [String: SensorKind?]? = nil,
    unavailable: [SensorKind: String] = [:], access: PositionAccess? = nil
  ) {
    self.access = access
    self.isLocationEnabled = isLocationEnabled
    self.deniedNodes = deniedNodes
    self.unavailable = unavailable
  }

  public var authorizationStatus: AuthorizationStatus {
    guard isLocationEnabled else { return .denied }
    switch access {
    case .undetermined?: return .notDetermined
    case .denied?: return .denied
    case .reduced?, .exact?: return .authorized
    case nil: break
    }
    guard deniedNodes != nil else { return .notDetermined }
    return denial(of: .positioning) == nil ? .authorized : .restricted
  }

  public var accuracyAuthorization: AccuracyAuthorization {
    access == .reduced ? .reducedAccuracy : .fullAccuracy
  }

  /// Returns why a service is unavailable, with a remedy; nil if it is available.
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

  /// Returns the reported reason why a kind of sensor is unavailable; nil if the kind is available or its
  /// state is unknown.
  public func reason(against kind: SensorKind) -> String? { denial(of: kind) ?? unavailable[kind] }

  private func denial(of kind: SensorKind) -> String? {
    let nodes = (deniedNodes ?? [:]).filter { $0.value == kind || ($0.value == nil && kind != .positioning) }
    guard let node = nodes.keys.min() else { return nil }
    return "no permission to read \(node); give the agent's user the right by a udev rule or a group"
  }
}

/// Permission to use locations on this device.
public enum AuthorizationStatus: String, Hashable, Sendable, CaseIterable {
  /// Not checked yet.
  case notDetermined
  /// The agent's user has no permission to read a required device, and cannot change the permission.
  case restricted
  /// Locations are disabled on the device, or the agent permits this program none.
  case denied
  case authorized
}

/// Accuracy of the locations that an agent permits.
public enum AccuracyAuthorization: String, Hashable, Sendable, CaseIterable {
  case fullAccuracy
  /// The centre of a cell of some kilometres.
  case reducedAccuracy
}

/// The location services.
public enum LocationService: String, Hashable, Sendable, CaseIterable {
  case location
  case deferredUpdates
  case significantChanges
  case regions
  case heading
  /// Pausing at rest and resuming in motion by the accelerometer; without it, by the receiver's speed alone.
  case motionActivity
}
