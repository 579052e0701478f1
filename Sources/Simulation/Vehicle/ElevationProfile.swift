internal import Glibc

/// Gentle hills along a loop: a few sine waves whose lengths divide the loop's, so that it closes.
struct ElevationProfile: Sendable {
  private struct Wave: Sendable {
    /// rad/m.
    var number: Double
    /// m.
    var amplitude: Double
    /// rad.
    var phase: Double
  }

  private let waves: [Wave]

  /// Rough wave lengths of hills (m), each with its share of the steepest grade.
  private static let shape: [(length: Double, share: Double)] = [(2600, 0.45), (900, 0.35), (330, 0.2)]

  /// - Parameters:
  ///   - length: the loop's, m.
  ///   - steepestGrade: a bound of the slope, metres of height per metre.
  init(length: Double, steepestGrade: Double, generator: inout SeededGenerator) {
    waves = Self.shape.map { wave in
      let count = max(1, (length / wave.length).rounded())
      let number = 2 * Double.pi * count / length
      return Wave(
        number: number, amplitude: steepestGrade * wave.share / number,
        phase: 2 * .pi * generator.nextUniform())
    }
  }

  /// Height (m), its slope (m/m) and the slope's change along the loop (1/m).
  func shape(at distance: Double) -> (height: Double, slope: Double, slopeChange: Double) {
    var (height, slope, change) = (0.0, 0.0, 0.0)
    for wave in waves {
      let angle = wave.number * distance + wave.phase
      let (s, c) = (sin(angle), cos(angle))
      height += wave.amplitude * s
      slope += wave.amplitude * wave.number * c
      change -= wave.amplitude * wave.number * wave.number * s
    }
    return (height, slope, change)
  }
}
