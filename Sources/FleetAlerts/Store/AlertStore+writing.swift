package import Fleet
package import SQLite
package import Spatial

/// The changes that are written in one transaction.
package struct AlertWrites {
  var entries: [AlertEngine.EntryKey: AlertEngine.Entry?] = [:]
  var seen: [VehicleKey: [String]] = [:]
  /// Changed alerts in order of their changes; a later version of an alert replaces an earlier one.
  var alerts: [Alert] = []
  /// The names of the receivers that are notified of alerts, by the alert's number.
  var receivers: [Int64: [String]] = [:]
  /// The rules under which conditions are stored from now on; nil if unchanged.
  var rules: [AlertRule]?
  /// The numbers of alerts whose end by an operator was processed.
  var ends: [Int64] = []
  var plan = NoticePlan.Written()
  /// Alerts that were grouped and are now reported.
  var told: [Notice.Item] = []
  var messages: [AlertMessage] = []
  var silences: [Silence] = []
  /// The numbers of messages that receivers have accepted.
  var taken: [Int64] = []
  var failed: [(number: Int64, failure: String)] = []
  /// The messages that were given up, with the reason.
  var gone: [(number: Int64, failure: String)] = []
  /// The time before which the end of alerts must have been noticed that are deleted; nil to delete none.
  var forgottenBefore: UTCTime?

  var isEmpty: Bool {
    entries.isEmpty && seen.isEmpty && alerts.isEmpty && receivers.isEmpty && rules == nil && ends.isEmpty
      && plan.held.isEmpty
      && plan.released.isEmpty && plan.gathered.isEmpty && told.isEmpty && messages.isEmpty
      && silences.isEmpty && taken.isEmpty
      && failed.isEmpty && gone.isEmpty && forgottenBefore == nil
  }

  mutating func add(_ written: AlertEngine.Written) {
    for (key, entry) in written.entries { entries.updateValue(entry, forKey: key) }
    for (vehicle, keys) in written.seen { seen[vehicle] = keys }
  }

  mutating func add(_ written: NoticePlan.Written) {
    plan.held += written.held
    plan.released += written.released
    plan.gathered += written.gathered
  }
}

extension AlertStore {
  /// Writes all changes in one transaction.
  /// - Parameters:
  ///   - writes: the changes.
  ///   - now: the current time, for converting monotonic times to civil ones.
  package func write(_ writes: AlertWrites, at now: Moment) throws(SQLiteError) {
    guard isCurrent else {
      throw SQLiteError(
        code: .cannotOpen,
        message: "it was removed or replaced; restore it, or restart the server, which creates another one",
        sql: "write", file: database.path)
    }
    try database.transaction { () throws(SQLiteError) in
      try write(writes.entries, at: now)
      try write(writes.seen)
      try write(writes.alerts)
      try write(receivers: writes.receivers)
      if let rules = writes.rules { try write(rules) }
      try mark(writes.ends, "DELETE FROM ends WHERE number = ?1")
      try mark(writes.plan.held, "UPDATE alerts SET held = 1 WHERE number = ?1")
      try mark(writes.plan.released, "UPDATE alerts SET held = 0 WHERE number = ?1")
      try gather(writes.plan.gathered, "INSERT OR IGNORE INTO gathered VALUES (?1, ?2)")
      try gather(writes.told, "DELETE FROM gathered WHERE number = ?1 AND transition = ?2")
      try write(writes.messages)
      for silence in writes.silences { try add(silence) }
      try mark(writes.taken, "DELETE FROM messages WHERE number = ?1")
      try fail(
        writes.failed, "UPDATE messages SET attempts = attempts + 1, failure = ?2 WHERE number = ?1")
      try fail(writes.gone, "UPDATE messages SET gone = 1, failure = ?2 WHERE number = ?1")
      if let time = writes.forgottenBefore { try forget(before: time, at: now.time) }
    }
  }

