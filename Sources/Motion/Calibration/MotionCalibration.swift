internal import Bytes
public import Sensors
public import Spatial

/// Calibration of one device's sensors, stored across restarts. It contains observed values only.
///
/// The filter decides whether it still applies: values that the samples contradict are discarded, and values
/// of other hardware are never used.
public struct MotionCalibration: Hashable, Sendable {
  /// The gyroscope's bias at one temperature.
  public struct GyroBias: Hashable, Sendable {
    /// Temperature in °C; nil without a thermometer.
    public var temperature: Double?
    /// Bias in rad/s in the device frame, to be subtracted from readings.
    public var bias: Vector3
    /// Standard deviation per axis in rad/s.
    public var deviation: Vector3

    public init(temperature: Double?, bias: Vector3, deviation: Vector3) {
      (self.temperature, self.bias, self.deviation) = (temperature, bias, deviation)
    }
  }

  /// The device's own magnetism as an ellipsoid: `field = (1 + E) * (raw - hardIron)` with a symmetric E.
  public struct Magnetometer: Hashable, Sendable {
    /// Hard iron in µT, device frame.
    public var hardIron: Vector3
    /// Standard deviation per axis in µT. If all rotations so far had the same axis, it is large along this
    /// axis.
    public var hardIronDeviation: Vector3
    /// Soft iron correction: elements xx, yy, zz of E; zero if no soft iron was observed.
    public var softIronDiagonal = Vector3.zero
    /// Soft iron correction: elements xy, xz, yz of E.
    public var softIronOffDiagonal = Vector3.zero

    public init(hardIron: Vector3, hardIronDeviation: Vector3) {
      self.hardIron = hardIron
      self.hardIronDeviation = hardIronDeviation
    }

    /// Corrects a raw field for the device's own magnetism, in µT, device frame.
    public func corrected(_ raw: Vector3) -> Vector3 {
      let u = raw - hardIron
      let (d, o) = (softIronDiagonal, softIronOffDiagonal)
      return u
        + Vector3(
          d.x * u.x + o.x * u.y + o.y * u.z, o.x * u.x + d.y * u.y + o.z * u.z,
          o.y * u.x + o.z * u.y + d.z * u.z)
    }
  }

  /// Temperature step in °C between stored biases.
  public static let temperatureStep = 5.0
  /// Maximum number of stored biases.
  public static let biasLimit = 32

  /// Hardware on which each sensor was calibrated, as named by its source.
  public var devices: [SensorKind: String] = [:]
  /// Time of storing; nil if never stored.
  public var made: UTCTime?
  /// Stored biases in order of rising temperature.
  public private(set) var gyroBiases: [GyroBias] = []
  /// Calibration of the magnetometer; nil if none was observed.
  public var magnetometer: Magnetometer?
  /// Delay of the magnetometer relative to the gyroscope in s; nil if none was observed.
  public var magnetometerLag: Double?
  /// Relative scale error of the gyroscope per axis; nil if none was observed.
  public var gyroscopeScaleError: Vector3?
  /// Tilt of the device in its vehicle; nil if it was not measured.
  public var level: LevelCalibration?

  public init() {}

  /// True if the calibration contains no values.
  public var isEmpty: Bool {
    gyroBiases.isEmpty && magnetometer == nil && magnetometerLag == nil && gyroscopeScaleError == nil
      && level == nil
  }

  /// Stores a bias. It replaces a stored bias whose temperature differs by less than half a
  /// `temperatureStep`. Values that are not finite are ignored.
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

  /// Returns the expected bias at a temperature in °C: interpolated between the two nearest stored biases, or
  /// the nearest one; nil if no bias is stored. If the temperature is nil, it returns the bias that was
  /// stored without a temperature, or else the bias of the middle temperature.
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

  /// Removes all gyroscope biases after the gyroscope contradicted them.
  mutating func forgetGyroBiases() { gyroBiases = [] }

  /// Removes values that belong to other hardware than `device`. Returns true if anything was removed.
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
    case .accelerometer:
      guard level != nil else { return false }
      level = nil
    case .barometer, .thermometer, .positioning, .wifi, .cellular: return false
    }
    return true
  }
}

// The text form has lines of "key value …" and is human-readable. The first line is the version, the last a
// checksum of all lines before it.
extension MotionCalibration {
  private static let firstLine = "odograph-calibration 1"

