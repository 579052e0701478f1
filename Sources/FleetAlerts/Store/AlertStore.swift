package import Fleet
internal import Glibc
package import SQLite
package import Spatial

/// A message to a receiver. It is stored before it is sent.
package struct AlertMessage: Hashable, Sendable {
  /// The number of the message; numbers increase.
  package var number: Int64
  package var receiver: String
  /// The idempotency key, which is the same for each attempt, and by which receivers detect duplicates.
  package var key: String
  package var created: UTCTime
  package var subject: String
  package var body: [UInt8]
  package var vehicles: [VehicleKey]
  var attempts = 0
  /// The reason of the last failed attempt; nil if there was none.
  package var failure: String?
}

/// The alert store: the state of the engine, the alerts, and the message queue, which change together in one
/// transaction.
///
/// The service writes to it. Commands read it at the same time, and add silences and other requests. A commit
/// is on the disk when it returns (`synchronous = FULL`).
package struct AlertStore: ~Copyable {
  package let database: Database
  /// A random text that was created with the store. It makes alerts' identifiers different from those of an
  /// earlier store.
  package let epoch: String
  private let lock: AlertLock?
  /// The identity of the opened file, by which its replacement or deletion is noticed.
  private let identity: FileIdentity?

  /// Opens a store.
  ///
  /// - Parameters:
  ///   - path: the path of the file.
  ///   - isReader: true if the file must exist; otherwise it is created.
  ///   - isService: true for the program that sends the messages; only one can open the store at a time.
  /// - Throws: `FleetError` if the store cannot be used.
  package init(path: String, isReader: Bool = false, isService: Bool = false) throws(FleetError) {
    let held = isService ? try AlertLock(path) : nil
    if !isReader {
      // The file contains positions, so it is created readable for this user only; SQLite would create a file
      // that every user can read. If this fails, SQLite reports the reason.
      let descriptor = unsafe open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
      if descriptor >= 0 { close(descriptor) }
    }
    do throws(SQLiteError) {
      let database = try Database(
        path: path, access: isReader ? .readWrite : .create, busyTimeout: .seconds(10))
      if !isReader { try database.execute("PRAGMA journal_mode = WAL") }
      try database.execute("PRAGMA synchronous = FULL")
      if isReader {
        let version = try database.userVersion()
        guard version == AlertSchema.steps.count else {
          let isOlder = version > 0 && version < AlertSchema.steps.count
          throw SQLiteError(
            code: .constraint,
            message: isOlder
              ? "no odograph serve of this version has used it yet; start it once"
              : "no odograph serve has created it; name the file that the server uses with --store",
            sql: "open", file: path)
        }
      } else {
        guard try database.migrate(AlertSchema.steps) else {
          throw SQLiteError(
            code: .notADatabase, message: "written by a newer version", sql: "open", file: path)
        }
        let made = String(UInt64.random(in: 0 ... .max), radix: 16)
        let padded = String(repeating: "0", count: 16 - made.utf8.count) + made
        try database.execute("INSERT OR IGNORE INTO meta VALUES ('epoch', '\(padded)')")
      }
      epoch = try database.text("SELECT value FROM meta WHERE name = 'epoch'") ?? ""
      lock = held
      identity = FileIdentity(path)
      self.database = database
    } catch {
      throw Self.failure(error, path)
    }
  }

  package static func failure(_ error: SQLiteError, _ path: String) -> FleetError {
    let cause =
      switch error.code.primary {
      case .cannotOpen:
        "\(FileFailure.causeOfFailure(toOpen: path) ?? error.message); check store below [alerts]"
      case .notADatabase, .corrupt: "\(error.message); move it away, so that a new store is created"
      case .busy: "another program uses it"
      default: error.message
      }
    return .usage("use the alerts in", path, cause)
  }

  /// True if the path still refers to the opened file; false after the file was replaced or deleted.
  var isCurrent: Bool { FileIdentity(database.path) == identity }

  /// Returns a number that changes whenever another program modifies the file.
  package func version() throws(SQLiteError) -> Int64 { try database.integer("PRAGMA data_version") ?? 0 }

  // MARK: Reading

  package func alerts(where condition: String) throws(SQLiteError) -> [(alert: Alert, isHeld: Bool)] {
    var statement = try database.prepare(
      """
      SELECT number, rule, fleet, vehicle, subject, severity, summary, began, ended, latitude, longitude, value, held,
        reason, remedy, noticed
      FROM alerts WHERE \(condition)
      """, isPersistent: false)
    var found: [(alert: Alert, isHeld: Bool)] = []
    while try statement.step() {
      let alert = Alert(
        number: statement.int64(0), rule: statement.text(1) ?? "",
        vehicle: VehicleKey(fleet: statement.text(2) ?? "", vehicle: statement.text(3) ?? ""),
        subject: statement.text(4) ?? "", severity: Severity(rawValue: statement.text(5) ?? "") ?? .warning,
        summary: statement.text(6) ?? "", remedy: statement.text(14),
        began: UTCTime(nanoseconds: statement.int64(7)),
        ended: statement.integer(8).map(UTCTime.init(nanoseconds:)), place: Self.place(statement, 9),
        value: statement.double(11), reason: statement.text(13).flatMap(EndReason.init(rawValue:)),
        noticed: statement.integer(15).map(UTCTime.init(nanoseconds:)))
      found.append((alert, statement.int64(12) != 0))
    }
    return found
  }

  private static func place(_ statement: borrowing Statement, _ column: Int) -> Coordinate? {
    guard let latitude = statement.double(column), let longitude = statement.double(column + 1) else {
      return nil
    }
    return Coordinate(latitude: latitude, longitude: longitude)
  }

  /// Returns the stored conditions.
  ///
  /// - Parameter now: the current time, for converting civil times to monotonic ones.
  package func entries(at now: Moment) throws(SQLiteError) -> [(
    key: AlertEngine.EntryKey, entry: AlertEngine.Entry
  )] {
    var statement = try database.prepare(
      """
      SELECT rule, fleet, vehicle, subject, holds, since, alert, value, overdue, latitude, longitude, before
      FROM entries
      """, isPersistent: false)
    func moment(_ nanoseconds: Int64) -> Timestamp {
      now.timestamp.advanced(bySeconds: UTCTime(nanoseconds: nanoseconds).seconds(since: now.time))
    }
    // If the clock was set back, a stored time can be in the future. It is then replaced by the current time.
    func past(_ nanoseconds: Int64) -> Timestamp { min(moment(nanoseconds), now.timestamp) }
    var found: [(key: AlertEngine.EntryKey, entry: AlertEngine.Entry)] = []
    while try statement.step() {
      let vehicle = VehicleKey(fleet: statement.text(1) ?? "", vehicle: statement.text(2) ?? "")
      var entry = AlertEngine.Entry(since: past(statement.int64(5)))
      entry.holds = statement.int64(4) != 0
      entry.alert = statement.integer(6)
      entry.value = statement.double(7)
      entry.overdue = statement.integer(8).map(moment)
      entry.place = Self.place(statement, 9)
      entry.isFromBefore = statement.int64(11) != 0
      found.append(
        (.init(rule: statement.text(0) ?? "", vehicle: vehicle, subject: statement.text(3) ?? ""), entry))
    }
    return found
  }

  /// Returns the names of the receivers that were notified of each alert, by the alert's number; alerts
  /// without stored receivers are omitted.
  package func receivers() throws(SQLiteError) -> [Int64: [String]] {
    var statement = try database.prepare(
      """
      SELECT number, receivers FROM alerts WHERE receivers IS NOT NULL
        AND (ended IS NULL OR held = 1 OR number IN (SELECT number FROM gathered))
      """, isPersistent: false)
    var found: [Int64: [String]] = [:]
    // Equal lists are parsed once, because most alerts have the same receivers.
    var lists: [String: [String]] = [:]
    while try statement.step() {
      let text = statement.text(1) ?? ""
      let list = lists[text] ?? text.split(separator: "\n").map(String.init)
      lists[text] = list
      found[statement.int64(0)] = list
    }
    return found
  }

  /// Returns the kinds of the rules under which conditions are stored, by the rule's name.
  func kinds() throws(SQLiteError) -> [String: AlertRule.Kind] {
    var statement = try database.prepare("SELECT name, kind FROM rules", isPersistent: false)
    var found: [String: AlertRule.Kind] = [:]
    while try statement.step() {
      found[statement.text(0) ?? ""] = AlertRule.Kind(rawValue: statement.text(1) ?? "")
    }
    return found
  }

  /// Returns the numbers of alerts that an operator has ended, and that the service has not processed yet.
  package func ends() throws(SQLiteError) -> [Int64] {
    var statement = try database.prepare("SELECT number FROM ends ORDER BY number", isPersistent: false)
    var found: [Int64] = []
    while try statement.step() { found.append(statement.int64(0)) }
    return found
  }

  package func seen() throws(SQLiteError) -> [(vehicle: VehicleKey, keys: [String])] {
    var statement = try database.prepare("SELECT fleet, vehicle, keys FROM seen", isPersistent: false)
    var found: [(vehicle: VehicleKey, keys: [String])] = []
    while try statement.step() {
      let keys = (statement.text(2) ?? "").split(separator: "\n").map(String.init)
      found.append((VehicleKey(fleet: statement.text(0) ?? "", vehicle: statement.text(1) ?? ""), keys))
    }
    return found
  }

  /// Returns the alerts that wait in groups, by rule, in chronological order.
  package func gathered() throws(SQLiteError) -> [Notice] {
    var alerts: [Int64: Alert] = [:]
    for (alert, _) in try self.alerts(where: "number IN (SELECT number FROM gathered)") {
      alerts[alert.number] = alert
    }
    var statement = try database.prepare(
      "SELECT number, transition FROM gathered ORDER BY rowid", isPersistent: false)
    var notices: [Notice] = []
    while try statement.step() {
      guard var alert = alerts[statement.int64(0)],
        let transition = AlertTransition(rawValue: statement.text(1) ?? "")
      else { continue }
      // The time of the notice belongs to the end.
      if transition == .began, alert.ended != nil { (alert.ended, alert.noticed) = (nil, nil) }
      if let place = notices.firstIndex(where: { $0.rule == alert.rule }) {
        notices[place].items.append(.init(alert, transition))
      } else {
        notices.append(Notice(rule: alert.rule, items: [.init(alert, transition)]))
      }
    }
    return notices
  }

  package func silences() throws(SQLiteError) -> [Silence] {
    var statement = try database.prepare("SELECT rule, fleet, vehicle, until FROM silences ORDER BY id")
    var found: [Silence] = []
    while try statement.step() {
      found.append(
        Silence(
          rule: statement.text(0), fleet: statement.text(1), vehicle: statement.text(2),
          until: UTCTime(nanoseconds: statement.int64(3))))
    }
    return found
  }

  /// Returns receiver, number, vehicles and creation time of the messages that wait, in order of their
  /// numbers.
  package func waiting() throws(SQLiteError) -> [(
    receiver: String, entry: DeliveryQueue.Entry, created: UTCTime
  )] {
    var statement = try database.prepare(
      "SELECT number, receiver, vehicles, created FROM messages WHERE gone = 0 ORDER BY number",
      isPersistent: false)
    var found: [(receiver: String, entry: DeliveryQueue.Entry, created: UTCTime)] = []
    while try statement.step() {
      let vehicles = VehicleKey.list(statement.text(2) ?? "")
      found.append(
        (
          statement.text(1) ?? "", .init(number: statement.int64(0), vehicles: vehicles),
          UTCTime(nanoseconds: statement.int64(3))
        ))
    }
    return found
  }

  /// Returns a message by its number; nil if it does not exist any more.
  package func message(_ number: Int64) throws(SQLiteError) -> AlertMessage? {
    var statement = try database.prepare(
      "SELECT receiver, key, created, subject, body, attempts FROM messages WHERE number = ?1",
      isPersistent: false)
    statement.bind(1, number)
    guard try statement.step() else { return nil }
    return AlertMessage(
      number: number, receiver: statement.text(0) ?? "", key: statement.text(1) ?? "",
      created: UTCTime(nanoseconds: statement.int64(2)), subject: statement.text(3) ?? "",
      body: statement.bytes(4), vehicles: [], attempts: Int(clamping: statement.int64(5)))
  }

  func largest(_ table: String) throws(SQLiteError) -> Int64 {
    let last = try database.integer("SELECT max(number) FROM \(table)") ?? 0
    let used = try database.text("SELECT value FROM meta WHERE name = 'last_\(table)'").flatMap(Int64.init)
    return max(last, used ?? 0)
  }
}

/// A file lock that prevents two services from using the same store, because each would report every alert.
/// The kernel releases it when the process exits.
private final class AlertLock: Sendable {
  private let descriptor: Int32

  init(_ path: String) throws(FleetError) {
    descriptor = unsafe open(path + ".lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard descriptor >= 0, flock(descriptor, LOCK_EX | LOCK_NB) != 0, errno == EWOULDBLOCK else { return }
    throw .usage(
      "use the alerts in", path, "another odograph serve uses it; stop that one, or name another store")
  }

  deinit { if descriptor >= 0 { close(descriptor) } }
}

extension VehicleKey {
  /// Parses a list of vehicles as stored in the database. MQTT topics cannot contain its separators.
  static func list(_ text: String) -> [VehicleKey] {
    text.split(separator: "\n").compactMap { line in
      let parts = line.split(separator: "/", maxSplits: 1).map(String.init)
      return parts.count == 2 ? VehicleKey(fleet: parts[0], vehicle: parts[1]) : nil
    }
  }

  static func text(_ keys: [VehicleKey]) -> String {
    keys.map { "\($0.fleet)/\($0.vehicle)".replacing("\n", with: " ") }.joined(separator: "\n")
  }
}
