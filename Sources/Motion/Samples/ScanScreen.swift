public import Sensors
internal import Spatial

/// What a scan was passed on with a reservation.
public struct ScanDoubts: OptionSet, Hashable, Sendable {
  public let rawValue: UInt8

  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// The gyroscope repeats one value while other sensors vary.
  public static let gyroscope = ScanDoubts(rawValue: 1)
  /// The accelerometer repeats one value while others vary.
  public static let accelerometer = ScanDoubts(rawValue: 2)
  /// The magnetometer repeats one value while others vary.
  public static let magnetometer = ScanDoubts(rawValue: 4)
  /// The magnetometer's value is the one before, held.
  public static let heldField = ScanDoubts(rawValue: 8)
}

/// The one place where scans are judged: what is not finite, out of order, beyond any sensor's range or stuck is taken
/// out and counted. Each sensor bears witness for the others.
public struct ScanScreen: Hashable, Sendable {
  /// m/s²: shock sensors end at 500 g.
  private var accelerometer = SensorScreen(plausible: 5000)
  /// rad/s: the widest range is 4000 °/s, which is 121 rad/s along the diagonal.
  private var gyroscope = SensorScreen(plausible: 200)
  /// µT: a magnet on the housing reaches 0.1 T.
  private var magnetometer = SensorScreen(plausible: 100_000)
  private var lastTurn: Timestamp?
  /// Low-passed force, over about 0.3 s.
  private var smoothForce: Vector3?
  private var lastForceTime: Timestamp?
  private var forceAtRepetition: Vector3?

  /// Rotation slower than this (rad/s) may be bias and bears no witness.
  private static let certainRotation = 0.2
  /// °C in which a chip works.
  private static let temperatures = -60.0...150.0

  public init() {}

  /// What became of the samples of an inertial sensor; nil for other kinds.
  public func health(of kind: SensorKind) -> SensorHealth? {
    switch kind {
    case .accelerometer: accelerometer.health
    case .gyroscope: gyroscope.health
    case .magnetometer: magnetometer.health
    case .barometer, .thermometer, .positioning: nil
    }
  }

  /// Whether a sensor's time has gone back for good, so that everything must begin anew.
  public var hasTimeGoneBack: Bool {
    accelerometer.hasTimeGoneBack || gyroscope.hasTimeGoneBack || magnetometer.hasTimeGoneBack
  }

  /// Forgets what time it was; the counts go on.
  public mutating func startAnew() {
    accelerometer.startAnew()
    gyroscope.startAnew()
    magnetometer.startAnew()
    (lastTurn, forceAtRepetition) = (nil, nil)
    (smoothForce, lastForceTime) = (nil, nil)
  }

  /// Takes out of a scan what is no measurement. What is left may be empty.
  public mutating func admit(_ scan: inout InertialScan) -> ScanDoubts {
    let time = scan.timestamp
    var doubts: ScanDoubts = []
    if let rate = scan.rotationRate {
      if gyroscope.admit(rate, at: time) {
        bearWitness(rate, at: time)
        if gyroscope.isDoubtful(at: time, beside: accelerometer, magnetometer) { doubts.insert(.gyroscope) }
      } else {
        scan.rotationRate = nil
      }
    }
    if let force = scan.specificForce {
      if accelerometer.admit(force, at: time) {
        bearWitness(force: force, at: time)
        if accelerometer.isDoubtful(at: time, beside: gyroscope, magnetometer) {
          doubts.insert(.accelerometer)
        }
      } else {
        scan.specificForce = nil
      }
    }
    if let field = scan.magneticField {
      if magnetometer.admit(field, at: time) {
        if magnetometer.isRepeating { doubts.insert(.heldField) }
        if magnetometer.isDoubtful(at: time, beside: gyroscope, accelerometer) {
          doubts.insert(.magnetometer)
        }
      } else {
        scan.magneticField = nil
      }
    }
    if let temperature = scan.temperature, !Self.temperatures.contains(temperature) { scan.temperature = nil }
    return doubts
  }

  /// A rotation about the very direction that a sensor measures does not change it.
  @inline(__always)
  private mutating func bearWitness(_ rate: Vector3, at time: Timestamp) {
    defer { lastTurn = time }
    guard accelerometer.isRepeating || magnetometer.isRepeating, let lastTurn,
      rate.length > Self.certainRotation
    else { return }
    let step = max(0, min(0.1, time.seconds(since: lastTurn)))
    if let direction = accelerometer.lastValue?.normalized {
      accelerometer.expectChange(by: rate.cross(direction).length * step)
    }
    if let direction = magnetometer.lastValue?.normalized {
      magnetometer.expectChange(by: rate.cross(direction).length * step)
    }
  }

  /// A gyroscope that repeats a small value while gravity moves through the device is stuck. Braking tilts the reading by
  /// 45° at the very most, so only more than that counts.
  @inline(__always)
  private mutating func bearWitness(force: Vector3, at time: Timestamp) {
    // A low-pass of first order at 0.5 Hz, without the exponential: this runs for every scan.
    let gain = min(1, .pi * (lastForceTime.map { time.seconds(since: $0) } ?? 0))
    let before = smoothForce ?? force
    let smooth = before + gain * (force - before)
    (smoothForce, lastForceTime) = (smooth, time)
    guard let repeated = gyroscope.repeatedValue, repeated.length < Self.certainRotation else {
      forceAtRepetition = nil
      return
    }
    guard let start = forceAtRepetition else {
      forceAtRepetition = smooth
      return
    }
    if Quaternion.shortest(from: start, to: smooth).angle > 0.8 { gyroscope.expectChange(by: 1) }
  }
}
