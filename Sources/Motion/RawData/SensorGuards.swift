public import Sensors
internal import Spatial

/// The guards of the three inertial sensors, each of which bears witness for the others.
public struct SensorGuards: Hashable, Sendable {
  private var accelerometer = SampleGuard(limits: .accelerometer)
  private var gyroscope = SampleGuard(limits: .gyroscope)
  private var magnetometer = SampleGuard(limits: .magnetometer)
  private var lastForce: Vector3?
  private var lastField: Vector3?
  private var lastTurn: Timestamp?
  private var smoothForce = LowPassFilter(cutoff: 0.5)
  private var forceAtRepetition: Vector3?

  /// Rotation slower than this (rad/s) may be bias and bears no witness.
  private static let certainRotation = 0.2

  public init() {}

  public func health(of kind: SensorKind) -> SensorHealth? {
    switch kind {
    case .accelerometer: accelerometer.health
    case .gyroscope: gyroscope.health
    case .magnetometer: magnetometer.health
    case .barometer, .thermometer, .positioning: nil
    }
  }

  /// Whether a sensor's time has gone back for good.
  var hasTimeGoneBack: Bool {
    accelerometer.hasTimeGoneBack || gyroscope.hasTimeGoneBack || magnetometer.hasTimeGoneBack
  }

  /// Forgets what time it was; the counts go on.
  mutating func startAnew() {
    accelerometer.startAnew()
    gyroscope.startAnew()
    magnetometer.startAnew()
    (lastForce, lastField, lastTurn, forceAtRepetition) = (nil, nil, nil, nil)
    smoothForce.reset()
  }

  public mutating func admit(_ sample: AccelerometerData) -> Bool {
    guard accelerometer.admit(sample.acceleration, at: sample.timestamp) else { return false }
    lastForce = sample.acceleration
    witnessForGyroscope(sample)
    return true
  }

  public mutating func admit(_ sample: GyroData) -> Bool {
    let isAdmitted = gyroscope.admit(sample.rotationRate, at: sample.timestamp)
    guard isAdmitted else { return false }
    if let lastTurn, sample.rotationRate.length > Self.certainRotation {
      let step = max(0, min(0.1, sample.timestamp.seconds(since: lastTurn)))
      // A rotation about the very direction that a sensor measures does not change it.
      if let direction = lastForce?.normalized {
        accelerometer.expectChange(by: sample.rotationRate.cross(direction).length * step)
      }
      if let direction = lastField?.normalized {
        magnetometer.expectChange(by: sample.rotationRate.cross(direction).length * step)
      }
    }
    lastTurn = sample.timestamp
    return true
  }

  public mutating func admit(_ sample: MagnetometerData) -> Bool {
    guard magnetometer.admit(sample.magneticField, at: sample.timestamp) else { return false }
    lastField = sample.magneticField
    return true
  }

  /// A gyroscope that repeats a small value while gravity moves through the device is stuck. Braking tilts the reading by
  /// 45° at the very most, so only more than that counts.
  private mutating func witnessForGyroscope(_ sample: AccelerometerData) {
    let smooth = smoothForce.process(sample.acceleration, at: sample.timestamp)
    guard let repeated = gyroscope.repeatedValue, repeated.length < Self.certainRotation else {
      forceAtRepetition = nil
      return
    }
    guard let before = forceAtRepetition else {
      forceAtRepetition = smooth
      return
    }
    if Quaternion.shortest(from: before, to: smooth).angle > 0.8 { gyroscope.expectChange(by: 1) }
  }
}