  private func write(
    _ entries: [AlertEngine.EntryKey: AlertEngine.Entry?], at now: Moment
  ) throws(SQLiteError) {
    guard !entries.isEmpty else { return }
    var insert = try database.prepare(
      "INSERT OR REPLACE INTO entries VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)")
    var remove = try database.prepare(
      "DELETE FROM entries WHERE rule = ?1 AND fleet = ?2 AND vehicle = ?3 AND subject = ?4")
    func civil(_ timestamp: Timestamp) -> Int64 {
      now.time.advanced(bySeconds: timestamp.seconds(since: now.timestamp)).nanoseconds
    }
    for (key, entry) in entries {
      guard let entry else {
        remove.bind(1, key.rule)
        remove.bind(2, key.vehicle.fleet)
        remove.bind(3, key.vehicle.vehicle)
        remove.bind(4, key.subject)
        try remove.run()
        continue
      }
      insert.bind(1, key.rule)
      insert.bind(2, key.vehicle.fleet)
      insert.bind(3, key.vehicle.vehicle)
      insert.bind(4, key.subject)
      insert.bind(5, entry.holds)
      insert.bind(6, civil(entry.since))
      insert.bind(7, entry.alert)
      insert.bind(8, entry.value)
      insert.bind(9, entry.overdue.map(civil))
      insert.bind(10, entry.place?.latitude)
      insert.bind(11, entry.place?.longitude)
      insert.bind(12, entry.isFromBefore)
      try insert.run()
    }
  }

  private func write(_ seen: [VehicleKey: [String]]) throws(SQLiteError) {
    guard !seen.isEmpty else { return }
    var insert = try database.prepare("INSERT OR REPLACE INTO seen VALUES (?1, ?2, ?3)")
    var remove = try database.prepare("DELETE FROM seen WHERE fleet = ?1 AND vehicle = ?2")
    for (vehicle, keys) in seen {
      guard !keys.isEmpty else {
        remove.bind(1, vehicle.fleet)
        remove.bind(2, vehicle.vehicle)
        try remove.run()
        continue
      }
      insert.bind(1, vehicle.fleet)
      insert.bind(2, vehicle.vehicle)
      insert.bind(3, keys.map { $0.replacing("\n", with: " ") }.joined(separator: "\n"))
      try insert.run()
    }
  }

  private func write(_ alerts: [Alert]) throws(SQLiteError) {
    guard let last = alerts.last else { return }
    var insert = try database.prepare(
      """
      INSERT INTO alerts (number, rule, fleet, vehicle, subject, severity, summary, began, ended, latitude, longitude, value, reason,
        remedy, noticed)
      VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)
      ON CONFLICT (number) DO UPDATE SET ended = excluded.ended, reason = excluded.reason, noticed = excluded.noticed
      """)
    for alert in alerts {
      insert.bind(1, alert.number)
      insert.bind(2, alert.rule)
      insert.bind(3, alert.vehicle.fleet)
      insert.bind(4, alert.vehicle.vehicle)
      insert.bind(5, alert.subject)
      insert.bind(6, alert.severity.rawValue)
      insert.bind(7, alert.summary)
      insert.bind(8, alert.began.nanoseconds)
      insert.bind(9, alert.ended?.nanoseconds)
      insert.bind(10, alert.place?.latitude)
      insert.bind(11, alert.place?.longitude)
      insert.bind(12, alert.value)
      insert.bind(13, alert.reason?.rawValue)
      insert.bind(14, alert.remedy)
      insert.bind(15, alert.noticed?.nanoseconds)
      try insert.run()
    }
    try used(alerts.map(\.number).max() ?? last.number, "alerts")
  }

  private func write(receivers: [Int64: [String]]) throws(SQLiteError) {
    guard !receivers.isEmpty else { return }
    var statement = try database.prepare("UPDATE alerts SET receivers = ?2 WHERE number = ?1")
    for (number, names) in receivers {
      statement.bind(1, number)
      statement.bind(2, names.joined(separator: "\n"))
      try statement.run()
    }
  }

  private func write(_ rules: [AlertRule]) throws(SQLiteError) {
    try database.execute("DELETE FROM rules")
    var insert = try database.prepare("INSERT OR REPLACE INTO rules VALUES (?1, ?2)")
    for rule in rules {
      insert.bind(1, rule.name)
      insert.bind(2, rule.condition.kind.rawValue)
      try insert.run()
    }
  }

  private func write(_ messages: [AlertMessage]) throws(SQLiteError) {
    guard let last = messages.last else { return }
    var insert = try database.prepare(
      """
      INSERT INTO messages (number, receiver, key, created, subject, body, vehicles)
      VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
      """)
    for message in messages {
      insert.bind(1, message.number)
      insert.bind(2, message.receiver)
      insert.bind(3, message.key)
      insert.bind(4, message.created.nanoseconds)
      insert.bind(5, message.subject)
      insert.bind(6, blob: message.body)
      insert.bind(7, VehicleKey.text(message.vehicles))
      try insert.run()
    }
    try used(last.number, "messages")
  }

