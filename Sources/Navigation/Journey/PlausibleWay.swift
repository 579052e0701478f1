internal import Glibc
internal import Spatial

/// The way between two places through which nobody has watched the vehicle.
///
/// The cubic Hermite curve with the velocities at both ends: of all ways between the two states it needs the least
/// acceleration, and is the likeliest where accelerations are white noise (G. Wahba, "Spline Models for Observational Data",
/// 1990, chapter 1). Nothing of it is fitted. It is at least the straight line, and at most the mean of both speeds over the gap where
/// that is longer than the line.
///
/// A vehicle that stood at one end may have stood for most of the time, as one whose start was slept through. From rest the least acceleration
/// needs all the time, but beyond three times the straight line at the speed of the other end the curve would drive back first: from there
/// on the vehicle is taken to have stood.
///
/// Root mean square of its error in per cent of the way, on every window of four drives (city, suburb, motorway; SPAN, RTK and a
/// receiver as truth, but for its jump), and of the straight line's: 10 s 1 to 3 (2 to 9), 20 s 2 to 10 (5 to 19), 40 s 6 to 18 (9 to 30),
/// 80 s 9 to 27 (15 to 43); 160 s 18 to 51 (15 to 64). `journey-benchmark --gaps` prints them. That one who stood has stood on makes gaps up to
/// 40 s better by up to half a point, and those of 80 and 160 s in a town, with its short stops, worse by two.
struct PlausibleWay: Hashable, Sendable {
  /// Metres that are most plausible, and on the straight line.
  var length: Double
  var least: Double

  /// s for which a speed says something of the way. On drives without a long stop more is better (gaps of 160 s: 60 s 14 to 58 %,
  /// 160 s 13 to 43 %), but a vehicle that was parked unseen for a night is not to be taken for one that drove all the time.
  static let longestMemory = 120.0
  /// m/s below which a vehicle stands, by receivers whose speed is never quite nothing.
  private static let standing = 0.5
  /// Pieces of the curve whose chords are added: their sum is short by less than 0.1 % of a bend's.
  private static let pieces = 24

  /// - Parameters:
  ///   - chord: metres east and north from the first place to the second.
  ///   - before: m/s east and north at the first place; nil where that is not known.
  ///   - after: the same at the second place.
  ///   - seconds: between the two; nil where that is not known, so that the straight line is all there is.
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
