public import Sensors
public import Spatial

/// Inertial samples from a table in text, one row for each time.
///
/// The first row names the columns, in any order: `t` (s), `ax` `ay` `az` (m/s², specific force), `gx` `gy` `gz`
/// (rad/s), `mx` `my` `mz` (µT), `pressure` (Pa), `temperature` (°C). An empty field is an absent value. Rows that
/// begin with `#` and empty rows are passed over. `t` is the time on the device's time line as it stands, plus
/// `startingAt`; it must not go back.
///
/// A row is one `InertialScan`; rows are handed over in blocks of at most 20 or 100 ms, the barometer's apart.
public struct CSVSensorRecording: SensorRecording {
  public let name: String
  public let kinds: Set<SensorKind>

  private static let blockCount = 20
  private static let blockSpan: Int64 = 100_000_000

  private var lines: LineReader
  private let columns: CSVColumns
  private let origin: Timestamp
  private var filter = DemandFilter()
  private var lastTimestamp: Timestamp?
  private var blockStart: Timestamp?
  private var ready: [SensorEvent] = []
  private var pending: CSVRow?
  private var isFinished = false

  /// - Throws: `RecordingError` when the file cannot be opened or its header is not one.
  public init(path: String, startingAt: Timestamp = Timestamp(nanoseconds: 0)) throws(RecordingError) {
    name = path
    origin = startingAt
    lines = try LineReader(path: path)
    guard let header = try Self.nextLine(&lines) else {
      throw RecordingError(
        file: path, problem: "is empty", remedy: "give a table whose first row names the columns")
    }
    columns = try CSVColumns(header: header, file: path, line: lines.lineNumber)
    kinds = columns.kinds
  }

  public mutating func setDemand(_ demand: SensorDemand, for kind: SensorKind) {
    filter.setDemand(demand, for: kind)
  }

  /// The next block.
  /// - Throws: `RecordingError` that names the line and the column.
  public mutating func next() throws(RecordingError) -> SensorEvent? {
    while true {
      while let event = ready.popLast() {
        if let rest = filter.admit(event) { return rest }
      }
      if isFinished { return nil }
      try fillBlock()
    }
  }

  /// Reads rows until a block is full; what ends first comes first, which is last in `ready`.
  private mutating func fillBlock() throws(RecordingError) {
    var scans: [InertialScan] = []
    var pressures: [PressureData] = []
    var rows = 0
    while let row = try nextRow() {
      let time = row.timestamp.nanoseconds
      if let start = blockStart, rows >= Self.blockCount || time &- start.nanoseconds >= Self.blockSpan {
        pending = row
        blockStart = nil
        break
      }
      blockStart = blockStart ?? row.timestamp
      rows += 1
      let timestamp = Timestamp(nanoseconds: time &+ origin.nanoseconds)
      let scan = row.scan(at: timestamp)
      if !scan.isEmpty { scans.append(scan) }
      if let pressure = row[.pressure] {
        pressures.append(PressureData(timestamp: timestamp, pressure: pressure))
      }
    }
    if pending == nil { isFinished = true }
    ready = []
    if !pressures.isEmpty { ready.append(.barometer(pressures)) }
    if !scans.isEmpty { ready.append(.inertial(scans)) }
    if let scan = scans.last, let pressure = pressures.last, pressure.timestamp < scan.timestamp {
      ready.reverse()
    }
  }

  private mutating func nextRow() throws(RecordingError) -> CSVRow? {
    if let row = pending {
      pending = nil
      return row
    }
    guard let line = try Self.nextLine(&lines) else { return nil }
    let row = try CSVRow(line: line, columns: columns, file: name, lineNumber: lines.lineNumber)
    if let last = lastTimestamp, row.timestamp < last {
      throw RecordingError(
        file: name, line: lines.lineNumber, column: "t",
        problem: "goes back from \(last.seconds) s to \(row.timestamp.seconds) s",
        remedy: "sort the rows by time")
    }
    lastTimestamp = row.timestamp
    return row
  }

  private static func nextLine(_ lines: inout LineReader) throws(RecordingError) -> ArraySlice<UInt8>? {
    while let line = try lines.next() {
      // Spreadsheets begin a file with a byte order mark.
      let text = lines.lineNumber == 1 && line.starts(with: [0xEF, 0xBB, 0xBF]) ? line.dropFirst(3) : line
      if !text.isEmpty, text.first != UInt8(ascii: "#") { return text }
    }
    return nil
  }
}
