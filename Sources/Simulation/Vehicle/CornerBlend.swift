internal import Glibc

/// The curve of a vehicle around a corner. The curvature rises smoothly, stays constant and falls smoothly,
/// so that steering angle, yaw rate and lateral acceleration never jump.
///
/// The ramps are quintic smoothsteps, so the curvature is twice continuously differentiable. The heading is
/// their integral in closed form, the position the integral of the heading by Gauss-Legendre quadrature.
struct CornerBlend: Sendable {
  /// Angle in rad, positive to the left.
  let turn: Double
  /// Length of the curve in m.
  let length: Double

  /// The length of each ramp as a share of the curve's length.
  private static let ramp = 0.35

  /// Creates a curve with a turn angle and a minimum radius (m), shortened if the distance from the corner to
  /// its ends exceeds `reach` (m).
  init(turn: Double, radius: Double, reach: Double) {
    let unit = CornerBlend(turn: turn, length: 1)
    let wanted = turn == 0 ? 0 : abs(turn) * radius / (1 - Self.ramp)
    self.init(turn: turn, length: min(wanted, reach / unit.tangentLength))
  }

  private init(turn: Double, length: Double) {
    self.turn = turn
    self.length = length
  }

  /// The distance in m from the corner to either end of the curve. By symmetry, the chord meets both tangents
  /// at half the turn angle.
  var tangentLength: Double {
    let chord = offset(at: length)
    return (chord.x * chord.x + chord.y * chord.y).squareRoot() / 2 / cos(turn / 2)
  }

  /// The minimum radius in m; infinite without a turn.
  var radius: Double { Self.radius(turn: turn, length: length) }

  static func radius(turn: Double, length: Double) -> Double {
    turn == 0 ? .infinity : length * (1 - ramp) / abs(turn)
  }

  /// Returns the heading relative to the start (rad), the curvature (1/m) and its derivative along the curve
  /// (1/m²).
  func shape(at distance: Double) -> (heading: Double, curvature: Double, curvatureChange: Double) {
    guard length > 0 else { return (0, 0, 0) }
    let u = max(0, min(1, distance / length))
    let r = Self.ramp
    let peak = turn / (length * (1 - r))
    if u < r {
      let x = u / r
      return (
        turn * r * Self.stepIntegral(x) / (1 - r), peak * Self.step(x),
        peak * Self.stepSlope(x) / (r * length)
      )
    }
    if u > 1 - r {
      let x = (1 - u) / r
      return (
        turn * (1 - r * Self.stepIntegral(x) / (1 - r)), peak * Self.step(x),
        -peak * Self.stepSlope(x) / (r * length)
      )
    }
    return (turn * (u - r / 2) / (1 - r), peak, 0)
  }

  /// Returns the position in m ahead (x) and to the left (y) of the start, whose heading is along x.
  func offset(at distance: Double) -> SIMD2<Double> {
    guard distance > 0, length > 0 else { return .zero }
    let panels = max(1, Int((distance / length * 12).rounded(.up)))
    let half = distance / Double(panels) / 2
    var sum = SIMD2<Double>.zero
    for panel in 0..<panels {
      let middle = Double(2 * panel + 1) * half
      for (node, weight) in Self.quadrature {
        let heading = shape(at: middle + node * half).heading
        sum += weight * half * SIMD2(cos(heading), sin(heading))
      }
    }
    return sum
  }

  private static let quadrature: [(node: Double, weight: Double)] = [
    (0, 0.568_888_888_888_888_9),
    (-0.538_469_310_105_683_1, 0.478_628_670_499_366_5), (0.538_469_310_105_683_1, 0.478_628_670_499_366_5),
    (-0.906_179_845_938_664_0, 0.236_926_885_056_189_1), (0.906_179_845_938_664_0, 0.236_926_885_056_189_1),
  ]

  private static func step(_ x: Double) -> Double { x * x * x * (10 + x * (6 * x - 15)) }
  private static func stepSlope(_ x: Double) -> Double { 30 * x * x * (1 - x) * (1 - x) }
  private static func stepIntegral(_ x: Double) -> Double { x * x * x * x * (2.5 + x * (x - 3)) }
}
