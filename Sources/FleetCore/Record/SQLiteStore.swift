internal import CSQLite
internal import GRDB
internal import Glibc
internal import MQTT
internal import Spatial
internal import Telemetry

/// A recording in one SQLite file, beside which there are two more while it is written (WAL mode).
final class SQLiteStore: FleetStore {
  let name: String
  private let path: String
  private var queue: DatabaseQueue?
  /// Which file is open.
  private var file: FileIdentity?

  /// "odog": what `file(1)` and this program know the file by.
  static let applicationID = 0x6F64_6F67

  /// Its memory statistics cost a lock for every allocation, and nobody asks for them.
  private static let withoutStatistics: Void = odograph_sqlite_without_memory_statistics()

  init(path: String) {
    _ = Self.withoutStatistics
    self.path = path
    name = path
  }

  func open() throws(FleetStoreError) {
    queue = nil
    do {
      var configuration = Configuration()
      configuration.journalMode = .wal
      // A reader that copies the file or a backup may hold the lock for a while.
      configuration.busyMode = .timeout(10)
      configuration.label = "record"
      configuration.prepareDatabase { db in
        // What is acknowledged to the broker has to survive a loss of power.
        try db.execute(
          sql: "PRAGMA synchronous = FULL; PRAGMA cache_size = -16000; PRAGMA wal_autocheckpoint = 4000")
      }
      let queue = try DatabaseQueue(path: path, configuration: configuration)
      let application = try queue.read { db in
        let tables = try Int.fetchOne(db, sql: "SELECT count(*) FROM sqlite_master") ?? 0
        return tables == 0 ? Self.applicationID : try Int.fetchOne(db, sql: "PRAGMA application_id") ?? 0
      }
      guard application == Self.applicationID else {
        throw FleetStoreError(
          operation: "open", object: name, cause: "it is a database of another program; name another file")
      }
      try queue.write { db in try db.execute(sql: "PRAGMA application_id = \(Self.applicationID)") }
      let migrator = SQLiteSchema.migrator
      guard try !queue.read({ try migrator.hasBeenSuperseded($0) }) else {
        throw FleetStoreError(
          operation: "open", object: name, cause: "a newer odograph made it; use that or a newer one")
      }
      try migrator.migrate(queue)
      file = FileIdentity(path)
      self.queue = queue
    } catch {
      throw failure("open", error)
    }
  }

  func store(_ messages: [RecordedMessage]) throws(FleetStoreError) -> Int {
    do {
      if queue == nil { try open() }
      guard let queue else { return 0 }
      let added = try queue.write { db in
        var message = try RowWriter(db, SQLiteSchema.insertMessage)
        var fix = try RowWriter(db, SQLiteSchema.insertFix)
        var added = 0
        for recorded in messages {
          try message.write(recorded)
          guard db.changesCount > 0 else { continue }
          added += 1
          for (place, one) in recorded.fixes.enumerated() { try fix.write(one, place, of: recorded) }
        }
        return added
      }
      // What is in a file without a name is lost at the end.
      guard FileIdentity(path) == file else {
        throw FleetStoreError(
          operation: "write to", object: name, cause: "it was taken away or replaced; it is opened anew")
      }
      return added
    } catch {
      // The next attempt opens it anew: the file may have been taken away, or its disk.
      queue = nil
      throw failure("write to", error)
    }
  }

  func close() {
    // Leaves one file that is all there is.
    try? queue?.writeWithoutTransaction { db in _ = try db.checkpoint(.truncate) }
    try? queue?.close()
    queue = nil
  }

  private func failure(_ operation: String, _ error: any Error) -> FleetStoreError {
    if let error = error as? FleetStoreError { return error }
    guard let error = error as? DatabaseError else {
      return FleetStoreError(operation: operation, object: name, cause: "\(error)")
    }
    var cause = error.message ?? "SQLite error \(error.extendedResultCode.rawValue)"
    switch error.resultCode {
    case .SQLITE_FULL: cause += "; make room on its disk"
    case .SQLITE_CANTOPEN, .SQLITE_READONLY: cause += "; check the folder and its permissions"
    case .SQLITE_NOTADB: cause += "; name another file"
    case .SQLITE_BUSY: cause += "; another program writes to it"
    default: break
    }
    return FleetStoreError(operation: operation, object: name, cause: cause)
  }
}

/// Tells a file from another that takes its name.
private struct FileIdentity: Hashable {
  private let device: UInt
  private let number: UInt

  /// nil when there is none of that name.
  init?(_ path: String) {
    var status = stat()
    guard unsafe stat(path, &status) == 0 else { return nil }
    (device, number) = (UInt(status.st_dev), UInt(status.st_ino))
  }
}

