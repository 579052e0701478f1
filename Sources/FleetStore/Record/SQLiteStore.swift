internal import Fleet
internal import Glibc
internal import MQTT
internal import SQLite
internal import Spatial
internal import Telemetry

/// A recording in one SQLite file, beside which there are two more while it is written (WAL mode).
final class SQLiteStore: MessageStore {
  let name: String
  private let path: String
  private var tables: SQLiteTables?
  /// Which file is open.
  private var file: FileIdentity?

  init(path: String) {
    self.path = path
    name = path
  }

  func open() throws(FleetError) {
    tables = nil
    let refusal: String?
    do throws(SQLiteError) {
      // A reader that copies the file or a backup may hold the lock for a while.
      let database = try Database(path: path, access: .create, busyTimeout: .seconds(10))
      refusal = try Self.prepare(database)
      if refusal == nil { tables = try SQLiteTables(database) }
    } catch {
      throw failure("open", error)
    }
    if let refusal { throw failure("open", refusal) }
    file = FileIdentity(path)
  }

  /// Returns why the database cannot be used; nil when it can.
  private static func prepare(_ database: borrowing Database) throws(SQLiteError) -> String? {
    let isNew = try database.integer("SELECT count(*) FROM sqlite_master") == 0
    if !isNew, try !SQLiteSchema.isRecording(database) {
      return "it is a database of another program; name another file"
    }
    // What is acknowledged to the broker has to survive a loss of power.
    try database.execute(
      """
      PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -16000;
      PRAGMA wal_autocheckpoint = 4000; PRAGMA application_id = \(SQLiteSchema.applicationID)
      """)
    return try database.migrate(SQLiteSchema.steps, version: SQLiteSchema.version)
      ? nil : RecordingAddress.newerVersion
  }

  func store(_ messages: [RecordedMessage]) throws(FleetError) -> Int {
    if tables == nil { try open() }
    guard let tables else { return 0 }
    let added: Int
    do throws(SQLiteError) { added = try tables.insert(messages) } catch {
      // The next attempt opens it anew: the file may have been taken away, or its disk.
      self.tables = nil
      throw failure("write to", error)
    }
    // What is in a file without a name is lost at the end.
    guard FileIdentity(path) == file else {
      self.tables = nil
      throw failure("write to", "it was taken away or replaced; it is opened anew")
    }
    return added
  }

  func close() {
    // Leaves one file that is all there is.
    try? tables?.database.checkpoint()
    tables = nil
  }

  private func failure(_ operation: String, _ cause: String) -> FleetError {
    FleetError(operation: operation, object: name, cause: cause, exit: .outputFailed)
  }

  private func failure(_ operation: String, _ error: SQLiteError) -> FleetError {
    let remedy: String? =
      switch error.code.primary {
      case .full: "make room on its disk"
      case .cannotOpen, .readOnly: "check the folder and its permissions"
      case .notADatabase: "name another file"
      case .busy: "another program writes to it"
      default: nil
      }
    return failure(operation, ([error.message] + [remedy].compactMap { $0 }).joined(separator: "; "))
  }
}

/// An open recording with its prepared statements.
private final class SQLiteTables {
  let database: Database
  private var message: StatementWriter
  private var fix: StatementWriter

  init(_ database: consuming Database) throws(SQLiteError) {
    message = StatementWriter(try database.prepare(SQLiteSchema.insertMessage))
    fix = StatementWriter(try database.prepare(SQLiteSchema.insertFix))
    self.database = database
  }

  /// Adds messages, all or none, but for those that are there already. Returns how many it added.
  func insert(_ messages: [RecordedMessage]) throws(SQLiteError) -> Int {
    try database.transaction { () throws(SQLiteError) in
      var added = 0
      for recorded in messages {
        message.columns(of: recorded)
        message.payload(of: recorded)
        try message.run()
        guard database.changes > 0 else { continue }
        added += 1
        for (place, one) in recorded.fixes.enumerated() {
          fix.columns(of: one, at: place, in: recorded)
          try fix.run()
        }
      }
      return added
    }
  }
}

/// Binds columns to the parameters of a statement. Times are milliseconds.
private struct StatementWriter: RowWriter, ~Copyable {
  private var statement: Statement
  private var parameter = 0

  init(_ statement: consuming Statement) { self.statement = statement }

  private mutating func next() -> Int {
    parameter += 1
    return parameter
  }

  mutating func text(_ value: String?) { statement.bind(next(), value) }
  mutating func bigint(_ value: Int64?) { statement.bind(next(), value) }
  mutating func integer(_ value: Int32) { statement.bind(next(), Int64(value)) }
  mutating func smallint(_ value: Int16) { statement.bind(next(), Int64(value)) }
  mutating func double(_ value: Double?) { statement.bind(next(), value) }
  mutating func bool(_ value: Bool) { statement.bind(next(), value) }
  mutating func timestamp(_ value: UTCTime?) { statement.bind(next(), value?.milliseconds) }

  mutating func payload(of message: RecordedMessage) {
    if message.isText {
      statement.bind(next(), utf8: message.payload)
    } else {
      statement.bind(next(), blob: message.payload)
    }
  }

  mutating func run() throws(SQLiteError) {
    parameter = 0
    try statement.run()
  }
}

/// Tells a file from another that takes its name.
private struct FileIdentity: Hashable {
  private let device: UInt
  private let number: UInt

  /// nil when there is none of that name.
  init?(_ path: String) {
    var status = stat()
    guard unsafe stat(path, &status) == 0 else { return nil }
    (device, number) = (UInt(status.st_dev), UInt(status.st_ino))
  }
}
