internal import Glibc
internal import Spatial

/// The most plausible path of an unobserved vehicle between two positions.
///
/// The path is the cubic Hermite curve with the velocities at both ends. Of all paths between the two states
/// it has the least acceleration, and it is the most likely one if accelerations are white noise (G. Wahba,
/// "Spline Models for Observational Data", 1990, chapter 1). It has no fitted parameters. The result is at
/// least the straight line. It is at most the distance at the mean of both speeds, if that is longer than the
/// line.
///
/// A vehicle at rest at one end can have been at rest for most of the time, for example if the agent slept
/// during its start. Least acceleration from rest uses the whole time. But if the gap is longer than three
/// times the straight line at the speed of the other end, the curve would first drive backwards. In this case
/// the vehicle is assumed to have rested for the excess time.
///
/// The error was evaluated over every window of four drives (city, suburb, motorway; reference: SPAN, RTK and
/// a receiver without its jump). These are root mean square errors in per cent of the path by length of the
/// gap, with those of the straight line in parentheses. 10 s: 1 to 3 (2 to 9); 20 s: 2 to 10 (5 to 19); 40 s:
/// 6 to 18 (9 to 30); 80 s: 9 to 27 (15 to 43); 160 s: 18 to 51 (15 to 64). `journey-benchmark --gaps` prints
/// these values. The assumption of rest reduces the error in gaps up to 40 s by up to half a percentage
/// point. In a town with its short stops, it increases the error in gaps of 80 and 160 s by two points.
struct PlausibleDistance: Hashable, Sendable {
  /// The most plausible length in m.
  var length: Double
  /// The length of the straight line in m, which is the minimum.
  var least: Double

  /// Maximum time in s for which the speeds at the ends influence the path. Drives without a long stop favour
  /// larger values: with 60 s, the error in gaps of 160 s is 14 to 58 %, with 160 s it is 13 to 43 %.
  /// However, a vehicle that was parked overnight must not count as driving all the time.
  static let longestMemory = 120.0
  /// The speed in m/s below which a vehicle counts as at rest, because receivers never report exactly zero.
  private static let standing = 0.5
  /// The number of chords that approximate the curve; with it, the error of a bend is below 0.1 %.
  private static let pieces = 24

  /// Computes the path.
  ///
  /// - Parameters:
  ///   - chord: metres east and north from the first to the second position.
  ///   - before: velocity at the first position in m/s east and north; nil if unknown.
  ///   - after: velocity at the second position; nil if unknown.
  ///   - seconds: the time between the two; nil if unknown, in which case the path is the straight line.
  init(chord: SIMD2<Double>, before: SIMD2<Double>?, after: SIMD2<Double>?, seconds: Double?) {
    least = chord.magnitude
    guard let seconds, seconds > 0, let before, let after else {
      length = least
      return
    }
    var time = min(seconds, Self.longestMemory)
    let (slower, faster) = (min(before.magnitude, after.magnitude), max(before.magnitude, after.magnitude))
    if slower < Self.standing, faster > Self.standing { time = min(time, 3 * least / faster) }
    let (first, last) = (before * time, after * time)
    var (sum, place) = (0.0, SIMD2(0.0, 0))
    for piece in 1...Self.pieces {
      let u = Double(piece) / Double(Self.pieces)
      let (square, cube) = (u * u, u * u * u)
      let next =
        (cube - 2 * square + u) * first + (3 * square - 2 * cube) * chord + (cube - square) * last
      sum += (next - place).magnitude
      place = next
    }
    let most = max(least, (before.magnitude + after.magnitude) / 2 * seconds)
    length = min(max(sum, least), most)
  }
}

extension SIMD2<Double> {
  var magnitude: Double { hypot(x, y) }
}
