import Foundation
import Spatial

/// A trial of the BROAD benchmark, or a part of it: sensor data and reference orientation.
struct BroadRecording {
  struct Row {
    /// Specific force in m/s², rotation rate in rad/s and magnetic field in µT.
    var force: Vector3
    var rate: Vector3
    var field: Vector3
    /// Rotation from the device to east-north-up; nil if the optical tracking was lost.
    var reference: Quaternion?
    var isMoving: Bool
  }

  var rows: [Row]
  static let hertz = 2000.0 / 7

  /// Reads 14 little-endian float32 per row: force, rate, field, reference quaternion, movement flag.
  init(contentsOf path: String) throws {
    let data = try Data(contentsOf: URL(fileURLWithPath: path))
    let rowLength = 14 * MemoryLayout<Float>.size
    rows = data.withUnsafeBytes { bytes in
      (0..<data.count / rowLength).map { row in
        func value(_ column: Int) -> Double {
          let bits = bytes.loadUnaligned(fromByteOffset: row * rowLength + column * 4, as: UInt32.self)
          return Double(Float(bitPattern: UInt32(littleEndian: bits)))
        }
        func vector(_ column: Int) -> Vector3 {
          Vector3(value(column), value(column + 1), value(column + 2))
        }
        let reference = Quaternion(w: value(9), x: value(10), y: value(11), z: value(12))
        return Row(
          force: vector(0), rate: vector(3), field: vector(6),
          reference: reference.isFinite ? reference : nil, isMoving: value(13) > 0.5)
      }
    }
  }

  var duration: Double { Double(rows.count) / Self.hertz }

  /// Crops to `length` seconds, of which at most `rest` seconds precede the movement.
  mutating func crop(rest: Double, length: Double) {
    let movement = rows.firstIndex(where: \.isMoving) ?? 0
    let start = max(0, movement - Int(rest * Self.hertz))
    rows = Array(rows[start..<min(rows.count, start + Int(length * Self.hertz))])
  }

  /// Input for the rig.
  var csv: String {
    var text = "t,ax,ay,az,gx,gy,gz,mx,my,mz\n"
    for (index, row) in rows.enumerated() {
      let (a, g, m) = (row.force, row.rate, row.field)
      let cells = [Double(index) / Self.hertz, a.x, a.y, a.z, g.x, g.y, g.z, m.x, m.y, m.z]
      text += cells.map { "\($0)" }.joined(separator: ",") + "\n"
    }
    return text
  }

  /// RMS error in degrees of attitudes, one per row, over moving rows with a reference; nil counts as identity, as in the attitude
  /// benchmark.
  func error(of attitudes: [Quaternion?]) -> Double {
    var sum = 0.0
    var count = 0.0
    for (row, attitude) in zip(rows, attitudes) {
      guard row.isMoving, let reference = row.reference else { continue }
      let angle = ((attitude ?? .identity) * reference.conjugate).angle * 180 / .pi
      sum += angle * angle
      count += 1
    }
    return (sum / count).squareRoot()
  }
}
