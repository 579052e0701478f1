import SQLite
import TestSupport
import Testing

@Suite struct StatementTests {
  let directory: TemporaryDirectory
  let path: String

  init() throws {
    directory = try TemporaryDirectory()
    path = directory.file("test.sqlite")
  }

  private func table() throws -> Database {
    let database = try Database(path: path, access: .create)
    try database.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, a)")
    return database
  }

  @Test func integersAndNumbersAreReadUnchanged() throws {
    let database = try table()
    var insert = try database.prepare("INSERT INTO t (a) VALUES (?1)")
    let integers: [Int64?] = [0, 1, -1, .max, .min, nil]
    for value in integers {
      insert.bind(1, value)
      try insert.run()
    }
    let numbers: [Double?] = [0.5, -.greatestFiniteMagnitude, .leastNonzeroMagnitude, .infinity, nil]
    for value in numbers {
      insert.bind(1, value)
      try insert.run()
    }
    insert.bind(1, true)
    try insert.run()
    var select = try database.prepare("SELECT a FROM t ORDER BY id")
    for value in integers {
      #expect(try select.step())
      #expect(select.integer(0) == value && select.int64(0) == value ?? 0)
      #expect(select.isNull(0) == (value == nil))
    }
    for value in numbers {
      #expect(try select.step())
      #expect(select.double(0) == value)
    }
    #expect(try select.step())
    #expect(select.integer(0) == 1)
    #expect(try !select.step())
  }

  @Test(arguments: ["", "a", "Größe 🚐", "it's; DROP TABLE t", String(repeating: "long ", count: 100_000)])
  func textsAreReadUnchanged(text: String) throws {
    let database = try table()
    var insert = try database.prepare("INSERT INTO t (a) VALUES (?1), (?2), (?3), (?4)")
    insert.bind(1, text)
    insert.bind(2, utf8: Array(text.utf8))
    insert.bind(3, blob: Array(text.utf8))
    insert.bind(4, nil as String?)
    try insert.run()
    var select = try database.prepare("SELECT a, typeof(a) FROM t ORDER BY id")
    for kind in ["text", "text", "blob"] {
      #expect(try select.step())
      #expect(select.text(0) == text || (kind == "blob" && text.isEmpty))
      #expect(select.text(1) == kind)
      #expect(select.bytes(0) == Array(text.utf8))
      #expect(select.withBytes(0) { $0.byteCount } == text.utf8.count)
      #expect(select.withBytes(0) { $0.isEmpty ? 0 : $0.unsafeLoad(as: UInt8.self) } == text.utf8.first ?? 0)
    }
    #expect(try select.step())
    #expect(select.text(0) == nil && select.bytes(0).isEmpty && select.isNull(0))
  }

  @Test func binaryValuesAreReadUnchanged() throws {
    let database = try table()
    let bytes: [UInt8] = [0, 0xFF, 0, 0x80]
    var insert = try database.prepare("INSERT INTO t (a) VALUES (?1)")
    insert.bind(1, blob: bytes)
    try insert.run()
    var select = try database.prepare("SELECT a FROM t")
    #expect(try select.step())
    #expect(select.bytes(0) == bytes)
  }

  /// Bound values stay valid while others are bound, whatever their size.
  @Test func manyValuesOfAllSizesAreBound() throws {
    var random = SplitMix.announced()
    let database = try Database(path: path, access: .create)
    let columns = (1...50).map { "c\($0)" }.joined(separator: ", ")
    let marks = (1...50).map { "?\($0)" }.joined(separator: ", ")
    try database.execute("CREATE TABLE t (\(columns))")
    var insert = try database.prepare("INSERT INTO t VALUES (\(marks))")
    var all: [[String]] = []
    for _ in 0..<40 {
      let row = (0..<50).map { _ in
        let size = [0, 5, 100, 2000, 60_000][Int.random(in: 0..<5, using: &random)]
        return String(
          repeating: Character(UnicodeScalar(UInt8.random(in: 97...122, using: &random))), count: size)
      }
      for (index, text) in row.enumerated() { insert.bind(index + 1, text) }
      try insert.run()
      all.append(row)
    }
    var select = try database.prepare("SELECT * FROM t ORDER BY rowid")
    for row in all {
      #expect(try select.step())
      #expect((0..<50).allSatisfy { select.text($0) == row[$0] })
    }
  }

  @Test func bindingsLastForOneRun() throws {
    let database = try table()
    var insert = try database.prepare("INSERT INTO t (a) VALUES (?1)")
    insert.bind(1, "first")
    try insert.run()
    try insert.run()
    insert.bind(1, "abandoned")
    insert.reset()
    try insert.run()
    #expect(try database.text("SELECT group_concat(coalesce(a, '-')) FROM t") == "first,-,-")
  }

  @Test func aStatementIsReadyAgainAfterAFailure() throws {
    let database = try Database(path: path, access: .create)
    try database.execute("CREATE TABLE t (a UNIQUE NOT NULL)")
    var insert = try database.prepare("INSERT INTO t VALUES (?1)")
    #expect(throws: SQLiteError.self) { try insert.run() }
    insert.bind(1, 7 as Int64)
    try insert.run()
    insert.bind(1, 7 as Int64)
    #expect { try insert.run() } throws: { ($0 as? SQLiteError)?.code.primary == .constraint }
    // There is no second parameter.
    insert.bind(2, "x")
    #expect { try insert.run() } throws: { ($0 as? SQLiteError)?.code.rawValue == 25 }
    insert.bind(1, 8 as Int64)
    try insert.run()
    #expect(try database.text("SELECT group_concat(a) FROM t") == "7,8")
  }

  @Test func remainingRowsAreDiscarded() throws {
    let database = try table()
    try database.execute("INSERT INTO t (a) VALUES (1), (2), (3)")
    var select = try database.prepare("SELECT a FROM t WHERE a >= ?1 ORDER BY a")
    select.bind(1, 2 as Int64)
    #expect(try select.step())
    #expect(select.integer(0) == 2)
    select.reset()
    select.bind(1, 3 as Int64)
    #expect(try select.step())
    #expect(select.integer(0) == 3)
    #expect(try !select.step())
  }

  /// A statement retains its connection.
  @Test func aStatementOutlivesItsDatabase() throws {
    func statement() throws -> Statement { try table().prepare("SELECT 42") }
    var select = try statement()
    #expect(try select.step())
    #expect(select.integer(0) == 42)
  }
}
