internal import Bytes
public import Sensors
public import Spatial

/// Reads inertial samples from a text table with one row for each time.
///
/// The first row names the columns, in any order: `t` (s), `ax` `ay` `az` (m/s², specific force), `gx` `gy`
/// `gz` (rad/s), `mx` `my` `mz` (µT), `pressure` (Pa), `temperature` (°C). An empty field means a missing
/// value. Empty rows and rows that start with `#` are ignored. `t` is the time since `startingAt` and must
/// not go back.
///
/// A row is one `InertialScan`. Rows are returned in blocks of at most 20 rows and at most 100 ms. The
/// pressures of a block are returned as a separate event.
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

  /// - Throws: `RecordingError` if the file cannot be opened or its header is invalid.
  public init(path: String, startingAt: Timestamp = Timestamp(nanoseconds: 0)) throws(RecordingError) {
    name = path
    origin = startingAt
    lines = try LineReader(path: path)
    guard let header = try Self.nextLine(&lines) else {
      throw RecordingError(
        file: path, problem: "is empty", remedy: "use a table with column names in the first row")
    }
    columns = try CSVColumns(header: header, file: path, line: lines.lineNumber)
    kinds = columns.kinds
  }

  public mutating func setDemand(_ demand: SensorDemand, for kind: SensorKind) {
    filter.setDemand(demand, for: kind)
  }

  /// Returns the next block.
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

  /// Reads rows until a block is full. The events of the block are in `ready` in reverse order: the one that
  /// ends first is last, because it is removed first.
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
      // Spreadsheets start a file with a byte order mark.
      let text = lines.lineNumber == 1 && line.starts(with: [0xEF, 0xBB, 0xBF]) ? line.dropFirst(3) : line
      if !text.isEmpty, text.first != UInt8(ascii: "#") { return text }
    }
    return nil
  }
}

/// The quantities of a table's columns, by index.
struct CSVColumns: Sendable {
  /// A quantity that a column can hold; the raw value is its name in the header.
  enum Quantity: String, CaseIterable, Sendable {
    case t, ax, ay, az, gx, gy, gz, mx, my, mz, pressure, temperature
  }

  private static let triples: [[Quantity]] = [[.ax, .ay, .az], [.gx, .gy, .gz], [.mx, .my, .mz]]

  /// The quantities in the order of the columns.
  let quantities: [Quantity]

  /// Reads the header: names in any order, each at most once, with `t` and complete triples.
  init(header: ArraySlice<UInt8>, file: String, line: Int) throws(RecordingError) {
    var quantities: [Quantity] = []
    for field in CSVColumns.fields(of: header) {
      let name = String(decoding: field, as: UTF8.self)
      guard let quantity = Quantity(rawValue: name) else {
        throw RecordingError(
          file: file, line: line, column: excerpt(field), problem: "is not a column of a sensor recording",
          remedy: "the accepted columns are \(Quantity.allCases.map(\.rawValue).joined(separator: ", "))")
      }
      guard !quantities.contains(quantity) else {
        throw RecordingError(
          file: file, line: line, column: name, problem: "appears twice in the header",
          remedy: "keep one of them")
      }
      quantities.append(quantity)
    }
    self.quantities = quantities
    guard quantities.contains(.t) else {
      throw RecordingError(
        file: file, line: line, column: "t", problem: "is missing in the header",
        remedy: "every row requires a time in seconds")
    }
    for triple in CSVColumns.triples where !quantities.filter(triple.contains).isEmpty {
      guard let absent = triple.first(where: { !quantities.contains($0) }) else { continue }
      let names = triple.map(\.rawValue).joined(separator: ", ")
      throw RecordingError(
        file: file, line: line, column: absent.rawValue, problem: "is missing in the header",
        remedy: "give all of \(names) or none")
    }
    guard quantities.count > 1 else {
      throw RecordingError(
        file: file, line: line, problem: "the header names no sensor",
        remedy: "the accepted columns are \(Quantity.allCases.map(\.rawValue).joined(separator: ", "))")
    }
  }

