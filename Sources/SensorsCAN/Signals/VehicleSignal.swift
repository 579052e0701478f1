internal import Bytes

/// A signal of the COVESA Vehicle Signal Specification (release 4) that J1939, OBD-II or other signals can
/// provide, with the specification's unit. A DBC file can provide any path.
public struct VehicleSignal: Hashable, Sendable {
  public enum Form: Hashable, Sendable {
    /// The unit, as in "km/h"; nil for a number without one.
    case number(unit: String?)
    case flag
    case text
  }

  public var path: String
  public var form: Form

  /// Known signals by path.
  public static let known: [String: VehicleSignal] = Dictionary(
    uniqueKeysWithValues: all.map { ($0.path, $0) })

  public static let all: [VehicleSignal] = [
    .number("Vehicle.Speed", "km/h"),
    .number("Vehicle.TraveledDistance", "km"),
    VehicleSignal(path: "Vehicle.IsMoving", form: .flag),
    VehicleSignal(path: "Vehicle.LowVoltageSystemState", form: .text),
    .number("Vehicle.LowVoltageBattery.CurrentVoltage", "V"),
    .number("Vehicle.Powertrain.CombustionEngine.Speed", "rpm"),
    VehicleSignal(path: "Vehicle.Powertrain.CombustionEngine.IsRunning", form: .flag),
    .number("Vehicle.Powertrain.CombustionEngine.ECT", "celsius"),
    .number("Vehicle.Powertrain.Transmission.CurrentGear", nil),
    .number("Vehicle.Powertrain.FuelSystem.RelativeLevel", "percent"),
    .number("Vehicle.OBD.FuelRate", "l/h"),
    .number("Vehicle.OBD.RunTime", "s"),
    .number("Vehicle.OBD.DistanceSinceDTCClear", "km"),
    .number("Vehicle.Chassis.Axle.Row1.Wheel.Left.Speed", "km/h"),
    .number("Vehicle.Chassis.Axle.Row1.Wheel.Right.Speed", "km/h"),
    .number("Vehicle.Chassis.Axle.Row2.Wheel.Left.Speed", "km/h"),
    .number("Vehicle.Chassis.Axle.Row2.Wheel.Right.Speed", "km/h"),
    VehicleSignal(path: "Vehicle.VehicleIdentification.VIN", form: .text),
  ]

  private static func number(_ path: String, _ unit: String?) -> VehicleSignal {
    VehicleSignal(path: path, form: .number(unit: unit))
  }

  // Signals used by the decoder itself.
  static let speed = "Vehicle.Speed"
  static let engineSpeed = "Vehicle.Powertrain.CombustionEngine.Speed"
  static let isMoving = "Vehicle.IsMoving"
  static let isRunning = "Vehicle.Powertrain.CombustionEngine.IsRunning"
  static let systemState = "Vehicle.LowVoltageSystemState"
  static let voltage = "Vehicle.LowVoltageBattery.CurrentVoltage"
  public static let identification = "Vehicle.VehicleIdentification.VIN"

  /// Returns the known path closest to a mistyped one, regardless of case; nil if none is close.
  package static func path(near text: String) -> String? {
    let paths = Dictionary(uniqueKeysWithValues: all.map { ($0.path.lowercased(), $0.path) })
    return Spelling.nearest(to: text.lowercased(), among: paths.keys.sorted()).flatMap { paths[$0] }
  }

  /// Returns whether a text can be a path: `Vehicle.` and names of letters and digits between points.
  public static func isPath(_ text: String) -> Bool {
    let names = text.split(separator: ".", omittingEmptySubsequences: false)
    // The branch `CurrentLocation` is excluded, because positions may leave the vehicle only through the
    // privacy policy.
    guard names.count >= 2, names[0] == "Vehicle", names[1] != "CurrentLocation", text.utf8.count <= 200
    else { return false }
    return names.allSatisfy { name in
      !name.isEmpty
        && name.utf8.allSatisfy { byte in
          (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
            || byte == 0x5F
        }
    }
  }
}

/// Converts values from a DBC file's unit to the specification's.
struct UnitConversion: Hashable, Sendable {
  var factor: Double
  var offset = 0.0

  func callAsFunction(_ value: Double) -> Double { value * factor + offset }

  /// Creates a conversion; nil if there is none. An empty unit counts as the target unit.
  init?(from unit: String, to target: String) {
    let unit = unit.lowercased().filter { !$0.isWhitespace }
    guard !unit.isEmpty, unit != target else {
      self.init(factor: 1)
      return
    }
    guard let found = Self.table[target]?[unit] else { return nil }
    self = found
  }

  init(factor: Double, offset: Double = 0) {
    (self.factor, self.offset) = (factor, offset)
  }

  private static let table: [String: [String: UnitConversion]] = [
    "km/h": factors([
      "kmh": 1, "kph": 1, "kmph": 1, "km/hr": 1, "m/s": 3.6, "mph": 1.609344, "mi/h": 1.609344,
    ]),
    "km": factors(["kms": 1, "m": 0.001, "hm": 0.1, "mi": 1.609344, "mile": 1.609344, "miles": 1.609344]),
    "V": factors(["v": 1, "volt": 1, "volts": 1, "mv": 0.001]),
    "rpm": factors(["1/min": 1, "r/min": 1, "u/min": 1, "min-1": 1, "/min": 1, "1/s": 60]),
    "percent": factors(["%": 1, "pct": 1]),
    "l/h": factors(["l/hr": 1, "ml/h": 0.001]),
    "s": factors(["sec": 1, "seconds": 1, "min": 60, "h": 3600, "ms": 0.001]),
    "celsius": factors(["c": 1, "°c": 1, "degc": 1, "deg.c": 1, "grad": 1]).merging([
      "k": UnitConversion(factor: 1, offset: -273.15),
      "°f": UnitConversion(factor: 5.0 / 9, offset: -160.0 / 9),
      "f": UnitConversion(factor: 5.0 / 9, offset: -160.0 / 9),
      "degf": UnitConversion(factor: 5.0 / 9, offset: -160.0 / 9),
    ]) { $1 },
  ]

  private static func factors(_ factors: [String: Double]) -> [String: UnitConversion] {
    factors.mapValues { UnitConversion(factor: $0) }
  }
}
