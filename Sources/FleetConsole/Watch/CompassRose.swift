internal import Glibc
internal import Spatial

/// A compass drawn in characters: the needle is where the vehicle's front points, the dot where it drives to.
enum CompassRose {
  static let columns = 13
  static let rows = 7

  /// - Parameters:
  ///   - heading: degrees clockwise from north; nil draws no needle.
  ///   - course: degrees clockwise from north; nil draws no dot.
  static func lines(heading: Double?, course: Double?) -> [StyledText] {
    var canvas = BrailleCanvas(columns: columns, rows: rows)
    let center = SIMD2(Double(canvas.width) / 2 - 0.5, Double(canvas.height) / 2 - 0.5)
    canvas.ellipse(center: center, radius: SIMD2(10, 10), style: .dim)
    func place(_ degrees: Double, _ radius: Double) -> SIMD2<Double> {
      center + radius * SIMD2(sin(degrees.radians), -cos(degrees.radians))
    }
    if let heading, heading.isFinite {
      let style = TextStyle(.green, bold: true)
      canvas.line(from: place(heading + 180, 4), to: place(heading, 9), style: style)
      canvas.line(from: place(heading, 9), to: place(heading + 25, 6), style: style)
      canvas.line(from: place(heading, 9), to: place(heading - 25, 6), style: style)
    }
    if let course, course.isFinite {
      let point = place(course, 9)
      canvas.put(
        StyledText("•", style: TextStyle(.cyan, bold: true)), column: Int(point.x / 2), row: Int(point.y / 4))
    }
    canvas.put(StyledText("N", style: .bold), column: columns / 2, row: 0)
    canvas.put(StyledText("E", style: .dim), column: columns - 1, row: rows / 2)
    canvas.put(StyledText("S", style: .dim), column: columns / 2, row: rows - 1)
    canvas.put(StyledText("W", style: .dim), column: 0, row: rows / 2)
    return (0..<rows).map { canvas[row: $0] }
  }
}
