import Foundation
import Positioning

extension Location {
  /// Metres per second east and north; zero when the receiver did not say.
  var velocity: SIMD2<Double> {
    guard let speed, let course else { return .zero }
    let angle = course * .pi / 180
    return speed * SIMD2(sin(angle), cos(angle))
  }
}
