internal import Glibc
public import Spatial

/// Fuses gyroscope, accelerometer and magnetometer into an attitude: the basic form of VQF (D. Laidig, T. Seel,
/// Information Fusion 91, 2023): strapdown integration, inclination from the acceleration that is low-pass filtered in
/// an almost inertial frame, heading from the magnetometer by a first-order correction.
public struct AttitudeFilter: Sendable {
  private var strapdown = Quaternion.identity
  private var inclination = Quaternion.identity
  private var headingOffset = 0.0
  private var averageForce: Vector3?
  private var lastGyro: Timestamp?
  private var lastAccelerometer: Timestamp?
  private var lastMagnetometer: Timestamp?

  private static let accelerometerTime = 3.0
  private static let magnetometerTime = 9.0

  public init() {}

  /// rad/s, device frame.
  public mutating func update(gyroscope rate: Vector3, at time: Timestamp) {
    defer { lastGyro = time }
    guard rate.isFinite, let lastGyro else { return }
    let interval = time.seconds(since: lastGyro)
    guard interval > 0, interval < 10 else { return }
    strapdown = (strapdown * Quaternion(rotationVector: rate * interval)).normalized
  }

  /// m/s², device frame, specific force.
  public mutating func update(accelerometer force: Vector3, at time: Timestamp) {
    guard force.isFinite else { return }
    let interval = lastAccelerometer.map { time.seconds(since: $0) } ?? 0
    guard interval >= 0 else { return }
    lastAccelerometer = time
    let turned = strapdown.rotate(force)
    let gain = averageForce == nil ? 1 : 1 - exp(-interval / Self.accelerometerTime)
    let average = (averageForce ?? turned) + gain * (turned - (averageForce ?? turned))
    averageForce = average
    guard let up = inclination.rotate(average).normalized else { return }
    let half = ((up.z + 1) / 2).squareRoot()
    let correction =
      half > 1e-9
      ? Quaternion(w: half, x: 0.5 * up.y / half, y: -0.5 * up.x / half, z: 0)
      : Quaternion(w: 0, x: 1, y: 0, z: 0)
    inclination = (correction * inclination).normalized
  }

  /// µT, device frame.
  public mutating func update(magnetometer field: Vector3, at time: Timestamp) {
    guard field.isFinite else { return }
    let horizontal = quaternion6D.rotate(field)
    guard horizontal.x != 0 || horizontal.y != 0 else { return }
    let disagreement = remainder(atan2(horizontal.x, horizontal.y) - headingOffset, 2 * .pi)
    let interval = lastMagnetometer.map { time.seconds(since: $0) }
    lastMagnetometer = time
    let gain = interval.map { 1 - exp(-max(0, $0) / Self.magnetometerTime) } ?? 1
    headingOffset = remainder(headingOffset + gain * disagreement, 2 * .pi)
  }

  /// From the device frame to a frame with z up and an arbitrary horizontal direction.
  public var quaternion6D: Quaternion { (inclination * strapdown).normalized }

  /// From the device frame to east, magnetic north, up; nil before the first magnetometer sample.
  public var quaternion9D: Quaternion? {
    lastMagnetometer == nil
      ? nil : (Quaternion(angle: headingOffset, axis: Vector3(0, 0, 1)) * quaternion6D).normalized
  }

  /// rad/s, device frame: what to subtract from the gyroscope.
  public var gyroscopeBias: Vector3 { .zero }
}
