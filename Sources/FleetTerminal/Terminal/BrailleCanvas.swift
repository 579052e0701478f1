package import FleetProgram
internal import Glibc

/// A drawing of dots, two by four in each character cell (U+2800 to U+28FF), with text above it.
package struct BrailleCanvas: Sendable {
  /// The size in character cells.
  package let columns: Int
  package let rows: Int
  private var dots: [UInt8]
  private var cells: [Cell?]
  private var styles: [TextStyle]

  package init(columns: Int, rows: Int) {
    self.columns = max(1, columns)
    self.rows = max(1, rows)
    dots = Array(repeating: 0, count: self.columns * self.rows)
    cells = Array(repeating: nil, count: self.columns * self.rows)
    styles = Array(repeating: .plain, count: self.columns * self.rows)
  }

  /// The size in dots; x to the right, y down.
  package var width: Int { columns * 2 }
  package var height: Int { rows * 4 }

  private static let bits: [[UInt8]] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]]

  package mutating func set(_ x: Int, _ y: Int, style: TextStyle = .plain) {
    guard (0..<width).contains(x), (0..<height).contains(y) else { return }
    let place = (y / 4) * columns + x / 2
    dots[place] |= Self.bits[y % 4][x % 2]
    styles[place] = style
  }

  /// Draws a straight line, clipped to the canvas.
  package mutating func line(from a: SIMD2<Double>, to b: SIMD2<Double>, style: TextStyle = .plain) {
    guard let (a, b) = clipped(a, b) else { return }
    let steps = max(1, Int(max(abs(b.x - a.x), abs(b.y - a.y)).rounded(.up)))
    for step in 0...steps {
      let point = a + (b - a) * (Double(step) / Double(steps))
      set(Int(point.x.rounded()), Int(point.y.rounded()), style: style)
    }
  }

  mutating func ellipse(center: SIMD2<Double>, radius: SIMD2<Double>, style: TextStyle = .plain) {
    let steps = max(8, min(360, Int(4 * max(radius.x, radius.y))))
    for step in 0..<steps {
      let angle = 2 * Double.pi * Double(step) / Double(steps)
      let point = center + radius * SIMD2(sin(angle), -cos(angle))
      guard abs(point.x) < 1e6, abs(point.y) < 1e6 else { continue }
      set(Int(point.x.rounded()), Int(point.y.rounded()), style: style)
    }
  }

  /// Puts text over the dots, starting at a cell and cut at the right edge. Returns false if nothing was put:
  /// outside of the canvas, or with `onlyIfFree` if the text does not fit or covers other text.
  @discardableResult
  package mutating func put(_ text: StyledText, column: Int, row: Int, onlyIfFree: Bool = false) -> Bool {
    guard (0..<rows).contains(row), column >= 0, column < columns else { return false }
    let fitting = text.cells.prefix(columns - column)
    let start = row * columns + column
    if onlyIfFree {
      guard fitting.count == text.cells.count,
        (start..<(start + fitting.count)).allSatisfy({ cells[$0] == nil })
      else { return false }
    }
    for (offset, cell) in fitting.enumerated() { cells[start + offset] = cell }
    return true
  }

  package subscript(row row: Int) -> StyledText {
    StyledText(
      cells: (0..<columns).map { column in
        let place = row * columns + column
        if let cell = cells[place] { return cell }
        guard dots[place] != 0, let scalar = Unicode.Scalar(0x2800 + UInt32(dots[place])) else {
          return .blank
        }
        return Cell(text: String(scalar), style: styles[place], width: 1)
      })
  }

  /// Returns the part of a line on the canvas (Y. Liang, B. Barsky, 1984); nil if there is none.
  private func clipped(
    _ a: SIMD2<Double>, _ b: SIMD2<Double>
  ) -> (SIMD2<Double>, SIMD2<Double>)? {
    guard a.x.isFinite, a.y.isFinite, b.x.isFinite, b.y.isFinite else { return nil }
    let d = b - a
    var (enter, leave) = (0.0, 1.0)
    let edges = [
      (-d.x, a.x), (d.x, Double(width - 1) - a.x), (-d.y, a.y), (d.y, Double(height - 1) - a.y),
    ]
    for (p, q) in edges {
      if p == 0 {
        if q < 0 { return nil }
      } else if p < 0 {
        enter = max(enter, q / p)
      } else {
        leave = min(leave, q / p)
      }
    }
    return enter <= leave ? (a + d * enter, a + d * leave) : nil
  }
}
