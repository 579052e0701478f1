internal import CSQLite
internal import Glibc

/// A connection to a database file, for use by one thread at a time. The corresponding C type is `sqlite3`.
@safe package struct Database: ~Copyable {
  package enum Access {
    /// An existing file, which is not modified.
    case readOnly
    /// A file that no process modifies, in a read-only folder. SQLite uses neither locks nor the write-ahead
    /// log.
    case immutable
    /// An existing file, for reading and writing.
    case readWrite
    /// A missing file is created; only its owner can read it.
    case create
  }

  package enum TransactionKind: String {
    /// Starts as a reader, and acquires the write lock at the first change.
    case deferred = "BEGIN"
    /// Acquires the write lock immediately.
    case immediate = "BEGIN IMMEDIATE"
  }

  package let path: String
  private let handle: OpaquePointer
  private let watch: Watch?

  /// Returns the URI (RFC 8089) for access to an unmodified file.
  private static func immutable(_ path: String) -> String {
    var address = "file:"
    for byte in path.utf8 {
      let scalar = UnicodeScalar(byte)
      let isPlain =
        scalar.isASCII && scalar.properties.isAlphabetic || "/.0123456789".unicodeScalars.contains(scalar)
      let digits = String(byte, radix: 16)
      address += isPlain ? String(scalar) : "%" + (digits.utf8.count < 2 ? "0" : "") + digits
    }
    return address + "?immutable=1"
  }

  /// Disables SQLite's memory statistics, which need a lock for every allocation and are not used.
  private static let withoutMemoryStatistics = odograph_sqlite_without_memory_statistics()

  /// Creates an empty file with mode 0600 if it is missing. SQLite would create a file that everybody can
  /// read, and its log receives the mode of the database file. If this fails, SQLite reports the reason.
  private static func createPrivately(_ path: String) {
    let descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    if descriptor >= 0 { Glibc.close(descriptor) }
  }

  /// Opens a database file.
  /// - Parameters:
  ///   - busyTimeout: the time to wait for locks of other connections before a call fails with `busy`.
  ///   - shouldContinue: called several times a second while a call runs or waits. If it returns false, the call
  ///     fails with `interrupted`, or with `busy` if it was waiting.
  package init(
    path: String, access: Access, busyTimeout: Duration = .seconds(2), shouldContinue: (() -> Bool)? = nil
  ) throws(SQLiteError) {
    _ = Self.withoutMemoryStatistics
    self.path = path
    let flags =
      switch access {
      case .readOnly: SQLITE_OPEN_READONLY
      case .immutable: SQLITE_OPEN_READONLY | SQLITE_OPEN_URI
      case .readWrite: SQLITE_OPEN_READWRITE
      case .create: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
      }
    if access == .create, !path.isEmpty, path != ":memory:" { Self.createPrivately(path) }
    var handle: OpaquePointer?
    let name = access == .immutable ? Self.immutable(path) : path
    let code = unsafe sqlite3_open_v2(name, &handle, flags | SQLITE_OPEN_NOMUTEX, nil)
    guard code == SQLITE_OK, let opened = unsafe handle else {
      let error = SQLiteError(
        code: .init(rawValue: unsafe handle.map { unsafe sqlite3_extended_errcode($0) } ?? code),
        message: unsafe handle.map { unsafe String(cString: sqlite3_errmsg($0)) }, sql: "open", file: path)
      unsafe sqlite3_close_v2(handle)
      throw error
    }
    unsafe self.handle = unsafe opened
    unsafe sqlite3_extended_result_codes(opened, 1)
    let (seconds, attoseconds) = busyTimeout.components
    let milliseconds =
      seconds.multipliedReportingOverflow(by: 1000).partialValue + attoseconds / 1_000_000_000_000_000
    watch = shouldContinue.map { Watch($0, milliseconds: Int(milliseconds)) }
    guard let watch else {
      unsafe sqlite3_busy_timeout(opened, Int32(clamping: milliseconds))
      return
    }
    let context = unsafe Unmanaged.passUnretained(watch).toOpaque()
    unsafe sqlite3_progress_handler(
      opened, Watch.steps, { unsafe Watch.from($0).shouldContinue() ? 0 : 1 }, context)
    unsafe sqlite3_busy_handler(opened, { unsafe Watch.from($0).waits(attempt: Int($1)) ? 1 : 0 }, context)
  }

  // The connection remains open until all its statements are finalized.
  deinit { unsafe sqlite3_close_v2(handle) }

  /// Executes statements and ignores their rows.
  package func execute(_ sql: String) throws(SQLiteError) {
    guard unsafe sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK else { throw error(sql) }
  }

  /// Compiles a statement.
  /// - Parameter isPersistent: true if the statement is reused many times.
  package func prepare(_ sql: String, isPersistent: Bool = true) throws(SQLiteError) -> Statement {
    var statement: OpaquePointer?
    let flags = isPersistent ? UInt32(SQLITE_PREPARE_PERSISTENT) : 0
    let code = unsafe sqlite3_prepare_v3(handle, sql, -1, flags, &statement, nil)
    guard code == SQLITE_OK, let statement = unsafe statement else { throw error(sql) }
    return unsafe Statement(handle: statement, sql: sql, file: path)
  }

  /// Returns the first column of the first row as a number; nil if there is no row or the value is null.
  package func integer(_ sql: String) throws(SQLiteError) -> Int64? {
    var statement = try prepare(sql, isPersistent: false)
    return try statement.step() ? statement.integer(0) : nil
  }

  /// Returns the first column of the first row as text; nil if there is no row or the value is null.
  package func text(_ sql: String) throws(SQLiteError) -> String? {
    var statement = try prepare(sql, isPersistent: false)
    return try statement.step() ? statement.text(0) : nil
  }

  /// The number of rows changed by the last statement.
  package var changes: Int { Int(unsafe sqlite3_changes(handle)) }

  /// Runs `body` in a transaction. Rolls back if `body` throws or the commit fails.
  package func transaction<Result>(
    _ kind: TransactionKind = .immediate, _ body: () throws(SQLiteError) -> Result
  ) throws(SQLiteError) -> Result {
    try execute(kind.rawValue)
    do throws(SQLiteError) {
      let result = try body()
      try execute("COMMIT")
      return result
    } catch {
      // Some failures, such as a full disk, already ended the transaction.
      if unsafe sqlite3_get_autocommit(handle) == 0 { try? execute("ROLLBACK") }
      throw error
    }
  }

  /// Moves the contents of the write-ahead log to the database and truncates the log, as far as other
  /// connections allow.
  package func checkpoint() throws(SQLiteError) { try execute("PRAGMA wal_checkpoint(TRUNCATE)") }

  /// Returns the schema version that is stored in the file; 0 for a new file.
  package func userVersion() throws(SQLiteError) -> Int { Int(try integer("PRAGMA user_version") ?? 0) }

  /// Migrates the schema, with one transaction per step.
  /// - Parameters:
  ///   - steps: the SQL for the migration from version 0 to 1, from 1 to 2, …. Released steps never change.
  ///   - version: returns the version of the file; called inside the transaction. By default `userVersion`.
  ///   - fill: performs the part of a step that SQL cannot express. Called inside the step's transaction
  ///     after its SQL, with the new version.
  /// - Returns: false, without any change, if the file's version is above that of the last step.
  package func migrate(
    _ steps: [String], version: (borrowing Database) throws(SQLiteError) -> Int,
    fill: (Int, borrowing Database) throws(SQLiteError) -> Void = { _, _ in }
  ) throws(SQLiteError) -> Bool {
    while true {
      let found = try version(self)
      guard found < steps.count else { return found == steps.count }
      try transaction { () throws(SQLiteError) in
        // Another process can have migrated the file in the meantime.
        guard try version(self) == found else { return }
        try execute(steps[found])
        try fill(found + 1, self)
        try execute("PRAGMA user_version = \(found + 1)")
      }
    }
  }

  package func migrate(_ steps: [String]) throws(SQLiteError) -> Bool {
    try migrate(steps) { database throws(SQLiteError) in try database.userVersion() }
  }

  private func error(_ sql: String) -> SQLiteError {
    SQLiteError(
      code: .init(rawValue: unsafe sqlite3_extended_errcode(handle)),
      message: unsafe String(cString: sqlite3_errmsg(handle)), sql: sql, file: path)
  }
}

