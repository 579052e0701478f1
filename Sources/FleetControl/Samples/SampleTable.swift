internal import Spatial
internal import Telemetry

/// Samples as rows of a sensor recording in CSV, one for each time, whatever piece or series they came in.
struct SampleTable {
  let kinds: [SamplePiece.Kind]
  /// What `t` counts from, µs since 1970.
  private(set) var origin: Int64?
  /// The last row that was written, µs since 1970.
  private(set) var last: Int64?
  private(set) var rowCount = 0
  /// Samples that came after a later one had been written.
  private(set) var lateCount = 0
  /// By µs since 1970.
  private var waiting: [Int64: [SamplePiece.Kind: [Int64]]] = [:]

  /// - Parameters:
  ///   - origin: what `t` counts from; nil is the start of the first piece.
  ///   - last: the last row that is there already.
  init(kinds: some Collection<SamplePiece.Kind>, origin: UTCTime? = nil, last: Int64? = nil) {
    self.kinds = SamplePiece.Kind.allCases.filter(kinds.contains)
    self.origin = origin.map { $0.nanoseconds / 1000 }
    self.last = last
  }

  /// The row that names the columns.
  var header: String { (["t"] + kinds.flatMap(\.columns)).joined(separator: ",") }

  mutating func add(_ piece: SamplePiece) {
    guard piece.count > 0 else { return }
    let start = piece.start.nanoseconds / 1000
    origin = origin ?? start
    for series in piece.series where kinds.contains(series.kind) {
      for (index, time) in series.times.enumerated() {
        waiting[start &+ time, default: [:]][series.kind] = series.values.map { $0[index] }
      }
    }
  }

  /// The rows that are complete, which are forgotten.
  /// - Parameter seconds: the newest are held back, since those of another sensor may be under way.
  mutating func rows(holdingBack seconds: Double = 0) -> String {
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
  /// Appends a whole number of the last decimal.
  fileprivate mutating func append(fixed number: Int64, decimals: Int) {
    let digits = String(number.magnitude)
    let padded = String(repeating: "0", count: max(0, decimals + 1 - digits.count)) + digits
    if number < 0 { self += "-" }
    self += padded.dropLast(decimals)
    if decimals > 0 { self += "." + padded.suffix(decimals) }
  }
}
