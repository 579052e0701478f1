/// What a sensor measures.
public enum SensorKind: String, Hashable, Sendable, CaseIterable, Comparable {
  case accelerometer
  case gyroscope
  case magnetometer
  case barometer
  case thermometer
  /// A satellite receiver.
  case positioning

  /// The kinds that an `InertialScan` holds.
  public static let inertial: [SensorKind] = [.gyroscope, .accelerometer, .magnetometer, .thermometer]

  public static func < (a: SensorKind, b: SensorKind) -> Bool { a.rawValue < b.rawValue }
}
