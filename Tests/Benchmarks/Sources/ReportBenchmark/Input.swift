import Foundation
import Positioning
import Simulation
import Spatial

/// A recorded drive as reported by other kinds of receivers.
enum Input: String, CaseIterable {
  /// Unchanged.
  case recorded
  /// Velocities derived from successive positions, like those of many receivers.
  case derived
  /// Velocities with white noise of 0.6 m/s on each axis.
  case noisy
  /// Positions with white noise of 0.6 m on each axis, and velocities derived from them.
  case noisyDerived = "noisy-derived"
  /// A stop of one to twenty minutes whenever the vehicle is at rest, at most every two minutes, with positions that drift by a metre.
  case stops

  /// Standard deviation on each axis, m/s and m.
  private static let noise = 0.6
  /// Longest interval in s over which a velocity is derived.
  private static let longestStep = 5.0

  /// - Parameter seed: seed of the noise; equal seeds yield equal drives.
  func track(_ recorded: [Location], seed: UInt64) -> [Location] {
    var random = SeededGenerator(seed: seed)
    switch self {
    case .recorded: return recorded
    case .derived: return Self.derived(recorded)
    case .noisy:
      return recorded.map { fix in
        let velocity = fix.velocity + Self.noise * SIMD2(random.nextNormal(), random.nextNormal())
        return fix.speed == nil ? fix : Self.moving(fix, at: velocity)
      }
    case .noisyDerived:
      return Self.derived(
        recorded.map { Self.moved($0, by: Self.noise * SIMD2(random.nextNormal(), random.nextNormal())) })
    case .stops: return Self.withStops(recorded, &random)
    }
  }

  private static func derived(_ track: [Location]) -> [Location] {
    zip(track, [track[0]] + track).map { fix, before in
      let step = fix.timestamp.seconds(since: before.timestamp)
      guard step > 0, step <= longestStep else { return moving(fix, at: .zero) }
      return moving(fix, at: LocalFrame(origin: before.coordinate).offset(of: fix.coordinate) / step)
    }
  }

  private static func withStops(_ track: [Location], _ random: inout SeededGenerator) -> [Location] {
    var result: [Location] = []
    var later = 0.0
    var lastStop = track[0].timestamp
    for fix in track {
      var shifted = fix
      shifted.timestamp = fix.timestamp.advanced(bySeconds: later)
      result.append(shifted)
      guard let speed = fix.speed, speed < 0.5, fix.timestamp.seconds(since: lastStop) > 120 else { continue }
      lastStop = fix.timestamp
      let length = (60 + 1140 * random.nextUniform()).rounded()
      var wander = SIMD2(0.0, 0)
      for second in 1...Int(length) {
        // Standard deviation of one metre, correlation time of less than a minute.
        wander = 0.98 * wander + 0.2 * SIMD2(random.nextNormal(), random.nextNormal())
        var standing = moving(moved(shifted, by: wander), at: .zero)
        standing.timestamp = shifted.timestamp.advanced(bySeconds: Double(second))
        result.append(standing)
      }
      later += length
    }
    return result
  }

  private static func moved(_ fix: Location, by offset: SIMD2<Double>) -> Location {
    var copy = fix
    copy.coordinate = LocalFrame(origin: fix.coordinate).coordinate(at: offset)
    return copy
  }

  private static func moving(_ fix: Location, at velocity: SIMD2<Double>) -> Location {
    var copy = fix
    copy.speed = (velocity * velocity).sum().squareRoot()
    copy.course = normalizedDegrees(atan2(velocity.x, velocity.y) * 180 / .pi)
    return copy
  }
}
