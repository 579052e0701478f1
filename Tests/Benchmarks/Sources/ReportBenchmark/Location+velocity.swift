import Foundation
import Positioning

extension Location {
  /// Velocity in m/s east and north; zero if speed or course is unknown.
  var velocity: SIMD2<Double> {
    guard let speed, let course else { return .zero }
    let angle = course * .pi / 180
    return speed * SIMD2(sin(angle), cos(angle))
  }
}
