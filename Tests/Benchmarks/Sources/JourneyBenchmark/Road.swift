import Foundation
import Simulation
import Spatial

/// A road profile by ISO 8608 under a vehicle on four springs, and the resulting motion of the body.
///
/// Each wheel has a quarter of the body (380 kg, 40 kg unsprung, 20 kN/m, 1.5 kNs/m, tyre 190 kN/m). The profiles of both tracks differ at
/// short wavelengths, and the rear wheels follow the front ones.
struct Road {
  enum Class: String {
    case c, d

    /// Spectral density of the displacement in m³ at 0.1 cycles per metre, geometric mean of the class.
    var density: Double { self == .c ? 256e-6 : 1024e-6 }
  }

  private struct Corner {
    var (body, wheel, ground) = (0.0, 0.0, 0.0)
    var (bodySpeed, wheelSpeed) = (0.0, 0.0)
    var force = 0.0

    mutating func advance(ground speed: Double, seconds: Double) {
      // The mean height of the road has no effect: frequencies below 0.01 Hz are removed.
      ground += (speed - 0.06 * ground) * seconds
      let spring = 20e3 * (wheel - body) + 1.5e3 * (wheelSpeed - bodySpeed)
      let tyre = 190e3 * (ground - wheel)
      force = spring / 380
      bodySpeed += force * seconds
      wheelSpeed += (tyre - spring) / 40 * seconds
      body += bodySpeed * seconds
      wheel += wheelSpeed * seconds
    }
  }

  private static let (track, wheelbase, height) = (1.5, 2.7, 0.5)
  /// Metres: bumps longer than 2π times this are the same under both tracks.
  private static let coherence = 1.5
  /// Simulation rate, Hz.
  private static let rate = 1000.0

  private let density: Double
  private var corners = [Corner](repeating: Corner(), count: 4)
  /// Distance in m since the last step, and the profile under the front wheels in steps of 5 cm.
  private var way = 0.0
  private var met = [SIMD2<Double>](repeating: .zero, count: 64)
  private var step = 0
  private var rates = SIMD2(0.0, 0)
  private var held = SIMD2(0.0, 0)
  /// Height in m of the left track above the mean of both.
  private var apartness = 0.0

  /// Height in m and vertical speed in m/s of the body, in addition to the motion of the vehicle.
  var heave: (height: Double, speed: Double) {
    (corners.reduce(0) { $0 + $1.body } / 4, corners.reduce(0) { $0 + $1.bodySpeed } / 4)
  }

  init(_ kind: Class) { density = kind.density }

  /// Advances the simulation by 0.01 s.
  /// - Returns: m/s², rad and rad/s in the vehicle's frame, in addition to the motion of the vehicle.
  mutating func advance(
    speed: Double, random: inout SeededGenerator
  ) -> (force: Vector3, lean: Vector3, rate: Vector3) {
    let seconds = 1 / Self.rate
    var heave = 0.0
    for _ in 0..<10 {
      // For a displacement G(n) = G(n0) (n / n0)^-2, the velocity is white noise: (2 pi n0)^2 G(n0) v.
      let power = pow(2 * Double.pi * 0.1, 2) * density * speed
      let deviation = (power * Self.rate / 2).squareRoot()
      // Half of it is common to both tracks, and so are all wavelengths above a few metres.
      let common = deviation / 2.0.squareRoot() * random.nextNormal()
      let apart = deviation / 2.0.squareRoot() * random.nextNormal() - speed / Self.coherence * apartness
      apartness += apart * seconds
      let fresh = SIMD2(common + apart, common - apart)
      way += speed * seconds
      held += fresh * seconds
      while way > 0.05 {
        way -= 0.05
        step += 1
        met[step % met.count] = held
        held = .zero
      }
      let behind = met[(step + met.count - Int(Self.wheelbase / 0.05)) % met.count]
      // The profile of 5 cm is distributed over the time that the rear wheels need for it.
      let rear = speed > 0.1 ? behind * (speed / 0.05) : .zero
      corners[0].advance(ground: fresh.x, seconds: seconds)
      corners[1].advance(ground: fresh.y, seconds: seconds)
      corners[2].advance(ground: rear.x, seconds: seconds)
      corners[3].advance(ground: rear.y, seconds: seconds)
      heave += corners.reduce(0) { $0 + $1.force } / 40
    }
    func mean(_ a: Int, _ b: Int, _ value: KeyPath<Corner, Double>) -> Double {
      (corners[a][keyPath: value] + corners[b][keyPath: value]) / 2
    }
    func about(_ value: KeyPath<Corner, Double>) -> SIMD2<Double> {
      // Nose up about the right axis; right side down about the forward axis.
      SIMD2(
        (mean(0, 1, value) - mean(2, 3, value)) / Self.wheelbase,
        (mean(0, 2, value) - mean(1, 3, value)) / Self.track)
    }
    let (lean, rate) = (about(\.body), about(\.bodySpeed))
    let change = (rate - rates) * 100
    rates = rate
    // The device is above the axes of roll and pitch.
    return (
      Vector3(change.y * Self.height, -change.x * Self.height, heave), Vector3(lean.x, lean.y, 0),
      Vector3(rate.x, rate.y, 0)
    )
  }
}
