internal import CSQLite

/// A compiled statement. Parameters count from 1, columns from 0. The corresponding C type is
/// `sqlite3_stmt`.
@safe struct Statement: ~Copyable {
  private let handle: OpaquePointer
  private let sql: String

  init(handle: OpaquePointer, sql: String) {
    unsafe self.handle = unsafe handle
    self.sql = sql
  }

  deinit { unsafe sqlite3_finalize(handle) }

  func bind(_ index: Int32, _ value: Int64) { unsafe sqlite3_bind_int64(handle, index, value) }

  func bind(_ index: Int32, _ value: Int64?) {
    if let value { bind(index, value) } else { unsafe sqlite3_bind_null(handle, index) }
  }

  func bind(_ index: Int32, _ value: String?) {
    if let value {
      unsafe odograph_bind_text(handle, index, value)
    } else {
      unsafe sqlite3_bind_null(handle, index)
    }
  }

  func bind(_ index: Int32, _ value: [UInt8]) {
    unsafe value.withUnsafeBufferPointer {
      _ = unsafe odograph_bind_blob(handle, index, $0.baseAddress, Int32(clamping: $0.count))
    }
  }

  /// Advances to the next row. Returns false, and makes the statement ready for its next use, after the last.
  func step() throws(SQLiteFailure) -> Bool {
    let code = unsafe sqlite3_step(handle)
    if code == SQLITE_ROW { return true }
    let database = unsafe sqlite3_db_handle(handle)
    let message = unsafe code == SQLITE_DONE ? "" : String(cString: sqlite3_errmsg(database))
    unsafe sqlite3_reset(handle)
    guard code == SQLITE_DONE else { throw SQLiteFailure(code: code, message: message, operation: sql) }
    return false
  }

  /// Runs a statement that returns no rows.
  func run() throws(SQLiteFailure) { while try step() {} }

  /// Abandons the rows that are left.
  func reset() { unsafe sqlite3_reset(handle) }

  func integer(_ column: Int32) -> Int64 { unsafe sqlite3_column_int64(handle, column) }

  func optionalInteger(_ column: Int32) -> Int64? {
    unsafe sqlite3_column_type(handle, column) == SQLITE_NULL ? nil : integer(column)
  }

  func text(_ column: Int32) -> String? {
    guard let bytes = unsafe sqlite3_column_text(handle, column) else { return nil }
    let count = Int(unsafe sqlite3_column_bytes(handle, column))
    return unsafe String(decoding: UnsafeBufferPointer(start: bytes, count: count), as: UTF8.self)
  }

  func blob(_ column: Int32) -> [UInt8] {
    let bytes = unsafe sqlite3_column_blob(handle, column)
    let count = Int(unsafe sqlite3_column_bytes(handle, column))
    return unsafe Array(UnsafeRawBufferPointer(start: bytes, count: bytes == nil ? 0 : count))
  }
}
