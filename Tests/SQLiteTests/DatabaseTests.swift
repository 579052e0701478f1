import CSQLite
import Foundation
import Glibc
import SQLite
import TestSupport
import Testing

@Suite struct DatabaseTests {
  let directory: TemporaryDirectory
  let path: String

  init() throws {
    directory = try TemporaryDirectory()
    path = directory.file("test.sqlite")
  }

  private func error(_ body: () throws(SQLiteError) -> Void) -> SQLiteError? {
    do throws(SQLiteError) { try body() } catch { return error }
    return nil
  }

  /// The owner alone may read positions of vehicles, whatever the umask.
  @Test func createsFilesThatOnlyTheOwnerCanRead() throws {
    let database = try Database(path: path, access: .create)
    try database.execute("PRAGMA journal_mode = WAL; CREATE TABLE t (a INTEGER)")
    for file in [path, path + "-wal", path + "-shm"] {
      let attributes = try FileManager.default.attributesOfItem(atPath: file)
      #expect((attributes[.posixPermissions] as? Int) == 0o600, "\(file)")
    }
  }

  @Test func anErrorNamesCodeStatementAndFile() throws {
    let database = try Database(path: path, access: .create)
    try database.execute("CREATE TABLE t (a INTEGER PRIMARY KEY)")
    let syntax = try #require(error { () throws(SQLiteError) in try database.execute("SELEC 1") })
    #expect(syntax.code.rawValue == SQLITE_ERROR && syntax.sql == "SELEC 1" && syntax.file == path)
    #expect(syntax.message.contains("syntax error"))
    let twice = try #require(
      error { () throws(SQLiteError) in try database.execute("INSERT INTO t VALUES (1), (1)") })
    // The extended code is SQLITE_CONSTRAINT_PRIMARYKEY.
    #expect(twice.code.primary == .constraint && twice.code.rawValue == 1555)
    #expect("\(twice)".contains(path) && "\(twice)".contains("UNIQUE"))
    let missing = directory.file("none/x.sqlite")
    for access in [Database.Access.readOnly, .readWrite, .create] {
      let open = try #require(
        error { () throws(SQLiteError) in _ = try Database(path: missing, access: access) })
      #expect(open.code.primary == .cannotOpen && open.sql == "open" && open.file == missing)
    }
  }

  @Test func aMissingFileIsCreatedOnlyOnRequest() throws {
    #expect(throws: SQLiteError.self) { _ = try Database(path: path, access: .readWrite) }
    #expect(access(path, F_OK) != 0)
    _ = try Database(path: path, access: .create).integer("PRAGMA schema_version")
    #expect(access(path, F_OK) == 0)
    let database = try Database(path: path, access: .readOnly)
    let refused = try #require(error { () throws(SQLiteError) in try database.execute("CREATE TABLE t (a)") })
    #expect(refused.code.primary == .readOnly)
  }

  @Test func damageDiffersFromErrorsOfTheDisk() throws {
    let text = try directory.write("text", "this is no database, and long enough to tell, one would think\n")
    let damaged = try #require(
      error { () throws(SQLiteError) in
        _ = try Database(path: text, access: .readWrite).integer("PRAGMA user_version")
      })
    #expect(damaged.isDamage && damaged.code.primary == .notADatabase)
    let database = try Database(path: path, access: .create)
    try database.execute("CREATE TABLE t (a); PRAGMA max_page_count = 2")
    let full = try #require(
      error { () throws(SQLiteError) in try database.execute("INSERT INTO t VALUES (zeroblob(100000))") })
    #expect(!full.isDamage && full.code.primary == .full)
  }

  @Test func aTransactionIsAtomic() throws {
    let database = try Database(path: path, access: .create)
    try database.execute("CREATE TABLE t (a UNIQUE)")
    let rows = try database.transaction { () throws(SQLiteError) in
      try database.execute("INSERT INTO t VALUES (1)")
      return try database.integer("SELECT count(*) FROM t")
    }
    #expect(rows == 1)
    #expect(throws: SQLiteError.self) {
      try database.transaction { () throws(SQLiteError) in
        try database.execute("INSERT INTO t VALUES (2)")
        try database.execute("INSERT INTO t VALUES (1)")
      }
    }
    // The transaction is over: another one can start.
    try database.transaction { () throws(SQLiteError) in try database.execute("INSERT INTO t VALUES (3)") }
    #expect(try database.text("SELECT group_concat(a) FROM t") == "1,3")
    #expect(database.changes == 1)
  }

  /// A lock of another connection is waited for until the timeout, and then reported.
  @Test func aLockIsBusy() throws {
    let first = try Database(path: path, access: .create)
    try first.execute("PRAGMA journal_mode = WAL; CREATE TABLE t (a)")
    let second = try Database(path: path, access: .readWrite, busyTimeout: .zero)
    try first.transaction { () throws(SQLiteError) in
      let busy = error { () throws(SQLiteError) in
        try second.transaction { () throws(SQLiteError) in try second.execute("INSERT INTO t VALUES (1)") }
      }
      #expect(busy?.code.primary == .busy)
    }
    try second.transaction { () throws(SQLiteError) in try second.execute("INSERT INTO t VALUES (1)") }
    #expect(try first.integer("SELECT count(*) FROM t") == 1)
  }

  @Test func aCheckpointLeavesOneFile() throws {
    let database = try Database(path: path, access: .create)
    try database.execute("PRAGMA journal_mode = WAL; CREATE TABLE t (a)")
    var status = stat()
    #expect(stat(path + "-wal", &status) == 0 && status.st_size > 0)
    try database.checkpoint()
    #expect(stat(path + "-wal", &status) == 0 && status.st_size == 0)
  }

  @Test func migrationsRunOnceAndInOrder() throws {
    let steps = ["CREATE TABLE t (a)", "INSERT INTO t VALUES (1)", "INSERT INTO t VALUES (2)"]
    let database = try Database(path: path, access: .create)
    #expect(try database.migrate(Array(steps.prefix(2))))
    #expect(try database.userVersion() == 2)
    #expect(try database.migrate(steps))
    #expect(try database.migrate(steps))
    #expect(try database.text("SELECT group_concat(a) FROM t") == "1,2")
    // A file of a newer program is unchanged.
    #expect(try !database.migrate(Array(steps.prefix(2))))
    #expect(try database.userVersion() == 3)
  }

  @Test func aMigrationThatFailsChangesNothing() throws {
    let database = try Database(path: path, access: .create)
    let steps = ["CREATE TABLE t (a)", "INSERT INTO t VALUES (1); INSERT INTO missing VALUES (1)"]
    #expect(throws: SQLiteError.self) { try database.migrate(steps) }
    #expect(try database.userVersion() == 1)
    #expect(try database.integer("SELECT count(*) FROM t") == 0)
  }

  /// A migration continues from a version that is stored elsewhere.
  @Test func theVersionMayBeStoredElsewhere() throws {
    let database = try Database(path: path, access: .create)
    try database.execute("CREATE TABLE old (version); INSERT INTO old VALUES (1)")
    let known = try database.migrate(["CREATE TABLE old (version)", "CREATE TABLE t (a)"]) {
      database throws(SQLiteError) in
      let version = try database.userVersion()
      return version > 0 ? version : Int(try database.integer("SELECT version FROM old") ?? 0)
    }
    #expect(try known && database.userVersion() == 2)
  }

  /// A file that was copied without its log, and whose name has special characters.
  @Test func anImmutableFileIsReadWithoutALock() throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("a b#c?d%20é.sqlite")
    do {
      let database = try Database(path: path, access: .create)
      try database.execute("PRAGMA journal_mode = WAL; CREATE TABLE t (x); INSERT INTO t VALUES (42)")
    }
    let database = try Database(path: path, access: .immutable)
    #expect(try database.integer("SELECT x FROM t") == 42)
    #expect(throws: SQLiteError.self) { try database.execute("INSERT INTO t VALUES (1)") }
    #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path).count == 1)
  }
}
