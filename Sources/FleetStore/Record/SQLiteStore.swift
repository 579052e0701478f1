package import Fleet
internal import Glibc
internal import SQLite
internal import Spatial

/// A recording in an SQLite file. While it is written, it has two more files (WAL mode).
package final class SQLiteStore: MessageStore {
  package let name: String
  private let path: String
  private var tables: SQLiteTables?
  package let advice: String? = nil
  /// The identity of the opened file, by which its replacement or deletion is noticed.
  private var file: FileIdentity?

  package init(path: String) {
    self.path = path
    name = path
  }

  package func open() throws(FleetError) {
    tables = nil
    let refusal: String?
    do throws(SQLiteError) {
      // The lock is awaited for ten seconds, because a backup or a program that copies the file can hold it
      // that long.
      let database = try Database(path: path, access: .create, busyTimeout: .seconds(10))
      refusal = try Self.prepare(database)
      if refusal == nil { tables = try SQLiteTables(database) }
    } catch {
      throw failure("open", error)
    }
    if let refusal { throw failure("open", refusal) }
    file = FileIdentity(path)
  }

  /// Returns the reason why the database is unusable; nil if it is usable.
  private static func prepare(_ database: borrowing Database) throws(SQLiteError) -> String? {
    let isNew = try database.integer("SELECT count(*) FROM sqlite_master") == 0
    if !isNew, try !SQLiteSchema.isRecording(database) {
      return "the file is a database of another program; name another file"
    }
    guard try SQLitePositionIndex.areAvailable(database) else {
      return "this SQLite library has no R*Tree module; use one that was built with SQLITE_ENABLE_RTREE"
    }
    // Messages acknowledged to the broker must survive a power loss.
    try database.execute(
      """
      PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -16000;
      PRAGMA wal_autocheckpoint = 4000; PRAGMA application_id = \(SQLiteSchema.applicationID)
      """)
    return try database.migrate(SQLiteSchema.steps, version: SQLiteSchema.version, fill: SQLiteSchema.fill)
      ? nil : RecordingAddress.newerVersion
  }

  package func store(_ messages: [RecordedMessage]) throws(FleetError) -> Int {
    if tables == nil { try open() }
    guard let tables else { return 0 }
    let added: Int
    do throws(SQLiteError) { added = try tables.insert(messages) } catch {
      // The next attempt opens the database again, because the file or its disk can have been removed.
      self.tables = nil
      throw failure("write to", error)
    }
    // If the file was deleted or replaced, its data are lost when it is closed. The batch must be stored
    // again.
    guard FileIdentity(path) == file else {
      self.tables = nil
      throw failure("write to", "the file was deleted or replaced; reopening it")
    }
    return added
  }

  package func expire(before day: Day, today: Day) throws(FleetError) -> StoreExpiry {
    if tables == nil { try open() }
    guard let tables else { return StoreExpiry() }
    do throws(SQLiteError) { return try tables.expire(SQLiteExpiry(before: day, today: today)) } catch {
      self.tables = nil
      throw failure("delete from", error)
    }
  }

  package func close() {
    // The checkpoint leaves a single complete file, without a WAL file.
    try? tables?.database.checkpoint()
    tables = nil
  }

  private func failure(_ operation: String, _ cause: String) -> FleetError {
    FleetError(operation: operation, object: name, cause: cause, kind: .outputFailed)
  }

  private func failure(_ operation: String, _ error: SQLiteError) -> FleetError {
    if error.code.primary == .cannotOpen, let cause = FileFailure.causeOfFailure(toCreate: name) {
      return failure(operation, cause)
    }
    let remedy: String? =
      switch error.code.primary {
      case .full: "free space on its disk"
      case .cannotOpen, .readOnly: "check the folder and its permissions"
      case .notADatabase: "name another file"
      case .busy: "another program writes to it"
      default: nil
      }
    return failure(operation, ([error.message] + [remedy].compactMap { $0 }).joined(separator: "; "))
  }
}
