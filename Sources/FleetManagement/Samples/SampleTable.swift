package import Spatial
package import Telemetry

/// Samples as rows of a sensor recording in CSV, one for each time, independent of the pieces in which they
/// arrived.
package struct SampleTable {
  package let kinds: [SamplePiece.Kind]
  /// The time at which the column `t` is 0, in µs since 1970; nil before the first piece.
  package private(set) var origin: Int64?
  /// The time of the last written row in µs since 1970; nil without one.
  package private(set) var last: Int64?
  package private(set) var rowCount = 0
  /// The number of samples that arrived after a later row was written.
  package private(set) var lateCount = 0
  /// The samples that are not written yet, by their time in µs since 1970.
  private var waiting: [Int64: [SamplePiece.Kind: [Int64]]] = [:]

  /// Creates a table.
  ///
  /// - Parameters:
  ///   - origin: the time at which `t` is 0; nil for the start of the first piece.
  ///   - last: the time of the last row that is already written.
  package init(kinds: some Collection<SamplePiece.Kind>, origin: UTCTime? = nil, last: Int64? = nil) {
    self.kinds = SamplePiece.Kind.allCases.filter(kinds.contains)
    self.origin = origin.map { $0.nanoseconds / 1000 }
    self.last = last
  }

  /// The header row.
  package var header: String { (["t"] + kinds.flatMap(\.columns)).joined(separator: ",") }

  /// The text between the source and the origin in the first line of a file.
  package static let separator = "; t 0 at "

  /// Returns the lines before the first row: source and header.
  /// - Parameter origin: the time at which the column `t` is 0.
  package static func head(_ title: String, at origin: UTCTime, header: String) -> String {
    "# \(title)\(separator)\(origin.rfc3339)\n\(header)\n"
  }

  package mutating func add(_ piece: SamplePiece) {
    guard piece.count > 0 else { return }
    let start = piece.start.nanoseconds / 1000
    origin = origin ?? start
    for series in piece.series where kinds.contains(series.kind) {
      for (index, time) in series.times.enumerated() {
        waiting[start &+ time, default: [:]][series.kind] = series.values.map { $0[index] }
      }
    }
  }

  /// Removes and returns the complete rows.
  /// - Parameter seconds: rows that are newer than this, relative to the newest one, are held back, because
  ///   samples of other sensors can follow.
  package mutating func rows(holdingBack seconds: Double = 0) -> String {
    guard let origin, let newest = waiting.keys.max() else { return "" }
    let limit = newest &- Int64(seconds * 1e6)
    var text = ""
    for time in waiting.keys.filter({ $0 <= limit }).sorted() {
      let row = waiting.removeValue(forKey: time) ?? [:]
      if let last, time <= last {
        lateCount += 1
        continue
      }
      text.append(fixed: time &- origin, decimals: 6)
      for kind in kinds {
        for column in kind.columns.indices {
          text += ","
          if let values = row[kind] { text.append(fixed: values[column], decimals: kind.decimals) }
        }
      }
      text += "\n"
      last = time
      rowCount += 1
    }
    return text
  }
}

extension String {
  /// Appends a fixed-point number: `number` divided by ten to the power of `decimals`.
  fileprivate mutating func append(fixed number: Int64, decimals: Int) {
    let digits = String(number.magnitude)
    let padded = String(repeating: "0", count: max(0, decimals + 1 - digits.count)) + digits
    if number < 0 { self += "-" }
    self += padded.dropLast(decimals)
    if decimals > 0 { self += "." + padded.suffix(decimals) }
  }
}
