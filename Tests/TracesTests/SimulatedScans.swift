import Sensors
import Simulation
import Spatial
import TestSupport

/// Raw values of a common six-axis 16-bit sensor (±16 g, ±2000 °/s) on the road.
struct SimulatedScans {
  /// Size of one step in m/s² and rad/s.
  static let steps = (force: 16 * standardGravity / 32_768, rate: 2000 * Double.pi / 180 / 32_768)

  var random: SeededGenerator
  /// Standard deviation of white noise in steps.
  let noise: Double
  let rate = 400.0
  /// Raw sensor values by axis.
  private(set) var raw: [[Int64]] = []
  private(set) var scans: [InertialScan] = []

  /// - Parameter jitter: standard deviation of the time stamps in µs.
  init(_ random: SeededGenerator, seconds: Double, noise: Double, jitter: Double = 5) {
    (self.random, self.noise) = (random, noise)
    var last: Int64 = 0
    for number in 0..<Int(seconds * rate) {
      let time = Double(number) / rate
      // Slow rotations and accelerations of a drive, in steps.
      let way = [
        200 * sine(0.3 * time), 150 * sine(0.2 * time + 1), 2048, 60 * sine(0.5 * time),
        40 * sine(0.4 * time),
        300 * sine(0.1 * time),
      ]
      let values = way.map { Int64(($0 + noise * self.random.nextNormal()).rounded()) }
      let micros = max(last + 1, Int64(time * 1e6 + jitter * self.random.nextNormal()) + 5_000_000)
      last = micros
      raw.append(values)
      let (force, rate) = (Self.steps.force, Self.steps.rate)
      scans.append(
        InertialScan(
          timestamp: Timestamp(nanoseconds: 1000 * micros),
          specificForce: Vector3(Double(values[0]), Double(values[1]), Double(values[2])) * force,
          rotationRate: Vector3(Double(values[3]), Double(values[4]), Double(values[5])) * rate))
    }
  }

  /// A smooth approximation of the sine by a cubic polynomial.
  private func sine(_ x: Double) -> Double {
    let turn = (x / (2 * .pi)) - (x / (2 * .pi)).rounded()
    return 16 * turn * (0.5 - abs(turn))
  }

  /// The raw sensor values of a scan.
  static func raw(_ scan: InertialScan) -> [Int64] {
    let (force, rate) = (scan.specificForce ?? .zero, scan.rotationRate ?? .zero)
    return (0..<3).map { Int64((force[$0] / steps.force).rounded()) }
      + (0..<3).map { Int64((rate[$0] / steps.rate).rounded()) }
  }
}
