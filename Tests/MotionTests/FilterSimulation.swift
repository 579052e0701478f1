import Spatial
import TestSupport

/// A device that is rotated and moved by hand, with known truth and adjustable sensors.
struct FilterSimulation {
  /// Sampling rate in Hz.
  var rate = 200.0
  /// Time at rest in s before the motion starts.
  var restTime = 10.0
  /// Largest rate in rad/s of each sine of the rotation.
  var rotation = 1.5
  /// Amplitude of the translation in m.
  var reach = 0.15
  /// Bias and noise of the gyroscope in rad/s.
  var gyroscopeBias = Vector3(0.004, -0.003, 0.002)
  var gyroscopeNoise = 0.002
  /// Noise of the accelerometer in m/s².
  var accelerometerNoise = 0.03
  /// Noise of the magnetometer in µT.
  var magnetometerNoise = 0.5
  /// Lag of the magnetometer in s.
  var magnetometerLag = 0.0
  /// Hard iron in µT, device frame.
  var hardIron = Vector3.zero
  /// Soft iron: rows of a symmetric matrix that is added to the identity.
  var softIron: [Vector3] = [.zero, .zero, .zero]
  /// Magnetic field in µT, east-north-up.
  var field = Vector3(0, 20, -43)
  /// Relative error of the timestamps; positive if the clock is too fast.
  var clockError = 0.0
  var start = Quaternion.identity

  struct Sample {
    var time: Timestamp
    var rate: Vector3
    var force: Vector3
    var field: Vector3
    /// Rotation from the device to east-north-up.
    var truth: Quaternion
    var isMoving: Bool
  }

  /// A sine of a motion: frequency in rad/s and phase in rad.
  private struct Wave {
    var frequency: Double
    var phase: Double

    func callAsFunction(_ t: Double) -> Double { FilterSimulation.sine(frequency * t + phase) }
  }

  private let random: SplitMix
  // Tuples in place of arrays: this code dominates the duration of the tests, and arrays are slow in a debug build.
  private let turns: (x: (Wave, Wave, Wave), y: (Wave, Wave, Wave), z: (Wave, Wave, Wave))
  private let sways: (x: (Wave, Wave), y: (Wave, Wave), z: (Wave, Wave))

  init(seed: UInt64) {
    var random = SplitMix(seed: seed)
    let phases = (0..<24).map { _ in Double.random(in: 0..<6.28, using: &random) }
    func turn(_ axis: Int) -> (Wave, Wave, Wave) {
      let waves = zip([0.21, 0.53, 1.1], phases[(3 * axis)...]).map { frequency, phase in
        Wave(frequency: frequency * (1 + 0.13 * Double(axis)) * 6.283_185, phase: phase)
      }
      return (waves[0], waves[1], waves[2])
    }
    func sway(_ axis: Int) -> (Wave, Wave) {
      let waves = zip([0.6, 1.3], phases[(12 + 2 * axis)...]).map { frequency, phase in
        Wave(frequency: 6.283_185 * frequency * (1 + 0.11 * Double(axis)), phase: phase)
      }
      return (waves[0], waves[1])
    }
    turns = (turn(0), turn(1), turn(2))
    sways = (sway(0), sway(1), sway(2))
    self.random = random
  }

  /// True rates in rad/s in the device frame at `time`.
  private func trueRate(_ time: Double) -> Vector3 {
    let t = time - restTime
    guard t > 0 else { return .zero }
    func rate(_ waves: (Wave, Wave, Wave)) -> Double {
      min(1, t) * (rotation * waves.0(t) + rotation * waves.1(t) + rotation * waves.2(t))
    }
    return Vector3(rate(turns.x), rate(turns.y), rate(turns.z))
  }

  /// Acceleration in m/s², east-north-up, of a position that is a sum of sines.
  private func acceleration(_ time: Double) -> Vector3 {
    let t = time - restTime
    guard t > 0 else { return .zero }
    func acceleration(_ waves: (Wave, Wave)) -> Double {
      let (slow, fast) = (waves.0.frequency, waves.1.frequency)
      return -min(1, t) * (reach * slow * slow * waves.0(t) + reach / 2 * fast * fast * waves.1(t))
    }
    return Vector3(acceleration(sways.x), acceleration(sways.y), acceleration(sways.z))
  }

  /// A sine without a mathematics library, accurate to 1e-9.
  static func sine(_ x: Double) -> Double {
    let turn = x / (2 * Double.pi)
    var r = (turn - turn.rounded()) * 2 * Double.pi
    if r > Double.pi / 2 { r = Double.pi - r }
    if r < -Double.pi / 2 { r = -Double.pi - r }
    let s = r * r
    return r
      * (1 - s / 6 * (1 - s / 20 * (1 - s / 42 * (1 - s / 72 * (1 - s / 110 * (1 - s / 156))))))
  }

  /// Generates samples of all sensors for `duration` s. The gyroscope lags by one sample, like a sensor with an internal filter.
  func samples(_ duration: Double) -> [Sample] {
    var random = self.random
    // Like `SplitMix.normal`, but from the lower bits, as `Double.random(in: 0..<1)` uses them.
    func normal() -> Double {
      var (sum, count) = (-6.0, 0)
      while count < 12 {
        sum += Double(random.next() & 0x1F_FFFF_FFFF_FFFF) * 0x1p-53
        count += 1
      }
      return sum
    }
    func noise(_ deviation: Double) -> Vector3 {
      Vector3(normal() * deviation, normal() * deviation, normal() * deviation)
    }
    let period = 1 / rate
    let steps = 10
    let count = Int(duration * rate)
    var truth = start
    var attitudes = [truth]
    for i in 1..<(count * steps) {
      let t = (Double(i) - 0.5) * period / Double(steps)
      truth = (truth * Quaternion(rotationVector: trueRate(t) * (period / Double(steps)))).normalized
      attitudes.append(truth)
    }
    func attitude(_ time: Double) -> Quaternion {
      attitudes[max(0, min(attitudes.count - 1, Int((time * rate * Double(steps)).rounded())))]
    }
    return (0..<count).map { i in
      let t = Double(i) * period
      let now = attitude(t)
      let gravity = Vector3(0, 0, 9.806_65)
      let magnetic = attitude(t - magnetometerLag).conjugate.rotate(field)
      let distorted =
        magnetic + Vector3(softIron[0].dot(magnetic), softIron[1].dot(magnetic), softIron[2].dot(magnetic))
      return Sample(
        time: Timestamp(seconds: 5 + t * (1 + clockError)),
        rate: trueRate(t - period) + gyroscopeBias + noise(gyroscopeNoise),
        force: now.conjugate.rotate(gravity + acceleration(t)) + noise(accelerometerNoise),
        field: distorted + hardIron + noise(magnetometerNoise),
        truth: now, isMoving: t > restTime)
    }
  }
}
