import CSQLite3
import Telemetry

/// A table of locations. Each batch is one transaction.
struct LocationDatabase {
  struct Row {
    var vehicle: String
    var identity: MessageIdentity
    var message: LocationMessage
  }

  struct Failure: Error, CustomStringConvertible {
    var description: String
  }

  private let handle: OpaquePointer

  init(path: String) throws {
    var opened: OpaquePointer?
    guard sqlite3_open(path, &opened) == SQLITE_OK, let opened else {
      throw Failure(description: "\(path) cannot be opened")
    }
    handle = opened
    // Vehicle, epoch and number identify a message: a duplicate is the same row.
    try execute(
      """
      CREATE TABLE IF NOT EXISTS location (
        vehicle TEXT, epoch TEXT, seq INTEGER, time TEXT, latitude REAL, longitude REAL, accuracy REAL,
        PRIMARY KEY (vehicle, epoch, seq)) WITHOUT ROWID
      """)
  }

  func insert(_ rows: [Row]) throws {
    try execute("BEGIN")
    var statement: OpaquePointer?
    sqlite3_prepare_v2(
      handle, "INSERT OR IGNORE INTO location VALUES (?, ?, ?, ?, ?, ?, ?)", -1, &statement, nil)
    defer { sqlite3_finalize(statement) }
    // SQLite copies the text.
    let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
    for row in rows {
      let location = row.message.location
      sqlite3_bind_text(statement, 1, row.vehicle, -1, transient)
      sqlite3_bind_text(statement, 2, row.identity.epoch, -1, transient)
      sqlite3_bind_int64(statement, 3, Int64(clamping: row.identity.seq))
      sqlite3_bind_text(statement, 4, row.message.time.rfc3339, -1, transient)
      sqlite3_bind_double(statement, 5, location.coordinate.latitude)
      sqlite3_bind_double(statement, 6, location.coordinate.longitude)
      if let accuracy = location.horizontalAccuracy {
        sqlite3_bind_double(statement, 7, accuracy)
      } else {
        sqlite3_bind_null(statement, 7)
      }
      guard sqlite3_step(statement) == SQLITE_DONE else { throw failure }
      sqlite3_reset(statement)
    }
    try execute("COMMIT")
  }

  private func execute(_ sql: String) throws {
    guard sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK else { throw failure }
  }

  private var failure: Failure { Failure(description: String(cString: sqlite3_errmsg(handle))) }
}
