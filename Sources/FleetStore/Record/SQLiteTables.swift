internal import Fleet
internal import MQTT
internal import SQLite
internal import Spatial
internal import Telemetry

/// An open recording with its prepared statements.
final class SQLiteTables {
  let database: Database
  private var message: StatementWriter
  private var fix: StatementWriter
  private var latest: StatementWriter
  private var place: StatementWriter
  /// The place that each vehicle was at last, which is there already.
  private var known: [VehicleKey: SQLitePlaces.Place] = [:]

  init(_ database: consuming Database) throws(SQLiteError) {
    message = StatementWriter(try database.prepare(SQLiteSchema.insertMessage))
    fix = StatementWriter(try database.prepare(SQLiteSchema.insertFix))
    latest = StatementWriter(try database.prepare(SQLiteSchema.updateLatest))
    place = StatementWriter(try database.prepare(SQLitePlaces.insert))
    self.database = database
  }

  /// Adds messages, all or none, but for those that are there already. Returns how many it added.
  func insert(_ messages: [RecordedMessage]) throws(SQLiteError) -> Int {
    try database.transaction { () throws(SQLiteError) in
      var added = 0
      for recorded in messages {
        message.columns(of: recorded)
        message.payload(of: recorded)
        try message.run()
        guard database.changes > 0 else { continue }
        added += 1
        for (place, one) in recorded.fixes.enumerated() {
          fix.columns(of: one, at: place, in: recorded)
          try fix.run()
        }
        try SQLitePlaces.Place.forEach(of: recorded) { one throws(SQLiteError) in try insert(one) }
      }
      for position in LatestPositions(messages).positions {
        latest.columns(of: position)
        try latest.run()
      }
      return added
    }
  }

  private func insert(_ one: SQLitePlaces.Place) throws(SQLiteError) {
    guard known.updateValue(one, forKey: one.vehicle) != one else { return }
    if known.count > MessageRecording.mostTopics { known.removeAll() }
    place.columns(of: one)
    try place.run()
  }

  /// Makes the places of a recording that had none before, all or none.
  func fillPlaces() throws(SQLiteError) {
    guard try database.integer(SQLitePlaces.isUnfilled) == 1 else { return }
    try database.transaction { () throws(SQLiteError) in
      var rows = try database.prepare(SQLitePlaces.former, isPersistent: false)
      while try rows.step() {
        guard let fleet = rows.text(0), let vehicle = rows.text(1), let slot = rows.integer(2),
          let row = rows.integer(3), let column = rows.integer(4)
        else { continue }
        place.columns(
          of: SQLitePlaces.Place(
            vehicle: VehicleKey(fleet: fleet, vehicle: vehicle), slot: slot, row: row, column: column))
        try place.run()
      }
    }
  }
}

/// Binds columns to the parameters of a statement. Times are milliseconds.
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
