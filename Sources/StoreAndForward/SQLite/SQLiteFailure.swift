internal import CSQLite

/// What SQLite answered in place of success.
struct SQLiteFailure: Error, Hashable, CustomStringConvertible {
  /// The extended result code.
  var code: Int32
  /// SQLite's own words.
  var message: String
  /// The statement or the step that failed.
  var operation: String

  /// The result code without its extension.
  var primaryCode: Int32 { code & 0xFF }

  /// Whether the file's content is broken, as opposed to the disk being unwilling.
  var isDamage: Bool { primaryCode == SQLITE_CORRUPT || primaryCode == SQLITE_NOTADB }

  var description: String { "\(message) (SQLite code \(code)) at: \(operation)" }
}
