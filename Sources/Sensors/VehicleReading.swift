public import Spatial

/// A value of a vehicle signal: a COVESA VSS path with a value in the unit of VSS.
public struct VehicleReading: Hashable, Sendable {
  public enum Value: Hashable, Sendable {
    case number(Double)
    case flag(Bool)
    case text(String)
  }

  /// The origin of a value, which determines its accuracy and latency.
  public enum Origin: String, Hashable, Sendable {
    /// A broadcast of a control unit, decoded with a DBC file or by SAE J1939.
    case broadcast
    /// A response to an OBD-II request: whole units, with a latency of several tenths of a second.
    case diagnostic
    /// Computed from other signals.
    case derived
  }

  public var timestamp: Timestamp
  /// The path, such as `Vehicle.Speed`.
  public var path: String
  /// The value; nil if the vehicle reports that it is currently invalid.
  public var value: Value?
  public var origin: Origin
  /// The size of a raw step in the signal's unit; nil if the value is not a number or the step is unknown.
  public var resolution: Double?

  public init(
    timestamp: Timestamp, path: String, value: Value?, origin: Origin = .broadcast,
    resolution: Double? = nil
  ) {
    self.timestamp = timestamp
    self.path = path
    self.value = value
    self.origin = origin
    self.resolution = resolution
  }
}
