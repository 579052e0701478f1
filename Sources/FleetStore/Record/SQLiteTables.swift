internal import Fleet
internal import MQTT
internal import SQLite
internal import Spatial
internal import Telemetry

/// An opened recording with its prepared statements.
final class SQLiteTables {
  let database: Database
  private var message: StatementWriter
  private var fix: StatementWriter
  private var latest: StatementWriter
  private var visit: StatementWriter
  private var visited: Statement
  private var place: StatementWriter
  private var journal: SQLiteJournal
  /// The last visit that was stored for each vehicle.
  private var known: [VehicleKey: SQLitePositionIndex.Visit] = [:]

  init(_ database: consuming Database) throws(SQLiteError) {
    message = StatementWriter(try database.prepare(SQLiteSchema.insertMessage))
    fix = StatementWriter(try database.prepare(SQLiteSchema.insertFix))
    latest = StatementWriter(try database.prepare(SQLiteSchema.updateLatest))
    visit = StatementWriter(try database.prepare(SQLitePositionIndex.insertVisit))
    visited = try database.prepare(SQLitePositionIndex.isVisited)
    place = StatementWriter(try database.prepare(SQLitePositionIndex.insertPlace))
    journal = try SQLiteJournal(database)
    self.database = database
  }

  /// Inserts messages in one transaction; messages that exist already are ignored.
  /// - Returns: the number of new messages.
  func insert(_ messages: [RecordedMessage]) throws(SQLiteError) -> Int {
    try database.transaction { () throws(SQLiteError) in
      var added = 0
      // Elements of a span are accessed in place; a loop over the array would copy each message.
      let rows = messages.span
      for index in rows.indices where try insert(rows[index]) { added += 1 }
      for position in LatestPositions(messages).positions {
        latest.columns(of: position)
        try latest.run()
      }
      return added
    }
  }

  /// Inserts a message; returns false if it already exists.
  private func insert(_ recorded: RecordedMessage) throws(SQLiteError) -> Bool {
    message.columns(of: recorded)
    message.payload(of: recorded)
    try message.run()
    guard database.changes > 0 else { return false }
    for (place, one) in recorded.fixes.enumerated() {
      fix.columns(of: one, at: place, in: recorded)
      try fix.run()
    }
    guard let fleet = recorded.fleet, let vehicle = recorded.vehicle else { return true }
    if let kind = recorded.kind, JournalRow.kinds.contains(kind) {
      if let row = JournalRow(recorded) { try journal.insert(row) }
      return true
    }
    let key = VehicleKey(fleet: fleet, vehicle: vehicle)
    try SQLitePositionIndex.Visit.forEach(of: recorded) { one throws(SQLiteError) in
      if known[key] != one { try insert(one, by: key) }
    }
    return true
  }

  private func insert(_ one: SQLitePositionIndex.Visit, by vehicle: VehicleKey) throws(SQLiteError) {
    if known.count > MessageRecording.mostTopics { known.removeAll() }
    known[vehicle] = one
    // Whether the R*Tree contains the cell is found in the table of visits, which is faster.
    visited.bind(1, one.cell)
    let hasPlace = try visited.step()
    visited.reset()
    visit.columns(of: one, by: vehicle)
    try visit.run()
    guard !hasPlace else { return }
    place.columns(ofCell: one.cell)
    try place.run()
  }

  /// Deletes old data, and discards the cache of stored visits, which can contain deleted ones.
  func expire(_ expiry: SQLiteExpiry) throws(SQLiteError) -> StoreExpiry {
    known.removeAll()
    return try expiry.run(database)
  }
}

/// A writer that binds columns to the parameters of a statement. Times are milliseconds.
struct StatementWriter: RowWriter, ~Copyable {
  private var statement: Statement
  private var parameter = 0

  init(_ statement: consuming Statement) { self.statement = statement }

  private mutating func next() -> Int {
    parameter += 1
    return parameter
  }

  mutating func text(_ value: String?) { statement.bind(next(), value) }
  mutating func bigint(_ value: Int64?) { statement.bind(next(), value) }
  mutating func integer(_ value: Int32) { statement.bind(next(), Int64(value)) }
  mutating func smallint(_ value: Int16) { statement.bind(next(), Int64(value)) }
  mutating func double(_ value: Double?) { statement.bind(next(), value) }
  mutating func bool(_ value: Bool) { statement.bind(next(), value) }
  mutating func timestamp(_ value: UTCTime?) { statement.bind(next(), value?.milliseconds) }
  mutating func utf8(_ value: [UInt8]) { statement.bind(next(), utf8: value) }

  mutating func json(_ value: [UInt8]?) {
    let place = next()
    if let value { statement.bind(place, utf8: value) }
  }

  mutating func payload(of message: RecordedMessage) {
    if message.isText {
      statement.bind(next(), utf8: message.payload)
    } else {
      statement.bind(next(), blob: message.payload)
    }
  }

  mutating func run() throws(SQLiteError) {
    parameter = 0
    try statement.run()
  }
}
