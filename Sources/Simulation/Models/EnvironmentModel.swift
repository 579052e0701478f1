internal import Glibc
internal import Sensors
public import Spatial

extension SimulatedDrive {
  /// The environment of the vehicle: the earth's magnetic field, the air, and the errors of the sensors that
  /// measure them.
  public struct Environment: Hashable, Sendable {
    /// Direction of the horizontal field in degrees east of true north.
    public var declination = 4.4
    /// Inclination of the field in degrees below the horizon.
    public var inclination = 64.3
    /// Strength of the field, µT.
    public var fieldStrength = 48.8
    /// Field in µT, device frame, of the vehicle's own magnetised parts that remains after a rough
    /// calibration.
    public var hardIron = Vector3(1.2, -0.8, 2)
    /// White noise of the magnetometer in µT, standard deviation of a sample.
    public var magnetometerNoise = 0.3
    /// Air pressure at sea level, Pa.
    public var seaLevelPressure = 101_325.0
    /// White noise of the barometer, Pa.
    public var barometerNoise = 1.5
    /// Standard deviation in Pa of pressure changes caused by the weather, with a correlation time of about
    /// an hour.
    public var weather = 60.0
    /// Outside temperature, °C.
    public var temperature = 17.0
    /// Temperature rise of the electronics after power-on in °C, with a time constant of ten minutes.
    public var warmUp = 14.0
    /// White noise of the thermometer, °C.
    public var thermometerNoise = 0.05

    public init() {}

    /// The same environment, measured by sensors without errors.
    public static var ideal: Environment {
      var environment = Environment()
      environment.hardIron = .zero
      environment.magnetometerNoise = 0
      environment.barometerNoise = 0
      environment.weather = 0
      environment.thermometerNoise = 0
      return environment
    }

    /// The earth's magnetic field east, north, up in µT.
    public var magneticField: Vector3 {
      let (d, i) = (declination.radians, inclination.radians)
      return fieldStrength * Vector3(cos(i) * sin(d), cos(i) * cos(d), -sin(i))
    }

    /// Returns the pressure (Pa) at an altitude (m above mean sea level) in the ICAO standard atmosphere
    /// below 11 km.
    public func pressure(altitude: Double) -> Double {
      seaLevelPressure * StandardAtmosphere.pressureRatio(altitude: altitude)
    }
  }
}

struct MagnetometerModel: Sendable {
  private let field: Vector3
  private let hardIron: Vector3
  private let noise: Double
  private var generator: SeededGenerator

  init(_ environment: SimulatedDrive.Environment, generator: SeededGenerator) {
    field = environment.magneticField
    hardIron = environment.hardIron
    noise = environment.magnetometerNoise
    self.generator = generator
  }

  /// Returns the measured field in µT.
  mutating func sample(_ motion: VehicleMotion) -> Vector3 {
    motion.quaternion.conjugate.rotate(field) + hardIron + noise * generator.nextNormalVector()
  }
}

struct BarometerModel: Sendable {
  private let environment: SimulatedDrive.Environment
  private var generator: SeededGenerator
  private var weather: GaussMarkov<Double>

  init(_ environment: SimulatedDrive.Environment, generator: SeededGenerator) {
    self.environment = environment
    self.generator = generator
    weather = GaussMarkov(correlationTime: 3600, generator: &self.generator)
  }

  /// Returns the sample at an altitude (m above mean sea level), `elapsed` seconds after the previous one.
  mutating func sample(altitude: Double, at timestamp: Timestamp, elapsed: Double) -> PressureData {
    weather.advance(by: elapsed, generator: &generator)
    return PressureData(
      timestamp: timestamp,
      pressure: environment.pressure(altitude: altitude) + environment.weather * weather.value
        + environment.barometerNoise * generator.nextNormal())
  }
}

struct ThermometerModel: Sendable {
  private let environment: SimulatedDrive.Environment
  private var generator: SeededGenerator

  init(_ environment: SimulatedDrive.Environment, generator: SeededGenerator) {
    self.environment = environment
    self.generator = generator
  }

  /// Returns the temperature (°C) `seconds` after power-on.
  mutating func sample(after seconds: Double) -> Double {
    environment.temperature + environment.warmUp * (1 - exp(-seconds / 600))
      + environment.thermometerNoise * generator.nextNormal()
  }
}