  /// Returns the fields of a row without surrounding blanks. Numbers need no quotes, so quotes are not
  /// supported.
  static func fields(of line: ArraySlice<UInt8>) -> [ArraySlice<UInt8>] {
    line.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false).map { field in
      var field = field
      while let last = field.last, last == 32 || last == 9 { field.removeLast() }
      while let first = field.first, first == 32 || first == 9 { field.removeFirst() }
      return field
    }
  }

  /// The kinds of sensor in the table.
  var kinds: Set<SensorKind> {
    var kinds: Set<SensorKind> = []
    for quantity in quantities {
      switch quantity {
      case .t: continue
      case .ax, .ay, .az: kinds.insert(.accelerometer)
      case .gx, .gy, .gz: kinds.insert(.gyroscope)
      case .mx, .my, .mz: kinds.insert(.magnetometer)
      case .pressure: kinds.insert(.barometer)
      case .temperature: kinds.insert(.thermometer)
      }
    }
    return kinds
  }
}

/// A row of a sensor table.
struct CSVRow {
  private var values: [CSVColumns.Quantity: Double] = [:]
  let timestamp: Timestamp

  /// - Throws: `RecordingError` that names the column: for a wrong number of fields, a field that is not a
  ///   finite number, a missing time, and an incomplete triple.
  init(
    line: ArraySlice<UInt8>, columns: CSVColumns, file: String, lineNumber: Int
  ) throws(RecordingError) {
    func failure(_ column: CSVColumns.Quantity?, _ problem: String, _ remedy: String) -> RecordingError {
      RecordingError(
        file: file, line: lineNumber, column: column?.rawValue, problem: problem, remedy: remedy)
    }
    let fields = CSVColumns.fields(of: line)
    guard fields.count == columns.quantities.count else {
      throw failure(
        nil, "the row has \(fields.count) fields, the header \(columns.quantities.count)",
        "leave the fields of absent values empty")
    }
    for (field, quantity) in zip(fields, columns.quantities) where !field.isEmpty {
      guard let value = DecimalText.number(field.span) else {
        throw failure(
          quantity, "\"\(excerpt(field))\" is not a finite number", "leave the field of an absent value empty"
        )
      }
      values[quantity] = value
    }
    guard let seconds = values[.t] else {
      throw failure(.t, "is empty", "every row requires a time in seconds")
    }
    // Timestamps are 64-bit nanoseconds, which cover about 290 years.
    guard abs(seconds) < 9e9 else {
      throw failure(.t, "\(seconds) s is out of range", "give seconds since the start of the recording")
    }
    timestamp = Timestamp(seconds: seconds)
    for triple in [[CSVColumns.Quantity.ax, .ay, .az], [.gx, .gy, .gz], [.mx, .my, .mz]] {
      let absent = triple.filter { values[$0] == nil }
      if let first = absent.first, absent.count < 3 {
        throw failure(
          first, "is empty, but other components are not", "give all three components of a vector or none")
      }
    }
  }

  /// Returns the number in a column; nil if the field is empty or the column is missing.
  subscript(_ quantity: CSVColumns.Quantity) -> Double? { values[quantity] }

  /// Returns the inertial values of the row.
  func scan(at timestamp: Timestamp) -> InertialScan {
    InertialScan(
      timestamp: timestamp, specificForce: vector(.ax, .ay, .az), rotationRate: vector(.gx, .gy, .gz),
      magneticField: vector(.mx, .my, .mz), temperature: values[.temperature])
  }

  /// Returns the vector in three columns; nil if the fields are empty.
  private func vector(_ x: CSVColumns.Quantity, _ y: CSVColumns.Quantity, _ z: CSVColumns.Quantity)
    -> Vector3?
  {
    guard let x = values[x], let y = values[y], let z = values[z] else { return nil }
    return Vector3(x, y, z)
  }
}
