import Spatial
import Testing

/// A recording at 100 Hz with unique rows, in which each value is an integer multiple of the rig's raw step.
struct RampRecording {
  struct Sample {
    var time: Timestamp
    var value: Vector3
  }

  /// The axes of a sensor. Values of the x axes exceed 50, which the rig never reports at rest.
  struct Axes {
    var names: [String]
    var start: Double
    var step: Double

    func value(_ row: Int) -> Vector3 {
      let ramp = start + step * Double(row)
      return Vector3(ramp, -ramp, ramp / 2)
    }
  }

  /// In m/s², rad/s and µT.
  static let force = Axes(names: ["ax", "ay", "az"], start: 51, step: 0.002)
  static let rotation = Axes(names: ["gx", "gy", "gz"], start: 51, step: 0.0002)
  static let field = Axes(names: ["mx", "my", "mz"], start: 51, step: 0.02)

  let rows: Int
  static let hertz = 100

  var csv: String {
    let groups = [Self.force, Self.rotation, Self.field]
    var lines = [(["t"] + groups.flatMap(\.names)).joined(separator: ",")]
    for row in 0..<rows {
      var cells = ["\(Double(row) / Double(Self.hertz))"]
      for group in groups {
        let value = group.value(row)
        cells += [value.x, value.y, value.z].map { "\($0)" }
      }
      lines.append(cells.joined(separator: ","))
    }
    return lines.joined(separator: "\n")
  }

  /// Expects each row exactly once, in order, with its value and its time relative to the first row.
  func expect(_ samples: [Sample], _ axes: Axes, sourceLocation: SourceLocation = #_sourceLocation) {
    let played = samples.filter { $0.value.x > 50 }
    #expect(played.count == rows, "\(axes.names)", sourceLocation: sourceLocation)
    guard let first = played.first else { return }
    var wrongValues: [String] = []
    var wrongTimes: [String] = []
    for (row, sample) in played.prefix(rows).enumerated() {
      let expected = axes.value(row)
      // The value is a raw value times a scale: tolerates rounding of a few double operations.
      if (sample.value - expected).length > 1e-12 * expected.length {
        wrongValues.append("row \(row): \(sample.value) for \(expected)")
      }
      let nanoseconds = sample.time.nanoseconds - first.time.nanoseconds
      if nanoseconds != Int64(row) * 1_000_000_000 / Int64(Self.hertz) {
        wrongTimes.append("row \(row): \(nanoseconds) ns after the first")
      }
    }
    #expect(
      wrongValues.isEmpty, "\(wrongValues.count): \(wrongValues.prefix(3))", sourceLocation: sourceLocation)
    #expect(
      wrongTimes.isEmpty, "\(wrongTimes.count): \(wrongTimes.prefix(3))", sourceLocation: sourceLocation)
  }
}