  /// The calibration as UTF-8 text; numbers are written with full precision.
  public var text: String {
    var lines = [Self.firstLine]
    for (kind, device) in devices.sorted(by: { $0.key < $1.key }) {
      lines.append("device \(kind.rawValue) \(Self.oneLine(device))")
    }
    if let made { lines.append("made \(made.nanoseconds)") }
    for bias in gyroBiases {
      let temperature = bias.temperature.map { "\($0)" } ?? "-"
      lines.append("gyro \(temperature) \(Self.numbers(bias.bias)) \(Self.numbers(bias.deviation))")
    }
    if let scale = gyroscopeScaleError { lines.append("scale \(Self.numbers(scale))") }
    if let lag = magnetometerLag { lines.append("lag \(lag)") }
    if let magnetometer {
      lines.append(
        "hard \(Self.numbers(magnetometer.hardIron)) \(Self.numbers(magnetometer.hardIronDeviation))")
      lines.append(
        "soft \(Self.numbers(magnetometer.softIronDiagonal)) \(Self.numbers(magnetometer.softIronOffDiagonal))"
      )
    }
    if let level { lines.append("level \(Self.numbers(level.gravity))") }
    let body = lines.joined(separator: "\n") + "\n"
    return body + "crc \(String(CRC32.checksum(body.utf8), radix: 16))\n"
  }

  /// Parses a stored calibration.
  /// - Throws: `StoredStateError` with the line number.
  public init(text: String) throws(StoredStateError) {
    // Lines are split by bytes, because Swift treats a carriage return and a line feed as one `Character`,
    // which does not equal a line feed.
    let lines = text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
      .map { Substring($0) }
    guard lines.first == Self.firstLine[...] else {
      throw StoredStateError(
        description: "line 1: not a calibration of this version; the calibration starts again")
    }
    guard lines.count > 2, lines.last == "", let last = lines.dropLast().last, last.hasPrefix("crc "),
      UInt32(last.dropFirst(4), radix: 16)
        == CRC32.checksum((lines.dropLast(2).joined(separator: "\n") + "\n").utf8)
    else {
      throw StoredStateError(
        description: "line \(lines.count): the checksum does not match; the file is damaged")
    }
    self.init()
    for (number, line) in lines.enumerated().dropFirst().dropLast(2) {
      do throws(StoredStateError) {
        try read(line)
      } catch {
        throw StoredStateError(description: "line \(number + 1): \(error.description)")
      }
    }
  }

  private mutating func read(_ line: Substring) throws(StoredStateError) {
    let words = line.split(separator: " ")
    switch words.first {
    case "device":
      guard words.count > 2, let kind = SensorKind(rawValue: String(words[1])) else {
        throw StoredStateError(description: "needs a kind of sensor and the name of a device")
      }
      devices[kind] = words.dropFirst(2).joined(separator: " ")
    case "made":
      guard words.count == 2, let nanoseconds = Int64(words[1]) else {
        throw StoredStateError(description: "needs nanoseconds since 1970")
      }
      made = UTCTime(nanoseconds: nanoseconds)
    case "gyro":
      guard words.count == 8 else { throw StoredStateError(description: "needs 7 values") }
      let values = try Self.values(words.dropFirst(2), count: 6)
      let temperature = words[1] == "-" ? nil : try Self.values(words[1...1], count: 1)[0]
      keep(
        GyroBias(temperature: temperature, bias: Self.vector(values, 0), deviation: Self.vector(values, 3)))
    case "scale": gyroscopeScaleError = Self.vector(try Self.values(words.dropFirst(), count: 3), 0)
    case "lag": magnetometerLag = try Self.values(words.dropFirst(), count: 1)[0]
    case "hard":
      let values = try Self.values(words.dropFirst(), count: 6)
      magnetometer = Magnetometer(hardIron: Self.vector(values, 0), hardIronDeviation: Self.vector(values, 3))
    case "soft":
      let values = try Self.values(words.dropFirst(), count: 6)
      magnetometer?.softIronDiagonal = Self.vector(values, 0)
      magnetometer?.softIronOffDiagonal = Self.vector(values, 3)
    case "level":
      level = LevelCalibration(gravity: Self.vector(try Self.values(words.dropFirst(), count: 3), 0))
    // Unknown keys belong to a later minor version and are ignored.
    default: break
    }
  }

  private static func values(_ words: ArraySlice<Substring>, count: Int) throws(StoredStateError) -> [Double]
  {
    let values = words.compactMap { Double($0) }.filter(\.isFinite)
    guard values.count == count, words.count == count else {
      throw StoredStateError(description: "needs \(count) numbers")
    }
    return values
  }

  private static func vector(_ values: [Double], _ first: Int) -> Vector3 {
    Vector3(values[first], values[first + 1], values[first + 2])
  }

  private static func numbers(_ v: Vector3) -> String { "\(v.x) \(v.y) \(v.z)" }

  /// Replaces each run of white space by one space, because parsing splits a line into words and joins them
  /// by one space.
  private static func oneLine(_ text: String) -> String {
    let words = text.split { $0.isWhitespace || $0.isNewline }.joined(separator: " ")
    return words.isEmpty ? "-" : words
  }
}
