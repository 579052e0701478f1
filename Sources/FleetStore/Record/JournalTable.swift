/// A table of trips or driving events: for each number, a row with the message of the highest rank.
struct JournalTable: Sendable {
  let name: String
  /// The title in messages to users.
  let title: String
  /// The columns except the payload. The payload is the last column, and includes members that have no
  /// column.
  let columns: String
  /// The SQL expressions that rank the messages about the same entry, most significant first; the message
  /// with the greatest value is stored. The payload is compared last, so that the order of arrival never
  /// matters. `#` is the name of the row.
  let rank: [String]
  /// The column with the start by the vehicle's clock, by which rows are deleted as old.
  let begin: String
  /// The column with the end by the vehicle's clock; a row is retained until its end is old, too.
  let end: String

  static let trips = JournalTable(
    name: "trips", title: "trips",
    columns: """
      fleet, vehicle, series, number, revision, received, phase, kind, \
      start_time, start_latitude, start_longitude, start_accuracy, start_odometer, \
      end_time, end_latitude, end_longitude, end_accuracy, end_odometer, \
      distance, estimated, moving, standing, idling, greatest_speed, mean_speed, fuel, electricity, events, \
      driver, purpose, epoch, seq
      """,
    rank: ["#.revision", "#.phase = 'ended'"], begin: "start_time", end: "end_time")

  static let drivingEvents = JournalTable(
    name: "driving_events", title: "driving events",
    columns: """
      fleet, vehicle, series, number, received, time, event, ongoing, trip, latitude, longitude, accuracy, speed, peak, \
      threshold, duration, severity, confidence, region, epoch, seq
      """,
    rank: ["NOT #.ongoing", "coalesce(#.duration, 0)"], begin: "time", end: "time")

  /// The schema version that introduced these tables; it is the same in SQLite and PostgreSQL.
  static let version = 5

  static let all = [trips, drivingEvents]

  /// The columns of the primary key.
  private static let key = "vehicle, fleet, series, number"

  private var names: [String] {
    (columns + ", payload").split(separator: ",").map { String($0.drop { $0 == " " }) }
  }

  /// The number of columns including the payload.
  var columnCount: Int { names.count }

  /// Returns the rank expressions for a row.
  /// - Parameters:
  ///   - row: the SQL name of the row.
  ///   - collation: the SQL clause that compares texts by bytes, so that all databases order them equally.
  private func rank(of row: String, collation: String) -> [String] {
    (rank + ["#.payload\(collation)"]).map { $0.replacing("#", with: row) }
  }

  /// Returns the SQL clause that replaces an existing row if the new message has a higher rank.
  /// - Parameter known: the SQL name of the existing row.
  private func update(of known: String, collation: String) -> String {
    let keys = Self.key.split(separator: ",").map { $0.drop { $0 == " " } }
    let changes = names.filter { name in !keys.contains { $0 == name } }.map { "\($0) = excluded.\($0)" }
    let (new, old) = (rank(of: "excluded", collation: collation), rank(of: known, collation: collation))
    return """
      ON CONFLICT (\(Self.key)) DO UPDATE SET \(changes.joined(separator: ", "))
        WHERE (\(new.joined(separator: ", "))) > (\(old.joined(separator: ", ")))
      """
  }

  // MARK: SQLite

  /// The SQL for inserting or updating a row with bound parameters.
  var sqliteUpsert: String {
    let marks = names.map { _ in "?" }.joined(separator: ", ")
    return "INSERT INTO \(name) (\(columns), payload) VALUES (\(marks)) " + update(of: name, collation: "")
  }

  // MARK: PostgreSQL

  private static let bytewise = " COLLATE \"C\""

  var staging: String {
    "CREATE TEMPORARY TABLE IF NOT EXISTS staged_\(name) (LIKE odograph.\(name)) ON COMMIT DELETE ROWS"
  }

  var copyToStaging: String { "COPY staged_\(name) (\(columns), payload) FROM STDIN (FORMAT binary)" }

  /// The SQL that inserts from the staging table the message of the highest rank for each key. There is only
  /// one for each, because a command cannot update a row twice. The rows are sorted: two recorders then lock
  /// rows in the same order, without a deadlock.
  var fromStaging: String {
    let order = rank(of: "staged_\(name)", collation: Self.bytewise).map { "\($0) DESC" }
    return """
      INSERT INTO odograph.\(name) AS known (\(columns), payload)
        SELECT DISTINCT ON (\(Self.key)) \(columns), payload FROM staged_\(name)
          ORDER BY \(Self.key), \(order.joined(separator: ", "))
      \(update(of: "known", collation: Self.bytewise))
      """
  }

  var emptyStaging: String { "TRUNCATE staged_\(name)" }

  // MARK: Both databases

  /// Returns conditions for rows older than a limit; each one uses an index on `begin`. A row's age is by the
  /// vehicle's clock if credible, otherwise by the recorder's. Trips that started before the limit and ended
  /// after it are retained.
  func isOld(limit: String, believedFrom: String, believedTo: String) -> [String] {
    [
      "\(begin) >= \(believedFrom) AND \(begin) < \(limit) AND (\(end) < \(limit) OR received < \(limit))",
      "\(begin) < \(believedFrom) AND received < \(limit)",
      "\(begin) >= \(believedTo) AND received < \(limit)",
    ]
  }
}
