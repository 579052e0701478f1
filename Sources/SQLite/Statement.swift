internal import CSQLite

/// A compiled statement: bind values, then call `run`, or call `step` for each row. Parameters count from 1,
/// columns from 0. The corresponding C type is `sqlite3_stmt`.
///
/// Bindings are cleared when the statement has finished or was `reset`. Unbound parameters are null.
@safe package struct Statement: ~Copyable {
  private let handle: OpaquePointer
  private let sql: String
  private let file: String
  private var values = BoundBytes()
  /// The first failure of a binding since the last run.
  private var bindingFailure: Int32?

  init(handle: OpaquePointer, sql: String, file: String) {
    unsafe self.handle = unsafe handle
    self.sql = sql
    self.file = file
  }

  deinit { unsafe sqlite3_finalize(handle) }

  // MARK: Parameters

  package mutating func bind(_ parameter: Int, _ value: Int64?) {
    guard let value else { return }
    recordFailure(unsafe sqlite3_bind_int64(handle, Int32(clamping: parameter), value))
  }

  package mutating func bind(_ parameter: Int, _ value: Double?) {
    guard let value else { return }
    recordFailure(unsafe sqlite3_bind_double(handle, Int32(clamping: parameter), value))
  }

  /// Binds 1 or 0.
  package mutating func bind(_ parameter: Int, _ value: Bool) { bind(parameter, value ? Int64(1) : 0) }

  package mutating func bind(_ parameter: Int, _ value: String?) {
    guard var value else { return }
    let (start, count) = value.withUTF8 { unsafe values.append(UnsafeRawBufferPointer($0)) }
    recordFailure(unsafe odograph_bind_text(handle, Int32(clamping: parameter), start, count))
  }

  /// Binds UTF-8 bytes as text.
  package mutating func bind(_ parameter: Int, utf8 value: [UInt8]) {
    let (start, count) = unsafe value.withUnsafeBytes { unsafe values.append($0) }
    recordFailure(unsafe odograph_bind_text(handle, Int32(clamping: parameter), start, count))
  }

  package mutating func bind(_ parameter: Int, blob value: [UInt8]) {
    let (start, count) = unsafe value.withUnsafeBytes { unsafe values.append($0) }
    recordFailure(unsafe odograph_bind_blob(handle, Int32(clamping: parameter), start, count))
  }

  private mutating func recordFailure(_ code: Int32) {
    if code != SQLITE_OK, bindingFailure == nil { bindingFailure = code }
  }

  // MARK: Running

  /// Advances to the next row. After the last row, returns false and resets the statement for its next use.
  /// - Throws: `SQLiteError`, also for a value that could not be bound. The statement is then reset.
  package mutating func step() throws(SQLiteError) -> Bool {
    if let code = bindingFailure {
      reset()
      throw SQLiteError(code: .init(rawValue: code), message: nil, sql: sql, file: file)
    }
    let code = unsafe sqlite3_step(handle)
    if code == SQLITE_ROW { return true }
    guard code == SQLITE_DONE else {
      let message = unsafe String(cString: sqlite3_errmsg(sqlite3_db_handle(handle)))
      reset()
      throw SQLiteError(code: .init(rawValue: code), message: message, sql: sql, file: file)
    }
    reset()
    return false
  }

  /// Runs the statement and ignores its rows.
  package mutating func run() throws(SQLiteError) { while try step() {} }

  /// Discards the remaining rows and the bindings.
  package mutating func reset() {
    unsafe sqlite3_reset(handle)
    unsafe sqlite3_clear_bindings(handle)
    values.removeAll()
    bindingFailure = nil
  }

  // MARK: Columns of the current row

  package func isNull(_ column: Int) -> Bool {
    unsafe sqlite3_column_type(handle, Int32(clamping: column)) == SQLITE_NULL
  }

  package func integer(_ column: Int) -> Int64? {
    isNull(column) ? nil : unsafe sqlite3_column_int64(handle, Int32(clamping: column))
  }

  /// Returns the value of a column that is never null; 0 for null.
  package func int64(_ column: Int) -> Int64 { unsafe sqlite3_column_int64(handle, Int32(clamping: column)) }

  package func double(_ column: Int) -> Double? {
    isNull(column) ? nil : unsafe sqlite3_column_double(handle, Int32(clamping: column))
  }

  /// Returns the value as text. Numbers are converted, and invalid UTF-8 is repaired.
  package func text(_ column: Int) -> String? {
    guard let start = unsafe sqlite3_column_text(handle, Int32(clamping: column)) else { return nil }
    let count = Int(unsafe sqlite3_column_bytes(handle, Int32(clamping: column)))
    return unsafe String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
  }

  /// Returns a copy of the bytes of a blob or text; empty for null.
  package func bytes(_ column: Int) -> [UInt8] {
    unsafe withUnsafeBytes(column) { unsafe Array($0) }
  }

  /// Calls `body` with SQLite's own bytes of a blob or text; empty for null.
  package func withBytes<Result>(_ column: Int, _ body: (RawSpan) -> Result) -> Result {
    unsafe withUnsafeBytes(column) { unsafe body($0.bytes) }
  }

  private func withUnsafeBytes<Result>(_ column: Int, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    let start = unsafe sqlite3_column_blob(handle, Int32(clamping: column))
    let count = unsafe start == nil ? 0 : Int(sqlite3_column_bytes(handle, Int32(clamping: column)))
    return unsafe body(UnsafeRawBufferPointer(start: start, count: count))
  }
}

/// The storage of bound texts and blobs. SQLite reads them from here, which saves an allocation and a copy
/// for each.
@safe struct BoundBytes: ~Copyable {
  /// Blocks in use; only the last has free space. Bound bytes never move.
  private var blocks: [UnsafeMutableRawBufferPointer]
  private var used = 0

  /// The maximum size in bytes of the block that is reused for the next run.
  private static let mostKept = 1 << 20

  init() { unsafe blocks = [] }

  deinit {
    for index in unsafe blocks.indices { unsafe blocks[index].deallocate() }
  }

  /// Copies bytes to an address that is valid until `removeAll`.
  /// - Returns: the address, and the count in the type of the C functions. A count that overflows it also
  ///   exceeds SQLite's limit.
  mutating func append(_ bytes: UnsafeRawBufferPointer) -> (start: UnsafeRawPointer?, count: Int32) {
    guard bytes.count > 0 else { return (nil, 0) }
    if unsafe (blocks.last?.count ?? 0) - used < bytes.count {
      let size = unsafe max(1024, 2 * bytes.count, 2 * (blocks.last?.count ?? 0))
      unsafe blocks.append(.allocate(byteCount: size, alignment: 8))
      used = 0
    }
    let block = unsafe blocks[blocks.count - 1]
    let place = unsafe UnsafeMutableRawBufferPointer(rebasing: block[used..<used + bytes.count])
    unsafe place.copyMemory(from: bytes)
    used += bytes.count
    return (UnsafeRawPointer(place.baseAddress), Int32(clamping: bytes.count))
  }

  /// Clears the storage for the next run. Retains the largest block.
  mutating func removeAll() {
    used = 0
    while let last = unsafe blocks.last, unsafe blocks.count > 1 || last.count > Self.mostKept {
      unsafe blocks.removeFirst().deallocate()
    }
  }
}
