internal import CSQLite
internal import Glibc

/// A connection to one database file, used by one thread at a time. The corresponding C type is `sqlite3`.
@safe package struct Database: ~Copyable {
  package enum Access {
    /// An existing file, which stays as it is.
    case readOnly
    /// A file that nobody changes meanwhile, in a folder where nothing can be written: no lock is looked for, and no log.
    case immutable
    /// An existing file.
    case readWrite
    /// A missing file is created; only its owner can read it.
    case create
  }

  package enum TransactionKind: String {
    /// Begins as a reader, and waits for the write lock at the first change.
    case deferred = "BEGIN"
    /// Waits for the write lock at once.
    case immediate = "BEGIN IMMEDIATE"
  }

  package let path: String
  private let handle: OpaquePointer
  private let watch: Watch?

  /// The address (RFC 8089) of a file that nobody changes.
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

  /// The library's memory statistics cost a lock for every allocation, and nobody asks for them.
  private static let withoutMemoryStatistics = odograph_sqlite_without_memory_statistics()

  /// Creates an empty file with mode 0600 if there is none: SQLite would make one that everybody can read, and gives its log the
  /// mode of the file. A failure is left to SQLite, which reports it.
  private static func createPrivately(_ path: String) {
    let descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    if descriptor >= 0 { Glibc.close(descriptor) }
  }

  /// Opens a database file.
  /// - Parameters:
  ///   - busyTimeout: how long a call waits for locks of other connections before it fails with `busy`.
  ///   - goesOn: asked some times a second while a call works or waits; when it says no, the call fails with `interrupted`, or
  ///     with `busy` where it waited.
  package init(
    path: String, access: Access, busyTimeout: Duration = .seconds(2), goesOn: (() -> Bool)? = nil
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
    watch = goesOn.map { Watch($0, milliseconds: Int(milliseconds)) }
    guard let watch else {
      unsafe sqlite3_busy_timeout(opened, Int32(clamping: milliseconds))
      return
    }
    let context = unsafe Unmanaged.passUnretained(watch).toOpaque()
    unsafe sqlite3_progress_handler(opened, Watch.steps, { unsafe Watch.from($0).goesOn() ? 0 : 1 }, context)
    unsafe sqlite3_busy_handler(opened, { unsafe Watch.from($0).waits(attempt: Int($1)) ? 1 : 0 }, context)
  }

  // Statements that outlive this keep it open until they are finalized.
  deinit { unsafe sqlite3_close_v2(handle) }

  /// Runs statements that return nothing, or whose rows do not matter.
  package func execute(_ sql: String) throws(SQLiteError) {
    guard unsafe sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK else { throw error(sql) }
  }

  /// Compiles a statement.
  /// - Parameter isPersistent: whether it is used again and again.
  package func prepare(_ sql: String, isPersistent: Bool = true) throws(SQLiteError) -> Statement {
    var statement: OpaquePointer?
    let flags = isPersistent ? UInt32(SQLITE_PREPARE_PERSISTENT) : 0
    let code = unsafe sqlite3_prepare_v3(handle, sql, -1, flags, &statement, nil)
    guard code == SQLITE_OK, let statement = unsafe statement else { throw error(sql) }
    return unsafe Statement(handle: statement, sql: sql, file: path)
  }

  /// The first column of the first row as a number; nil when there is no row or it is null.
  package func integer(_ sql: String) throws(SQLiteError) -> Int64? {
    var statement = try prepare(sql, isPersistent: false)
    return try statement.step() ? statement.integer(0) : nil
  }

  /// The first column of the first row as text; nil when there is no row or it is null.
  package func text(_ sql: String) throws(SQLiteError) -> String? {
    var statement = try prepare(sql, isPersistent: false)
    return try statement.step() ? statement.text(0) : nil
  }

  /// How many rows the last statement changed.
  package var changes: Int { Int(unsafe sqlite3_changes(handle)) }

  /// Runs `body` in a transaction: all of it happens, or, when `body` throws or the commit fails, nothing.
  package func transaction<Result>(
    _ kind: TransactionKind = .immediate, _ body: () throws(SQLiteError) -> Result
  ) throws(SQLiteError) -> Result {
    try execute(kind.rawValue)
    do throws(SQLiteError) {
      let result = try body()
      try execute("COMMIT")
      return result
    } catch {
      // Some failures, as of a full disk, have ended the transaction already.
      if unsafe sqlite3_get_autocommit(handle) == 0 { try? execute("ROLLBACK") }
      throw error
    }
  }

  /// Moves what is in the write-ahead log into the database and empties the log, as far as other connections allow.
  package func checkpoint() throws(SQLiteError) { try execute("PRAGMA wal_checkpoint(TRUNCATE)") }

  /// The number that a program keeps in the file for its schema; 0 in a new file.
  package func userVersion() throws(SQLiteError) -> Int { Int(try integer("PRAGMA user_version") ?? 0) }

  /// Brings the schema up to date, one transaction for each step.
  /// - Parameters:
  ///   - steps: the SQL that leads from version 0 to 1, from 1 to 2, …. Released steps never change.
  ///   - version: says which version a file has; called inside the transaction. `userVersion` unless told otherwise.
  ///   - fill: does what SQL alone cannot; called inside of each step's transaction, behind its SQL, with the version that it
  ///     leads to.
  /// - Returns: false, and changes nothing, when the file's version is above the last step's.
  package func migrate(
    _ steps: [String], version: (borrowing Database) throws(SQLiteError) -> Int,
    fill: (Int, borrowing Database) throws(SQLiteError) -> Void = { _, _ in }
  ) throws(SQLiteError) -> Bool {
    while true {
      let found = try version(self)
      guard found < steps.count else { return found == steps.count }
      try transaction { () throws(SQLiteError) in
        // Another process may have been quicker.
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

/// Asks, while SQLite works or waits, whether it is to go on.
private final class Watch {
  /// Instructions of SQLite's machine between two questions: a millisecond or so.
  static let steps: Int32 = 100_000
  /// Milliseconds between two attempts to get a lock.
  private static let pause = 20

  let goesOn: () -> Bool
  private let attempts: Int

  /// - Parameter milliseconds: for which a lock is waited.
  init(_ goesOn: @escaping () -> Bool, milliseconds: Int) {
    self.goesOn = goesOn
    attempts = milliseconds / Self.pause
  }

  func waits(attempt: Int) -> Bool {
    guard attempt < attempts, goesOn() else { return false }
    usleep(UInt32(Self.pause) * 1000)
    return true
  }

  static func from(_ context: UnsafeMutableRawPointer?) -> Watch {
    unsafe Unmanaged<Watch>.fromOpaque(context.unsafelyUnwrapped).takeUnretainedValue()
  }
}

/// A call of SQLite that failed.
package struct SQLiteError: Error, Hashable, Sendable, CustomStringConvertible {
  /// A result code of SQLite, extended or not. Open: a newer library may have more than are named here.
  package struct Code: RawRepresentable, Hashable, Sendable {
    package var rawValue: Int32

    package init(rawValue: Int32) { self.rawValue = rawValue }

    /// The code without its extension.
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

  /// - Parameter message: nil for SQLite's general text for the code.
  package init(code: Code, message: String?, sql: String, file: String) {
    self.code = code
    self.message = unsafe message ?? String(cString: sqlite3_errstr(code.rawValue))
    self.sql = sql
    self.file = file
  }

  /// Whether the file's content is broken, as opposed to the disk being unwilling.
  package var isDamage: Bool { [.corrupt, .notADatabase].contains(code.primary) }

  package var description: String {
    let statement = sql.count > 200 ? "\(sql.prefix(200))…" : sql
    return "\(file): \(message) (SQLite code \(code.rawValue)) at: \(statement)"
  }
}
