internal import Glibc

/// A uniform motion in the plane: position in m and velocity in m per scaled second.
struct UniformMotion: Hashable, Sendable {
  var position: SIMD2<Double>
  var velocity: SIMD2<Double>

  /// Returns the offset in m from a point, multiplied by the point's scale.
  func residual(_ point: TimedPoint) -> SIMD2<Double> {
    point.scale * (position + velocity * point.time - point.position)
  }

  fileprivate func moved(by step: [Double], times factor: Double) -> UniformMotion {
    UniformMotion(
      position: position + factor * SIMD2(step[0], step[1]),
      velocity: velocity + factor * SIMD2(step[2], step[3]))
  }
}

/// A point of a track in the plane.
struct TimedPoint: Hashable, Sendable {
  var time: Double
  var position: SIMD2<Double>
  /// Ratio of the line's bound to that of the point, at least 1.
  var scale = 1.0
}

/// An expected position of the vehicle with its weight.
struct ExpectedPoint: Hashable, Sendable {
  var point: TimedPoint
  /// Inverse of the variance, relative to the square of the bound.
  var weight: Double
}

/// Uniform motions that stay within a bound of every point.
///
/// They form a convex set: an intersection of second-order cones in position and velocity. Both queries use
/// an interior-point method with a logarithmic barrier (S. Boyd, L. Vandenberghe, "Convex Optimization",
/// 2004, chapter 11), whose Newton steps have four or five unknowns.
struct BoundedLine {
  /// Bound in m.
  var bound: Double

  private static let newtonSteps = 30

  /// Returns a motion strictly within the bound of every point; nil if there is none. The search begins at
  /// `start`.
  func feasible(_ points: ArraySlice<TimedPoint>, from start: UniformMotion) -> UniformMotion? {
    var motion = start
    var ceiling = worst(motion, points)
    let goal = bound * bound * 0.998
    if ceiling < goal { return motion }
    ceiling = ceiling * 1.1 + 1e-6
    var force = 1 / ceiling
    for _ in 0..<16 {
      for _ in 0..<Self.newtonSteps {
        guard let step = ceilingSystem(motion, ceiling, force, points).step() else { break }
        var factor = 1.0
        let value = ceilingValue(motion, ceiling, force, points)
        var candidate = (motion.moved(by: step, times: factor), ceiling + factor * step[4])
        while factor > 1e-9, ceilingValue(candidate.0, candidate.1, force, points) >= value {
          factor /= 2
          candidate = (motion.moved(by: step, times: factor), ceiling + factor * step[4])
        }
        guard factor > 1e-9 else { break }
        let gain = value - ceilingValue(candidate.0, candidate.1, force, points)
        (motion, ceiling) = candidate
        if worst(motion, points) < goal { return motion }
        if gain < 1e-4 { break }
      }
      // On the central path, the ceiling exceeds the lowest possible ceiling by at most `count / force`. If
      // the lowest one exceeds the bound, no motion satisfies it.
      if ceiling - Double(points.count) / force > bound * bound { return nil }
      force *= 6
    }
    return nil
  }

  /// Returns the motion within the bound of every point that is closest to the expected points. The search
  /// begins at a valid motion.
  func nearest(
    to expected: [ExpectedPoint], within points: ArraySlice<TimedPoint>, from start: UniformMotion
  ) -> UniformMotion {
    var motion = start
    var barrier = bound * bound
    for _ in 0..<5 {
      for _ in 0..<Self.newtonSteps {
        let system = nearestSystem(motion, barrier, expected, points)
        guard let step = system.step() else { break }
        let decrement = -zip(step, system.gradient).reduce(0) { $0 + $1.0 * $1.1 }
        let value = nearestValue(motion, barrier, expected, points)
        var factor = 1.0
        while factor > 1e-9,
          nearestValue(motion.moved(by: step, times: factor), barrier, expected, points)
            > value - 1e-4 * factor * decrement
        {
          factor /= 2
        }
        guard factor > 1e-9 else { break }
        motion = motion.moved(by: step, times: factor)
        if decrement < 1e-6 { break }
      }
      barrier /= 5
    }
    return motion
  }

  /// Returns the square of the largest residual.
  private func worst(_ motion: UniformMotion, _ points: ArraySlice<TimedPoint>) -> Double {
    points.reduce(0) { max($0, motion.residual($1).squaredLength) }
  }

  private func ceilingValue(
    _ motion: UniformMotion, _ ceiling: Double, _ force: Double, _ points: ArraySlice<TimedPoint>
  ) -> Double {
    var value = force * ceiling
    for point in points {
      let room = ceiling - motion.residual(point).squaredLength
      guard room > 0 else { return .infinity }
      value -= log(room)
    }
    return value
  }

  private func ceilingSystem(
    _ motion: UniformMotion, _ ceiling: Double, _ force: Double, _ points: ArraySlice<TimedPoint>
  ) -> SymmetricSystem {
    var system = SymmetricSystem(size: 5)
    system.gradient[4] = force
    for point in points {
      let r = motion.residual(point)
      let inverse = 1 / (ceiling - r.squaredLength)
      let g = 2 * inverse * point.scale * r
      let own = 2 * inverse * point.scale * point.scale
      system.add(
        at: point.time, gradient: g, curvature: (own + g.x * g.x, own + g.y * g.y, g.x * g.y))
      system.gradient[4] -= inverse
      system[4, 0] -= g.x * inverse
      system[4, 1] -= g.y * inverse
      system[4, 2] -= g.x * point.time * inverse
      system[4, 3] -= g.y * point.time * inverse
      system[4, 4] += inverse * inverse
    }
    return system
  }

  private func nearestValue(
    _ motion: UniformMotion, _ barrier: Double, _ expected: [ExpectedPoint],
    _ points: ArraySlice<TimedPoint>
  ) -> Double {
    var value = 0.0
    for point in points {
      let room = bound * bound - motion.residual(point).squaredLength
      guard room > 0 else { return .infinity }
      value -= barrier * log(room)
    }
    for goal in expected { value += 0.5 * goal.weight * motion.residual(goal.point).squaredLength }
    return value
  }

  private func nearestSystem(
    _ motion: UniformMotion, _ barrier: Double, _ expected: [ExpectedPoint],
    _ points: ArraySlice<TimedPoint>
  ) -> SymmetricSystem {
    var system = SymmetricSystem(size: 4)
    for point in points {
      let r = motion.residual(point)
      let inverse = 1 / (bound * bound - r.squaredLength)
      let g = 2 * inverse * point.scale * r
      let own = 2 * inverse * point.scale * point.scale
      system.add(
        at: point.time, gradient: barrier * g,
        curvature: (barrier * (own + g.x * g.x), barrier * (own + g.y * g.y), barrier * g.x * g.y))
    }
    for goal in expected {
      system.add(
        at: goal.point.time, gradient: goal.weight * motion.residual(goal.point),
        curvature: (goal.weight, goal.weight, 0))
    }
    return system
  }
}

extension SIMD2 where Scalar == Double {
  var squaredLength: Double { x * x + y * y }
}
