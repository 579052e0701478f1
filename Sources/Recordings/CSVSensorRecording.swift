public import Sensors
public import Spatial

/// Inertial samples from a table in text, one row for each time.
///
/// The first row names the columns, in any order: `t` (s), `ax` `ay` `az` (m/s², specific force), `gx` `gy` `gz`
/// (rad/s), `mx` `my` `mz` (µT), `pressure` (Pa), `temperature` (°C). An empty field is an absent value. Rows that
/// begin with `#` and empty rows are passed over. `t` is the time on the device's time line as it stands, plus
/// `startingAt`; it must not go back.
///
/// Samples are handed over in blocks for each kind, at most 20 samples or 100 ms of them.
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
  private var block = InertialBlock()
  private var ready: [SensorEvent] = []
  private var pending: CSVRow?
  private var isFinished = false

  /// - Throws: `RecordingError` when the file cannot be opened or its header is not one.
  public init(path: String, startingAt: Timestamp = Timestamp(nanoseconds: 0)) throws(RecordingError) {
    name = path
    origin = startingAt
    lines = try LineReader(path: path)
    guard let header = try Self.nextRow(&lines) else {
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

  /// Reads rows until a block is full, and puts its kinds in order of their newest samples, last one first.
  private mutating func fillBlock() throws(RecordingError) {
    block = InertialBlock()
    var rows = 0
    while let row = try takeRow() {
      let time = row.timestamp.nanoseconds
      if let start = blockStart, rows >= Self.blockCount || time &- start.nanoseconds >= Self.blockSpan {
        pending = row
        blockStart = nil
        break
      }
      blockStart = blockStart ?? row.timestamp
      rows += 1
      block.append(row, origin: origin)
    }
    if pending == nil { isFinished = true }
    ready = block.events.sorted { a, b in (a.timestamp ?? origin) < (b.timestamp ?? origin) }.reversed()
  }

  private mutating func takeRow() throws(RecordingError) -> CSVRow? {
    if let row = pending {
      pending = nil
      return row
    }
    guard let line = try Self.nextRow(&lines) else { return nil }
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

  private static func nextRow(_ lines: inout LineReader) throws(RecordingError) -> ArraySlice<UInt8>? {
    while let line = try lines.next() {
      // Spreadsheets begin a file with a byte order mark.
      let text = lines.lineNumber == 1 && line.starts(with: [0xEF, 0xBB, 0xBF]) ? line.dropFirst(3) : line
      if !text.isEmpty, text.first != UInt8(ascii: "#") { return text }
    }
    return nil
  }
}

/// The samples of a block, by kind.
private struct InertialBlock: Sendable {
  private var accelerometer: [AccelerometerData] = []
  private var gyroscope: [GyroData] = []
  private var magnetometer: [MagnetometerData] = []
  private var barometer: [PressureData] = []
  private var thermometer: [TemperatureData] = []

  mutating func append(_ row: CSVRow, origin: Timestamp) {
    let time = Timestamp(nanoseconds: row.timestamp.nanoseconds &+ origin.nanoseconds)
    if let force = row.vector(.ax, .ay, .az) {
      accelerometer.append(AccelerometerData(timestamp: time, specificForce: force))
    }
    if let rate = row.vector(.gx, .gy, .gz) {
      gyroscope.append(GyroData(timestamp: time, rotationRate: rate))
    }
    if let field = row.vector(.mx, .my, .mz) {
      magnetometer.append(MagnetometerData(timestamp: time, magneticField: field))
    }
    if let pressure = row[.pressure] { barometer.append(PressureData(timestamp: time, pressure: pressure)) }
    if let temperature = row[.temperature] {
      thermometer.append(TemperatureData(timestamp: time, temperature: temperature))
    }
  }

  var events: [SensorEvent] {
    var events: [SensorEvent] = []
    if !accelerometer.isEmpty { events.append(.accelerometer(accelerometer)) }
    if !gyroscope.isEmpty { events.append(.gyroscope(gyroscope)) }
    if !magnetometer.isEmpty { events.append(.magnetometer(magnetometer)) }
    if !barometer.isEmpty { events.append(.barometer(barometer)) }
    if !thermometer.isEmpty { events.append(.thermometer(thermometer)) }
    return events
  }
}