/// A callback that asks the caller whether SQLite should continue.
private final class Watch {
  /// Instructions of SQLite's virtual machine between two calls: about a millisecond.
  static let steps: Int32 = 100_000
  /// Milliseconds between two attempts to acquire a lock.
  private static let pause = 20

  let shouldContinue: () -> Bool
  private let attempts: Int

  /// Creates a watch.
  ///
  /// - Parameter milliseconds: the time to wait for a lock.
  init(_ shouldContinue: @escaping () -> Bool, milliseconds: Int) {
    self.shouldContinue = shouldContinue
    attempts = milliseconds / Self.pause
  }

  func waits(attempt: Int) -> Bool {
    guard attempt < attempts, shouldContinue() else { return false }
    // SQLite reports no event when another connection releases its lock.
    usleep(UInt32(Self.pause) * 1000)
    return true
  }

  static func from(_ context: UnsafeMutableRawPointer?) -> Watch {
    unsafe Unmanaged<Watch>.fromOpaque(context.unsafelyUnwrapped).takeUnretainedValue()
  }
}

/// A failed SQLite call.
package struct SQLiteError: Error, Hashable, Sendable, CustomStringConvertible {
  /// A SQLite result code, primary or extended. An open type, because newer versions of SQLite can return
  /// more codes.
  package struct Code: RawRepresentable, Hashable, Sendable {
    package var rawValue: Int32

    package init(rawValue: Int32) { self.rawValue = rawValue }

    /// The primary result code.
    package var primary: Code { Code(rawValue: rawValue & 0xFF) }

    package static let busy = Code(rawValue: SQLITE_BUSY)
    package static let cannotOpen = Code(rawValue: SQLITE_CANTOPEN)
    package static let constraint = Code(rawValue: SQLITE_CONSTRAINT)
    package static let corrupt = Code(rawValue: SQLITE_CORRUPT)
    package static let full = Code(rawValue: SQLITE_FULL)
    package static let interrupted = Code(rawValue: SQLITE_INTERRUPT)
    package static let inputOutput = Code(rawValue: SQLITE_IOERR)
    package static let notADatabase = Code(rawValue: SQLITE_NOTADB)
    package static let readOnly = Code(rawValue: SQLITE_READONLY)
  }

  /// The extended result code.
  package var code: Code
  /// SQLite's own message; never empty.
  package var message: String
  /// The statement that failed, or "open".
  package var sql: String
  /// The database file.
  package var file: String

  /// Creates an error.
  ///
  /// - Parameter message: nil for SQLite's generic text for the code.
  package init(code: Code, message: String?, sql: String, file: String) {
    self.code = code
    self.message = unsafe message ?? String(cString: sqlite3_errstr(code.rawValue))
    self.sql = sql
    self.file = file
  }

  /// True if the file's content is corrupt, as opposed to an I/O error.
  package var isDamage: Bool { [.corrupt, .notADatabase].contains(code.primary) }

  /// True if a statement names a table or column that the schema does not have. If the statement is from the
  /// program that created the file, the schema is damaged.
  package var isSchemaMismatch: Bool {
    ["no such table: ", "no such column: ", "has no column named "].contains { text in
      message.utf8.indices.contains { message[$0...].hasPrefix(text) }
    }
  }

  package var description: String {
    let statement = sql.count > 200 ? "\(sql.prefix(200))…" : sql
    return "\(file): \(message) (SQLite code \(code.rawValue)) at: \(statement)"
  }
}
