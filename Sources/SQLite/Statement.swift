internal import CSQLite

/// A compiled statement: bind values, then `run` it, or `step` through its rows. Parameters count from 1, columns from 0.
/// The corresponding C type is `sqlite3_stmt`.
///
/// Bound values last until the statement has run or was `reset`; a parameter that is not bound is null.
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

  /// Binds UTF-8 as text.
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

  /// Advances to the next row. Returns false, and makes the statement ready for its next use, after the last.
  /// - Throws: `SQLiteError`, also of a value that could not be bound; the statement then is ready for its next use.
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

  /// Runs a statement whose rows, if it has any, do not matter.
  package mutating func run() throws(SQLiteError) { while try step() {} }

  /// Abandons the rows that are left and the bound values.
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

  /// A value that is never null; 0 for null all the same.
  package func int64(_ column: Int) -> Int64 { unsafe sqlite3_column_int64(handle, Int32(clamping: column)) }

  package func double(_ column: Int) -> Double? {
    isNull(column) ? nil : unsafe sqlite3_column_double(handle, Int32(clamping: column))
  }

  /// The value as text, which a number is turned into; what is no UTF-8 is repaired.
  package func text(_ column: Int) -> String? {
    guard let start = unsafe sqlite3_column_text(handle, Int32(clamping: column)) else { return nil }
    let count = Int(unsafe sqlite3_column_bytes(handle, Int32(clamping: column)))
    return unsafe String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
  }

  /// A copy of a blob's or a text's bytes; empty for null.
  package func bytes(_ column: Int) -> [UInt8] {
    unsafe withUnsafeBytes(column) { unsafe Array($0) }
  }

  /// Lends the bytes of a blob or a text where SQLite has them; none for null.
  package func withBytes<Result>(_ column: Int, _ body: (RawSpan) -> Result) -> Result {
    unsafe withUnsafeBytes(column) { unsafe body($0.bytes) }
  }

  private func withUnsafeBytes<Result>(_ column: Int, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    let start = unsafe sqlite3_column_blob(handle, Int32(clamping: column))
    let count = unsafe start == nil ? 0 : Int(sqlite3_column_bytes(handle, Int32(clamping: column)))
    return unsafe body(UnsafeRawBufferPointer(start: start, count: count))
  }
}

/// Where a statement keeps the texts and blobs that are bound to it: SQLite reads them from here, which spares it an
/// allocation and a copy for each.
@safe struct BoundBytes: ~Copyable {
  /// Blocks in use; only the last has room. What is bound never moves.
  private var blocks: [UnsafeMutableRawBufferPointer]
  private var used = 0

  /// Bytes that are kept from one run to the next at most.
  private static let mostKept = 1 << 20

  init() { unsafe blocks = [] }

  deinit {
    for index in unsafe blocks.indices { unsafe blocks[index].deallocate() }
  }

  /// Copies bytes to a place where they stay until `removeAll`.
  /// - Returns: the place, and the count as C functions want it. One that is too large for them is too large for SQLite.
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

  /// Makes room for the next run. The largest block stays.
  mutating func removeAll() {
    used = 0
    while let last = unsafe blocks.last, unsafe blocks.count > 1 || last.count > Self.mostKept {
      unsafe blocks.removeFirst().deallocate()
    }
  }
}
