internal import CSQLite
internal import Platform

/// Reads an SQLite file with the library only, to check the content written by a program.
public final class SQLiteReader {
  private let handle: OpaquePointer?
  private let path: String

  public init(_ path: String) throws {
    self.path = path
    var handle: OpaquePointer?
    let code = sqlite3_open(path, &handle)
    self.handle = handle
    guard code == SQLITE_OK else { throw SystemError(operation: "open", object: path, code: code) }
    sqlite3_busy_timeout(handle, 60_000)
  }

  deinit { sqlite3_close(handle) }

  /// Returns all rows of a query as text; nil is NULL.
  public func rows(_ sql: String) throws -> [[String?]] {
    var statement: OpaquePointer?
    guard sqlite3_prepare_v2(handle, sql, -1, &statement, nil) == SQLITE_OK else { throw failure(sql) }
    defer { sqlite3_finalize(statement) }
    var rows: [[String?]] = []
    while true {
      switch sqlite3_step(statement) {
      case SQLITE_ROW:
        rows.append(
          (0..<sqlite3_column_count(statement)).map { column in
            sqlite3_column_text(statement, column).map { String(cString: $0) }
          })
      case SQLITE_DONE: return rows
      default: throw failure(sql)
      }
    }
  }

  public func run(_ sql: String) throws { _ = try rows(sql) }

  private func failure(_ sql: String) -> SystemError {
    SystemError(
      operation: "query", object: "\(path): \(sql): \(String(cString: sqlite3_errmsg(handle)))",
      code: sqlite3_errcode(handle))
  }
}
