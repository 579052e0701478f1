/// The division of lines at the antimeridian, which GeoJSON requires (RFC 7946, section 3.1.9).
package enum Antimeridian {
  /// Returns whether the shorter way between two longitudes in degrees crosses the antimeridian.
  package static func isBetween(_ first: Double, _ second: Double) -> Bool { abs(first - second) > 180 }

  /// Divides a line where it crosses the antimeridian. Each part ends or starts at ±180°.
  /// - Parameters:
  ///   - longitude: the longitude of a point in degrees.
  ///   - interpolated: returns the point between two others; its third parameter is the share of the way, from
  ///     0 to 1. Its longitude is ignored.
  package static func cut<Point>(
    _ line: some Sequence<Point>, _ longitude: WritableKeyPath<Point, Double>,
    interpolated: (Point, Point, Double) -> Point
  ) -> [[Point]] {
    var parts: [[Point]] = []
    var part: [Point] = []
    for point in line {
      let east = point[keyPath: longitude]
      if let last = part.last, isBetween(last[keyPath: longitude], east) {
        let from = last[keyPath: longitude]
        let side = from < 0 ? -180.0 : 180
        let step = east + 2 * side - from
        var crossing = interpolated(last, point, step == 0 ? 0 : (side - from) / step)
        crossing[keyPath: longitude] = side
        if from != side { part.append(crossing) }
        parts.append(part)
        crossing[keyPath: longitude] = -side
        part = east == -side ? [] : [crossing]
      }
      part.append(point)
    }
    parts.append(part)
    return parts
  }
}
