internal import SQLite

/// Deletes old data from a recording in SQLite, some thousand rows at a time, so that other connections wait
/// only briefly. The file keeps its size; new rows reuse the space.
struct SQLiteExpiry {
  /// The limit in ms since 1970; older rows are deleted.
  private let limit: Int64
  /// The range of credible vehicle times in ms since 1970. For a time outside of it, the recorder's time of
  /// reception determines the age.
  private let believed: Range<Int64>

  private static let portion = 5000
  private static let day: Int64 = 86_400_000

  init(before day: Day, today: Day) {
    let days = PartitionedDays()
    limit = Int64(day.number) * Self.day
    believed = limit - Int64(days.before) * Self.day..<Int64(today.number + days.after + 1) * Self.day
  }

  func run(_ database: borrowing Database) throws(SQLiteError) -> StoreExpiry {
    var rows = 0
    for (table, isOld) in conditions {
      var vehicle = ""
      var fleet = ""
      rows += try delete(from: table, where: isOld, vehicle: nil, fleet: nil, database)
      // Finds the next vehicle in the index, one step for each vehicle.
      var next = try database.prepare(
        "SELECT vehicle, fleet FROM \(table) WHERE (vehicle, fleet) > (?, ?) ORDER BY vehicle, fleet LIMIT 1")
      while true {
        next.bind(1, vehicle)
        next.bind(2, fleet)
        guard try next.step(), let one = next.text(0), let its = next.text(1) else { break }
        next.reset()
        (vehicle, fleet) = (one, its)
        rows += try delete(from: table, where: isOld, vehicle: vehicle, fleet: fleet, database)
      }
    }
    let slot = SQLitePositionIndex.slot
    try database.execute(
      """
      DELETE FROM latest WHERE received < \(limit) OR (time >= \(believed.lowerBound) AND time < \(limit));
      DELETE FROM visits WHERE slot < \(limit / slot) AND slot >= \(believed.lowerBound / slot);
      DELETE FROM visits WHERE (slot < \(believed.lowerBound / slot) OR slot > \(believed.upperBound / slot))
        AND NOT EXISTS (SELECT 1 FROM messages AS m WHERE m.vehicle = visits.vehicle AND m.fleet = visits.fleet
          AND m.time >= slot * \(slot) AND m.time < (slot + 1) * \(slot))
        AND NOT EXISTS (SELECT 1 FROM fixes AS f WHERE f.vehicle = visits.vehicle AND f.fleet = visits.fleet
          AND f.time >= slot * \(slot) AND f.time < (slot + 1) * \(slot));
      DELETE FROM places WHERE NOT EXISTS (SELECT 1 FROM visits WHERE cell = places.id);
      """)
    return StoreExpiry(rows: rows)
  }

  /// The tables, with conditions for old rows. Each condition uses one index.
  private var conditions: [(table: String, isOld: [String])] {
    let isOld = [
      "time >= \(believed.lowerBound) AND time < \(limit)",
      "time IS NULL AND received < \(limit)",
      "time < \(believed.lowerBound) AND received < \(limit)",
      "time >= \(believed.upperBound) AND received < \(limit)",
    ]
    let journal = JournalTable.all.map { table in
      (
        table.name,
        table.isOld(
          limit: "\(limit)", believedFrom: "\(believed.lowerBound)", believedTo: "\(believed.upperBound)")
      )
    }
    return [("messages", isOld), ("fixes", isOld)] + journal
  }

  private func delete(
    from table: String, where conditions: [String], vehicle: String?, fleet: String?,
    _ database: borrowing Database
  ) throws(SQLiteError) -> Int {
    var rows = 0
    for condition in conditions {
      var statement = try database.prepare(
        """
        DELETE FROM \(table) WHERE rowid IN (SELECT rowid FROM \(table)
          WHERE vehicle IS ? AND fleet IS ? AND \(condition) LIMIT \(Self.portion))
        """, isPersistent: false)
      var changed = Self.portion
      while changed == Self.portion {
        statement.bind(1, vehicle)
        statement.bind(2, fleet)
        try statement.run()
        changed = database.changes
        rows += changed
      }
    }
    return rows
  }
}
