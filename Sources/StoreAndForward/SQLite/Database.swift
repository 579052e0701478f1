internal import CSQLite

/// An open database. Used by one thread at a time. The corresponding C type is `sqlite3`.
@safe struct Database: ~Copyable {
  private let handle: OpaquePointer

  enum Mode {
    /// A missing file is made.
    case create
    /// A missing file is an error.
    case existing
  }

  /// Opens a database file.
  init(path: String, mode: Mode) throws(SQLiteFailure) {
    var handle: OpaquePointer?
    let access = mode == .create ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READWRITE
    let code = unsafe sqlite3_open_v2(path, &handle, access | SQLITE_OPEN_NOMUTEX, nil)
    guard code == SQLITE_OK, let opened = unsafe handle else {
      let failure = SQLiteFailure(
        code: unsafe handle.map { unsafe sqlite3_extended_errcode($0) } ?? code,
        message: unsafe handle.map { unsafe String(cString: sqlite3_errmsg($0)) } ?? "out of memory",
        operation: "open \(path)")
      unsafe sqlite3_close_v2(handle)
      throw failure
    }
    unsafe self.handle = unsafe opened
    unsafe sqlite3_extended_result_codes(opened, 1)
    unsafe sqlite3_busy_timeout(opened, 2000)
  }

  // Statements that outlive this keep it open until they are finalised.
  deinit { unsafe sqlite3_close_v2(handle) }

  /// Runs statements that return nothing, or whose rows do not matter.
  func execute(_ sql: String) throws(SQLiteFailure) {
    let code = unsafe sqlite3_exec(handle, sql, nil, nil, nil)
    guard code == SQLITE_OK else { throw failure(sql) }
  }

  /// Compiles a statement that is used again and again.
  func prepare(_ sql: String) throws(SQLiteFailure) -> Statement {
    var statement: OpaquePointer?
    let code = unsafe sqlite3_prepare_v3(
      handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil)
    guard code == SQLITE_OK, let statement = unsafe statement else { throw failure(sql) }
    return unsafe Statement(handle: statement, sql: sql)
  }

  /// The first column of the first row as a number; nil when there is no row or it is null.
  func integer(_ sql: String) throws(SQLiteFailure) -> Int64? {
    let statement = try prepare(sql)
    return try statement.step() ? statement.optionalInteger(0) : nil
  }

  /// The first column of the first row as text; nil when there is no row or it is null.
  func text(_ sql: String) throws(SQLiteFailure) -> String? {
    let statement = try prepare(sql)
    return try statement.step() ? statement.text(0) : nil
  }

  /// How many rows the last statement changed.
  var changes: Int { Int(unsafe sqlite3_changes(handle)) }

  /// Whether a transaction is open. (A full disk may have ended it already.)
  var isInTransaction: Bool { unsafe sqlite3_get_autocommit(handle) == 0 }

  private func failure(_ operation: String) -> SQLiteFailure {
    SQLiteFailure(
      code: unsafe sqlite3_extended_errcode(handle), message: unsafe String(cString: sqlite3_errmsg(handle)),
      operation: operation)
  }
}
