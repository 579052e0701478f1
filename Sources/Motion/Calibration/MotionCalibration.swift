public import Sensors
public import Spatial

/// What was learned about the sensors of one device and is worth keeping across restarts. Only what was observed is in it.
///
/// Whether it still fits is for the filter to say: what the samples contradict is discarded, and what was learned on other
/// hardware is never used.
public struct MotionCalibration: Hashable, Sendable {
  /// The gyroscope's bias at one temperature.
  public struct GyroBias: Hashable, Sendable {
    /// °C; nil where there is no thermometer.
    public var temperature: Double?
    /// rad/s, device frame: what to subtract.
    public var bias: Vector3
    /// rad/s, one deviation per axis.
    public var deviation: Vector3

    public init(temperature: Double?, bias: Vector3, deviation: Vector3) {
      self.temperature = temperature
      self.bias = bias
      self.deviation = deviation
    }
  }

  /// The device's own magnetism, an ellipsoid: `field = (1 + E) * (raw - hardIron)` with a symmetric E.
  public struct Magnetometer: Hashable, Sendable {
    /// µT, device frame.
    public var hardIron: Vector3
    /// µT, one deviation per axis; large along an axis about which the device has always turned.
    public var hardIronDeviation: Vector3
    /// What undoes soft iron: xx, yy, zz of E; zero when there was none to be seen.
    public var softIronDiagonal = Vector3.zero
    /// The same: xy, xz, yz.
    public var softIronOffDiagonal = Vector3.zero

    public init(hardIron: Vector3, hardIronDeviation: Vector3) {
      self.hardIron = hardIron
      self.hardIronDeviation = hardIronDeviation
    }

    /// µT, device frame, free of the device's own magnetism.
    public func corrected(_ raw: Vector3) -> Vector3 {
      let u = raw - hardIron
      let (d, o) = (softIronDiagonal, softIronOffDiagonal)
      return u
        + Vector3(
          d.x * u.x + o.x * u.y + o.y * u.z, o.x * u.x + d.y * u.y + o.z * u.z,
          o.y * u.x + o.z * u.y + d.z * u.z)
    }
  }

  /// °C between kept biases.
  public static let temperatureStep = 5.0
  /// At most so many biases are kept.
  public static let biasLimit = 32

  /// Which hardware it was learned on, by kind of sensor, as its source names it.
  public var devices: [SensorKind: String] = [:]
  /// Nil when it has not been kept yet.
  public var made: UTCTime?
  /// By rising temperature.
  public private(set) var gyroBiases: [GyroBias] = []
  /// Nil when no magnetism was observed.
  public var magnetometer: Magnetometer?
  /// Delay of the magnetometer against the gyroscope, s; nil when none was observed.
  public var magnetometerLag: Double?
  /// Relative scale error of the gyroscope per axis; nil when none was observed.
  public var gyroscopeScaleError: Vector3?

  public init() {}

  /// Whether nothing was learned.
  public var isEmpty: Bool {
    gyroBiases.isEmpty && magnetometer == nil && magnetometerLag == nil && gyroscopeScaleError == nil
  }

  /// Keeps a bias, in the place of one less than half a `temperatureStep` away. What is not finite is left out.
  public mutating func keep(_ bias: GyroBias) {
    guard bias.bias.isFinite, bias.deviation.isFinite else { return }
    if let temperature = bias.temperature { guard abs(temperature) < 300 else { return } }
    if let index = gyroBiases.firstIndex(where: { Self.step($0.temperature) == Self.step(bias.temperature) })
    {
      gyroBiases[index] = bias
    } else if gyroBiases.count < Self.biasLimit {
      gyroBiases.append(bias)
    }
    gyroBiases.sort { ($0.temperature ?? -.infinity) < ($1.temperature ?? -.infinity) }
  }

  private static func step(_ temperature: Double?) -> Double? {
    temperature.map { ($0 / temperatureStep).rounded() }
  }

  /// The bias to be expected at `temperature`, °C: between the two nearest kept ones, or the nearest; nil when none is
  /// kept. Without a temperature, the one kept without, or the one in the middle.
  public func gyroBias(at temperature: Double?) -> GyroBias? {
    guard let temperature, temperature.isFinite else {
      return gyroBiases.first { $0.temperature == nil }
        ?? (gyroBiases.isEmpty ? nil : gyroBiases[gyroBiases.count / 2])
    }
    let known = gyroBiases.filter { $0.temperature != nil }
    guard let above = known.first(where: { ($0.temperature ?? 0) >= temperature }) else {
      return known.last ?? gyroBiases.first
    }
    guard let below = known.last(where: { ($0.temperature ?? 0) < temperature }),
      let low = below.temperature, let high = above.temperature, high > low
    else { return above }
    let f = (temperature - low) / (high - low)
    return GyroBias(
      temperature: temperature, bias: below.bias + f * (above.bias - below.bias),
      deviation: below.deviation + f * (above.deviation - below.deviation))
  }

  /// The gyroscope contradicted them.
  mutating func forgetGyroBiases() { gyroBiases = [] }

  /// Forgets what belongs to other hardware than `device` of a kind. Returns whether anything was forgotten.
  public mutating func bind(_ kind: SensorKind, to device: String) -> Bool {
    let before = devices.updateValue(device, forKey: kind)
    guard let before, before != device else { return false }
    switch kind {
    case .gyroscope:
      guard !gyroBiases.isEmpty || gyroscopeScaleError != nil || magnetometerLag != nil else { return false }
      (gyroBiases, gyroscopeScaleError, magnetometerLag) = ([], nil, nil)
    case .magnetometer:
      guard magnetometer != nil || magnetometerLag != nil else { return false }
      (magnetometer, magnetometerLag) = (nil, nil)
    case .accelerometer, .barometer, .thermometer, .positioning: return false
    }
    return true
  }
}
