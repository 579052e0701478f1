package import Fleet
internal import Glibc
internal import MQTT
internal import SQLite
internal import Spatial

/// A recording in an SQLite file, which another process can write at the same time.
package final class SQLiteRecording: RecordingTables {
  package let name: String
  private let path: String
  private var database: Database?
  /// The identity of the opened file, by which its replacement or deletion is noticed.
  private var file: FileIdentity?
  package private(set) var version = SQLiteSchema.steps.count

  /// The oldest schema version that can be read.
  private static let oldestVersion = 2

  package static let dialect = RecordingDialect(
    schema: "", milliseconds: { $0 }, payload: "payload", messageOrder: "id", positionOrder: "2, 1, 3",
    earliest: "-9000000000000000",
    parameter: { number, _ in "?\(number)" })

  private let shouldContinue: () -> Bool

  package init(path: String, shouldContinue: @escaping () -> Bool = { true }) {
    self.path = path
    self.shouldContinue = shouldContinue
    name = path
  }

  package func open() throws(FleetError) {
    let refusal: String?
    do throws(SQLiteError) {
      do throws(SQLiteError) { refusal = try open(.readOnly) } catch {
        // SQLite creates a file beside the database (the index of its write-ahead log), even for reading. In
        // a folder without write permission this fails. Without a log, the database is complete, and is
        // opened as immutable.
        guard [.cannotOpen, .readOnly].contains(error.code.primary), !hasLog else { throw error }
        refusal = try open(.immutable)
      }
    } catch {
      throw failure(error)
    }
    guard let refusal else { return }
    database = nil
    throw failure(refusal)
  }

  /// Opens the file.
  ///
  /// - Returns: the reason why it is unusable; nil if it is usable.
  private func open(_ access: Database.Access) throws(SQLiteError) -> String? {
    let opened = try Database(
      path: path, access: access, busyTimeout: .seconds(10), shouldContinue: shouldContinue)
    let refusal = try Self.refusal(opened)
    version = try SQLiteSchema.version(opened)
    database = consume opened
    file = FileIdentity(path)
    return refusal
  }

  /// True if the write-ahead log beside the file contains data.
  private var hasLog: Bool {
    var information = stat()
    return unsafe stat("\(path)-wal", &information) == 0 && information.st_size > 0
  }

  /// Returns the reason why a database is unusable; nil if it is usable.
  private static func refusal(_ database: borrowing Database) throws(SQLiteError) -> String? {
    guard try SQLiteSchema.isRecording(database) else {
      return "not a recording; name a file that odograph record has written"
    }
    let version = try SQLiteSchema.version(database)
    if version > SQLiteSchema.steps.count { return RecordingAddress.newerVersion }
    return version < oldestVersion ? RecordingAddress.olderVersion : nil
  }

  /// A row of a query: the statement at its current position.
  package final class Row: RecordingRow {
    fileprivate var statement: Statement

    fileprivate init(_ statement: consuming Statement) { self.statement = statement }

    package func integer(_ column: Int) -> Int64? { statement.integer(column) }
    package func double(_ column: Int) -> Double? { statement.double(column) }
    package func text(_ column: Int) -> String? { statement.text(column) }
    package func payload(_ column: Int) -> [UInt8] { statement.bytes(column) }
  }

  package func read(
    _ sql: String, _ values: [RecordingSelection.Condition.Value], _ body: (Row) throws(FleetError) -> Bool
  ) throws(FleetError) {
    let row = try prepare(sql)
    for (index, value) in values.enumerated() {
      switch value {
      case .text(let text): row.statement.bind(index + 1, text)
      case .time(let time): row.statement.bind(index + 1, time.ceiledMilliseconds)
      case .number(let number): row.statement.bind(index + 1, number)
      }
    }
    while try step(row) {
      guard try body(row) else { return }
    }
  }

  package func readTrack(
    _ span: TrackSpan, _ body: (TrackSample) throws(FleetError) -> Bool
  ) throws(FleetError) {
    let (sql, values) = trackSQL(span) { $0 }
    try read(sql, values) { row throws(FleetError) in
      let sample = TrackSample(
        time: row.integer(0), latitude: row.double(1), longitude: row.double(2), altitude: row.double(3),
        accuracy: row.double(4), speed: row.double(5), course: row.double(6), source: row.integer(7) ?? 0)
      guard let sample else { return true }
      return try body(sample)
    }
  }

  /// True if the path still refers to the opened file; false after the file was replaced or deleted.
  var isCurrent: Bool { file != nil && FileIdentity(path) == file }

  private func prepare(_ sql: String) throws(FleetError) -> Row {
    if database == nil { try open() }
    do throws(SQLiteError) {
      if let statement = try database?.prepare(sql, isPersistent: false) { return Row(statement) }
    } catch { throw failure(error) }
    throw failure("it is not open")
  }

  private func step(_ row: Row) throws(FleetError) -> Bool {
    do throws(SQLiteError) { return try row.statement.step() } catch { throw failure(error) }
  }

  private func failure(_ cause: String) -> FleetError {
    .usage("read", name, cause)
  }

  private func failure(_ error: SQLiteError) -> FleetError {
    switch error.code.primary {
    case .cannotOpen, .inputOutput: failure(FileFailure.causeOfFailure(toOpen: name) ?? error.message)
    case .readOnly:
      failure(
        error.message
          + "; it has a log beside it (-wal) that needs a folder which may be written: copy both there")
    case .notADatabase: failure(error.message + "; name a file that odograph record has written")
    default: failure(error.message)
    }
  }
}