/// Writes rows with one prepared statement. Binding by GRDB makes a value of each; SQLite's own functions do not,
/// which matters at tens of thousands of rows a second.
@safe private struct RowWriter: ~Copyable {
  private let statement: OpaquePointer
  private let db: Database
  /// The texts of a row, one after the other: SQLite reads them from here, which spares it a copy of each.
  private var texts: [UInt8] = []

  init(_ db: Database, _ sql: String) throws {
    self.db = db
    unsafe statement = unsafe try db.cachedStatement(sql: sql).sqliteStatement
  }

  // What is bound in place is gone with this writer, the statement is not.
  deinit { unsafe sqlite3_clear_bindings(statement) }

  mutating func write(_ message: RecordedMessage) throws {
    let fields = message.fields
    texts.removeAll(keepingCapacity: true)
    let topic = add(message.topic)
    let (fleet, vehicle, kind) = (add(message.fleet), add(message.vehicle), add(message.kind))
    let (epoch, event) = (add(fields.epoch), add(fields.event))
    bind(1, message.received.milliseconds)
    bind(2, fields.time?.milliseconds)
    bind(7, Int64(message.qos.rawValue))
    bind(8, Int64(message.retain ? 1 : 0))
    bind(10, fields.seq)
    bind(11, message.hash)
    bind(13, fields.latitude)
    bind(14, fields.longitude)
    bind(15, fields.altitude)
    bind(16, fields.accuracy)
    bind(17, fields.speed)
    bind(18, fields.course)
    try unsafe texts.withUnsafeBytes { texts in
      try unsafe message.payload.withUnsafeBytes { payload in
        unsafe bind(3, topic, in: texts)
        unsafe bind(4, fleet, in: texts)
        unsafe bind(5, vehicle, in: texts)
        unsafe bind(6, kind, in: texts)
        unsafe bind(9, epoch, in: texts)
        unsafe bind(12, event, in: texts)
        let count = Int32(clamping: payload.count)
        if message.isText {
          unsafe odograph_bind_text_in_place(statement, 19, payload.baseAddress, count)
        } else {
          unsafe odograph_bind_blob_in_place(statement, 19, payload.baseAddress, count)
        }
        try step()
      }
    }
  }

  mutating func write(_ fix: TrackMessage.Fix, _ place: Int, of message: RecordedMessage) throws {
    texts.removeAll(keepingCapacity: true)
    let (fleet, vehicle) = (add(message.fleet), add(message.vehicle))
    let epoch = add(message.fields.epoch)
    bind(3, fix.time.milliseconds)
    bind(4, fix.coordinate.latitude)
    bind(5, fix.coordinate.longitude)
    bind(6, fix.horizontalAccuracy)
    bind(8, message.fields.seq)
    bind(9, Int64(place))
    try unsafe texts.withUnsafeBytes { texts in
      unsafe bind(1, fleet, in: texts)
      unsafe bind(2, vehicle, in: texts)
      unsafe bind(7, epoch, in: texts)
      try step()
    }
  }

  private func step() throws {
    let code = unsafe sqlite3_step(statement)
    unsafe sqlite3_reset(statement)
    guard code == SQLITE_DONE else {
      let handle = unsafe sqlite3_db_handle(statement)
      let text = unsafe String(cString: sqlite3_errmsg(handle))
      throw DatabaseError(resultCode: ResultCode(rawValue: code), message: text)
    }
  }

  /// Where the text stands among the row's; nil for nil.
  private mutating func add(_ text: String?) -> Range<Int>? {
    guard var text else { return nil }
    let start = texts.count
    text.withUTF8 { unsafe texts.append(contentsOf: $0) }
    return start..<texts.count
  }

  private func bind(_ index: Int32, _ value: Int64?) {
    if let value {
      unsafe sqlite3_bind_int64(statement, index, value)
    } else {
      unsafe sqlite3_bind_null(statement, index)
    }
  }

  private func bind(_ index: Int32, _ value: Double?) {
    if let value {
      unsafe sqlite3_bind_double(statement, index, value)
    } else {
      unsafe sqlite3_bind_null(statement, index)
    }
  }

  private func bind(_ index: Int32, _ place: Range<Int>?, in texts: UnsafeRawBufferPointer) {
    if let place {
      unsafe odograph_bind_text_in_place(
        statement, index, texts.baseAddress.map { unsafe $0 + place.lowerBound }, Int32(clamping: place.count)
      )
    } else {
      unsafe sqlite3_bind_null(statement, index)
    }
  }
}

extension UTCTime {
  /// Milliseconds since 1970, rounded down.
  var milliseconds: Int64 {
    let (quotient, rest) = nanoseconds.quotientAndRemainder(dividingBy: 1_000_000)
    return rest < 0 ? quotient - 1 : quotient
  }
}
