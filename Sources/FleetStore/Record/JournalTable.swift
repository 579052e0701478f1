/// A table of what vehicles tell again as it goes on: a row for each number, which the message that holds has filled.
struct JournalTable: Sendable {
  let name: String
  /// For people.
  let title: String
  /// All but the payload, of which the last of all columns has a copy: what a message says that has no column.
  let columns: String
  /// What tells the message that holds from those before it, in SQL and in order: the greatest counts. At the end the
  /// payload itself, as two messages of the same rank may not be told apart by which came first.
  let rank: [String]
  /// When it began, and when it was over, by the vehicle's clock: what is older than the days that are kept goes by both.
  let begin: String
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

  /// The version of the schema that has these tables, the same in every database.
  static let version = 5

  static let all = [trips, drivingEvents]

  /// What identifies a row.
  private static let key = "vehicle, fleet, series, number"

  private var names: [String] {
    (columns + ", payload").split(separator: ",").map { String($0.drop { $0 == " " }) }
  }

  /// How many there are, with the payload.
  var columnCount: Int { names.count }

  /// Of a row by its name. Texts compare by their bytes, the same in every database.
  private func rank(of row: String, collation: String) -> [String] {
    (rank + ["#.payload\(collation)"]).map { $0.replacing("#", with: row) }
  }

  /// What a row becomes by a message of a higher rank; by any other it stays.
  /// - Parameter known: the name by which the row that is there is known.
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

  /// Takes a row's columns as parameters.
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

  /// Of a batch only the message that holds, as a command changes no row twice. In order, so that two recorders that meet
  /// wait for each other and do not lock each other out.
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

  // MARK: Both

  /// Conditions for what is older than a limit, each of which an index by `begin` answers: by the vehicle's clock where that
  /// can be believed, and by the recorder's else. What goes on over the limit stays.
  func isOld(limit: String, believedFrom: String, believedTo: String) -> [String] {
    [
      "\(begin) >= \(believedFrom) AND \(begin) < \(limit) AND (\(end) < \(limit) OR received < \(limit))",
      "\(begin) < \(believedFrom) AND received < \(limit)",
      "\(begin) >= \(believedTo) AND received < \(limit)",
    ]
  }
}
