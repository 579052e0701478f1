public import Spatial

/// One value that the vehicle's own bus tells: a signal by its COVESA VSS path, in the unit that VSS has for it.
public struct VehicleReading: Hashable, Sendable {
  public enum Value: Hashable, Sendable {
    case number(Double)
    case flag(Bool)
    case text(String)
  }

  /// How it came, which says how exact and how late it is.
  public enum Origin: String, Hashable, Sendable {
    /// A signal that a control unit broadcasts, read by a DBC file or by SAE J1939.
    case broadcast
    /// The answer to an OBD-II request: whole units, some tenths of a second late.
    case diagnostic
    /// Made of other signals.
    case derived
  }

  public var timestamp: Timestamp
  /// As in `Vehicle.Speed`.
  public var path: String
  /// Nil when the vehicle says that it has no valid value now.
  public var value: Value?
  public var origin: Origin
  /// What one step of the raw value is worth, in the signal's unit; nil when it is not a number or not known.
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
