internal import CSQLite

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
    package static let inputOutput = Code(rawValue: SQLITE_IOERR)
    package static let misuse = Code(rawValue: SQLITE_MISUSE)
    package static let notADatabase = Code(rawValue: SQLITE_NOTADB)
    package static let readOnly = Code(rawValue: SQLITE_READONLY)
    package static let tooBig = Code(rawValue: SQLITE_TOOBIG)
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
