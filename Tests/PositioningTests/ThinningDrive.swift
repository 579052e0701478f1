import Foundation
import Positioning
import Simulation
import Spatial

/// Drives that are difficult to thin, with receiver noise of any size and correlation.
enum ThinningDrive {
  enum Kind: String, CaseIterable {
    case town, zigzag, circles, gapsAndJumps, parked, onFoot
  }

  static func fixes(_ kind: Kind, seed: UInt64, count: Int, noise known: Double? = nil) -> [Location] {
    var random = SeededGenerator(seed: seed)
    func draw(_ low: Double, _ high: Double) -> Double { low + (high - low) * random.nextUniform() }
    let plane = PlaneTrack(origin: Coordinate(latitude: draw(-60, 60), longitude: draw(-180, 180)))
    var (place, wander) = (SIMD2(0.0, 0), SIMD2(0.0, 0))
    var (time, speed, course, turn, acceleration, rest) = (0.0, 10.0, draw(0, 360), 0.0, 0.0, 0)
    let (noise, memory) = (draw(0, 4), draw(0, 0.99))
    let deviation = known ?? noise
    return (0..<count).map { index in
      var step = 1.0
      switch kind {
      case .town where rest > 0:
        rest -= 1
        speed = 0
      case .town:
        if random.nextUniform() < 0.05 { acceleration = draw(-2, 2) }
        if random.nextUniform() < 0.05 { turn = random.nextUniform() < 0.5 ? 0 : draw(-20, 20) }
        speed = min(30, max(0, speed + acceleration))
        if random.nextUniform() < 0.004 { (rest, acceleration) = (Int(draw(20, 1500)), 1.5) }
      case .zigzag:
        if index % 7 == 0 { (course, speed) = (draw(0, 360), draw(2, 30)) }
      case .circles:
        (turn, speed) = (6, 12)
        if random.nextUniform() < 0.01 { course = draw(0, 360) }
      case .gapsAndJumps:
        if random.nextUniform() < 0.03 { step = draw(2, 120) }
        if random.nextUniform() < 0.01 { place += SIMD2(draw(-500, 500), draw(-500, 500)) }
        if random.nextUniform() < 0.1 { (turn, speed) = (draw(-10, 10), draw(0, 30)) }
      case .parked:
        speed = index % 1500 < 1300 ? 0 : 8
        if index % 1500 == 1301 { course = draw(0, 360) }
      case .onFoot:
        course += 15 * random.nextNormal()
        speed = 1.4
      }
      course += turn * step
      place += speed * step * SIMD2(sin(course * .pi / 180), cos(course * .pi / 180))
      time += step
      wander =
        memory * wander
        + (1 - memory * memory).squareRoot() * deviation * SIMD2(random.nextNormal(), random.nextNormal())
      return plane.location(time, place.x + wander.x, place.y + wander.y)
    }
  }
}
