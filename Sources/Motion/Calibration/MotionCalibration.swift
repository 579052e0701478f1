public import Spatial

/// What was learned about the sensors of one device, to be kept across restarts.
///
/// Whether it still fits is for the filter to say; what it says no longer fits is discarded with the file. A calibration
/// for another device is never used.
public struct MotionCalibration: Hashable, Sendable {
  /// The gyroscope's bias at one temperature.
  public struct GyroBias: Hashable, Sendable {
    /// °C; nil where there is no thermometer.
    public var temperature: Double?
    /// rad/s, device frame: what to subtract.
    public var bias: Vector3
    /// rad/s, one standard deviation.
    public var uncertainty: Double

    public init(temperature: Double?, bias: Vector3, uncertainty: Double) {
      self.temperature = temperature
      self.bias = bias
      self.uncertainty = uncertainty
    }
  }

  /// The device's own magnetism: `field = softIron * (raw - hardIron)`.
  public struct Magnetometer: Hashable, Sendable {
    /// µT, device frame.
    public var hardIron: Vector3
    /// Without unit, symmetric, close to the identity.
    public var softIron: RotationMatrix
    /// µT; the length of the calibrated field.
    public var fieldStrength: Double
    /// µT, effective, by which single readings miss that length.
    public var residual: Double

    public init(hardIron: Vector3, softIron: RotationMatrix, fieldStrength: Double, residual: Double) {
      self.hardIron = hardIron
      self.softIron = softIron
      self.fieldStrength = fieldStrength
      self.residual = residual
    }

    /// µT, device frame, free of the device's own magnetism.
    public func corrected(_ raw: Vector3) -> Vector3 { softIron * (raw - hardIron) }
  }

  /// Which hardware it belongs to, as in the IIO names of its sensors.
  public var device: String
  public var made: UTCTime
  /// In order of temperature.
  public var gyroBiases: [GyroBias]
  public var magnetometer: Magnetometer?

  public init(
    device: String, made: UTCTime, gyroBiases: [GyroBias] = [], magnetometer: Magnetometer? = nil
  ) {
    self.device = device
    self.made = made
    self.gyroBiases = gyroBiases
    self.magnetometer = magnetometer
  }

  /// The bias at a temperature (°C), interpolated between the two nearest; the nearest one outside the range or where no
  /// temperature is known. Nil when nothing was learned.
  public func gyroBias(at temperature: Double?) -> GyroBias? {
    let known = gyroBiases.filter { $0.temperature != nil }
    guard let temperature, temperature.isFinite, !known.isEmpty else {
      return gyroBiases.min { $0.uncertainty < $1.uncertainty }
    }
    let below = known.last { ($0.temperature ?? 0) <= temperature }
    let above = known.first { ($0.temperature ?? 0) > temperature }
    guard let below, let above, let low = below.temperature, let high = above.temperature, high > low else {
      return below ?? above
    }
    let share = (temperature - low) / (high - low)
    return GyroBias(
      temperature: temperature, bias: below.bias + share * (above.bias - below.bias),
      uncertainty: max(below.uncertainty, above.uncertainty))
  }
}