  /// Stores the last used number of a table, so that numbers are not reused after rows were deleted.
  private func used(_ number: Int64, _ table: String) throws(SQLiteError) {
    try database.execute(
      """
      INSERT INTO meta VALUES ('last_\(table)', '\(number)')
      ON CONFLICT (name) DO UPDATE SET value = max(CAST(value AS INTEGER), CAST(excluded.value AS INTEGER))
      """)
  }

  private func mark(_ numbers: [Int64], _ sql: String) throws(SQLiteError) {
    guard !numbers.isEmpty else { return }
    var statement = try database.prepare(sql)
    for number in numbers {
      statement.bind(1, number)
      try statement.run()
    }
  }

  private func gather(_ items: [Notice.Item], _ sql: String) throws(SQLiteError) {
    guard !items.isEmpty else { return }
    var statement = try database.prepare(sql)
    for item in items {
      statement.bind(1, item.alert.number)
      statement.bind(2, item.transition.rawValue)
      try statement.run()
    }
  }

  private func fail(_ failures: [(number: Int64, failure: String)], _ sql: String) throws(SQLiteError) {
    guard !failures.isEmpty else { return }
    var statement = try database.prepare(sql)
    for (number, failure) in failures {
      statement.bind(1, number)
      statement.bind(2, String(failure.prefix(300)))
      try statement.run()
    }
  }

  /// Adds a silence. If a silence for the same rule and vehicles exists, the later end applies.
  package func add(_ silence: Silence) throws(SQLiteError) {
    var longer = try database.prepare(
      """
      UPDATE silences SET until = max(until, ?4) WHERE rule IS ?1 AND fleet IS ?2 AND vehicle IS ?3
      """)
    longer.bind(1, silence.rule)
    longer.bind(2, silence.fleet)
    longer.bind(3, silence.vehicle)
    longer.bind(4, silence.until.nanoseconds)
    try longer.run()
    guard database.changes == 0 else { return }
    var statement = try database.prepare(
      "INSERT INTO silences (rule, fleet, vehicle, until) VALUES (?1, ?2, ?3, ?4)")
    statement.bind(1, silence.rule)
    statement.bind(2, silence.fleet)
    statement.bind(3, silence.vehicle)
    statement.bind(4, silence.until.nanoseconds)
    try statement.run()
  }

  /// Deletes the silences of a rule, a fleet and a vehicle; nil matches all. Returns the number of deleted
  /// silences.
  func endSilences(rule: String?, fleet: String?, vehicle: String?) throws(SQLiteError) -> Int {
    var statement = try database.prepare(
      """
      DELETE FROM silences WHERE (?1 IS NULL OR rule IS ?1) AND (?2 IS NULL OR fleet IS ?2)
        AND (?3 IS NULL OR vehicle IS ?3)
      """)
    statement.bind(1, rule)
    statement.bind(2, fleet)
    statement.bind(3, vehicle)
    try statement.run()
    return database.changes
  }

  /// Marks alerts that the service must end.
  package func requestEnds(_ numbers: [Int64]) throws(SQLiteError) {
    try database.transaction { () throws(SQLiteError) in
      try mark(numbers, "INSERT OR IGNORE INTO ends VALUES (?1)")
    }
  }

  /// Makes all messages due again that were given up. Returns their number.
  package func retryGone(at time: UTCTime) throws(SQLiteError) -> Int {
    var statement = try database.prepare("UPDATE messages SET gone = 0, created = ?1 WHERE gone = 1")
    statement.bind(1, time.nanoseconds)
    try statement.run()
    return database.changes
  }

  private func forget(before time: UTCTime, at now: UTCTime) throws(SQLiteError) {
    for (sql, limit) in [
      (
        // An alert can be noticed long after its end.
        "DELETE FROM alerts WHERE ended < ?1 AND ifnull(noticed, ended) < ?1 AND held = 0 AND number NOT IN (SELECT number FROM gathered)",
        time
      ),
      ("DELETE FROM messages WHERE gone = 1 AND created < ?1", time),
      ("DELETE FROM silences WHERE until < ?1", now),
    ] {
      var statement = try database.prepare(sql)
      statement.bind(1, limit.nanoseconds)
      try statement.run()
    }
  }
}
