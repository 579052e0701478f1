import FleetFixtures
import FleetStore
import SQLite
import Simulation
import Spatial
import Telemetry
import TestSupport
import Testing

/// Each trip and each driving event has one row with its valid message, in both databases.
@Suite struct JournalTablesTests {
  private typealias Rows = RecordedRows
  private typealias Entry = JournalMessages

  /// Stores messages in random order, in batches of random size, each up to three times.
  private func store(
    _ messages: [RecordedMessage], in store: any MessageStore, _ generator: inout SeededGenerator
  )
    throws
  {
    let copies = messages.flatMap { Array(repeating: $0, count: Int.random(in: 1...3, using: &generator)) }
    var rest = copies.shuffled(using: &generator)[...]
    while !rest.isEmpty {
      let batch = rest.prefix(Int.random(in: 1...60, using: &generator))
      rest = rest.dropFirst(batch.count)
      _ = try store.store(Array(batch))
    }
  }

  /// Queries of the tables in a form that both databases accept.
  private let contents = """
    SELECT vehicle, series, number, revision, phase, kind, distance, driver, seq, payload FROM #trips
      ORDER BY vehicle COLLATE ~, series, number;
    SELECT vehicle, series, number, CASE WHEN ongoing THEN 1 ELSE 0 END, trip, event, duration, seq, payload
      FROM #driving_events ORDER BY vehicle COLLATE ~, series, number
    """

  private func contents(_ reader: SQLiteReader) throws -> [[String]] {
    try contents.replacing("#", with: "").replacing("~", with: "BINARY").split(separator: ";").flatMap {
      // PostgreSQL prints whole numbers without a decimal point.
      try reader.rows(String($0)).map { $0.map { text in (text ?? "").replacing(/^(\d+)\.0$/) { $0.1 } } }
    }
  }

  private func contents(_ server: PostgreSQLFixture) throws -> [[String]] {
    try contents.replacing("#", with: "odograph.").replacing("~", with: #""C""#).split(separator: ";").flatMap
    { try server.query(String($0)) }
  }

  /// The valid payload of each number, computed without a database.
  private func expected(_ messages: [RecordedMessage]) -> Set<String> {
    var best: [String: (rank: (Int, Double), text: String)] = [:]
    for row in JournalRow.rows(of: messages) {
      let (key, rank): (String, (Int, Double))
      switch row.entry {
      case .trip(let trip):
        key = "\(row.vehicle) trip \(trip.trip)"
        rank = (trip.revision * 2 + (trip.phase == .ended ? 1 : 0), 0)
      case .drivingEvent(let event):
        key = "\(row.vehicle) event \(event.journal)"
        rank = (event.isOngoing ? 0 : 1, event.duration ?? 0)
      }
      let text = String(decoding: row.payload, as: UTF8.self)
      if let known = best[key] {
        let isNewer =
          known.rank == rank
          ? Array(known.text.utf8).lexicographicallyPrecedes(Array(text.utf8)) : known.rank < rank
        guard isNewer else { continue }
      }
      best[key] = (rank, text)
    }
    return Set(best.values.map(\.text))
  }

  @Test func anyOrderAndRepetitionsGiveTheSameTablesInSQLite() throws {
    var generator = SeededGenerator.announced()
    let messages = Rows.of(Entry.all(&generator))
    var tables: Set<[[String]]> = []
    for round in 0..<8 {
      let directory = try TemporaryDirectory()
      let path = directory.file("fleet.sqlite")
      let store = SQLiteStore(path: path)
      try store.open()
      if round == 0 { _ = try store.store(messages) } else { try self.store(messages, in: store, &generator) }
      store.close()
      tables.insert(try contents(SQLiteReader(path)))
    }
    #expect(tables.count == 1)
    #expect(Set(tables.first?.compactMap(\.last) ?? []) == expected(messages))
    // Three vehicles with two series of six trips and six events each.
    #expect(tables.first?.count == 3 * 2 * (6 + 6))
  }

  @Test(.needs(.postgreSQL)) func anyOrderAndRepetitionsGiveTheSameTablesInPostgreSQL() throws {
    var generator = SeededGenerator.announced()
    let messages = Rows.of(Entry.all(&generator))
    let directory = try TemporaryDirectory()
    let path = directory.file("fleet.sqlite")
    let reference = SQLiteStore(path: path)
    try reference.open()
    _ = try reference.store(messages)
    let said = try contents(SQLiteReader(path))
    let server = try PostgreSQLFixture()
    for round in 0..<4 {
      let store = PostgreSQLStore(address: server.url)
      try store.open()
      if round == 0 { _ = try store.store(messages) } else { try self.store(messages, in: store, &generator) }
      store.close()
      #expect(try contents(server) == said)
      _ = try server.query("SET client_min_messages = error; DROP SCHEMA odograph CASCADE")
    }
    reference.close()
  }

  @Test(.needs(.postgreSQL)) func columnsMatchTheMessages() throws {
    let directory = try TemporaryDirectory()
    let server = try PostgreSQLFixture()
    let path = directory.file("fleet.sqlite")
    let messages = Rows.of([
      Entry.trip(7, revision: 3, seq: 5, driver: "anna"),
      Entry.event(2, .overSpeed, trip: 7, severity: .high, seq: 6, region: "depot"),
    ])
    for store in [SQLiteStore(path: path), PostgreSQLStore(address: server.url)] as [any MessageStore] {
      try store.open()
      #expect(try store.store(messages) == 2)
      store.close()
    }
    let trip = """
      SELECT fleet, vehicle, series, number, revision, phase, kind, start_latitude, start_longitude, start_accuracy,
        start_odometer, end_latitude, end_longitude, end_accuracy, end_odometer, distance, estimated, moving, standing,
        idling, greatest_speed, mean_speed, fuel, electricity, driver, purpose, epoch, seq FROM #trips
      """
    let columns = [
      "demo", "van", Entry.series, "7", "3", "ended", "driven", "48.125", "11.5", "2.5", "1200", "48.25",
      "11.75", "",
      "1700", "500", "12.5", "540", "60", "8.5", "13.25", "1", "0.125", "-0.5", "anna", "delivery", "e",
      "5",
    ]
    let event = """
      SELECT fleet, vehicle, series, number, event, trip, latitude, longitude, accuracy, speed, peak, threshold, duration,
        severity, confidence, region, epoch, seq FROM #driving_events
      """
    let eventColumns = [
      "demo", "van", Entry.series, "2", "overSpeed", "7", "48.125", "11.5", "2.5", "12.5", "4.25", "3", "1.5",
      "high",
      "0.875", "depot", "e", "6",
    ]
    let reader = try SQLiteReader(path)
    for (sql, wanted) in [(trip, columns), (event, eventColumns)] {
      #expect(try server.query(sql.replacing("#", with: "odograph.")) == [wanted])
      let row = try reader.rows(sql.replacing("#", with: "")).first ?? []
      #expect(row.map { ($0 ?? "").replacing(/^(-?\d+)\.0$/) { $0.1 } } == wanted)
    }
    #expect(
      try reader.rows("SELECT start_time, end_time, received, events ->> 'harshBraking' FROM trips") == [
        ["\(noon.milliseconds)", "\(noon.milliseconds + 600_000)", "\(noon.milliseconds)", "2"]
      ])
    #expect(
      try server.query(
        """
        SELECT extract(epoch FROM start_time)::bigint, extract(epoch FROM end_time - start_time)::int,
          events ->> 'harshBraking', extract(epoch FROM received)::bigint FROM odograph.trips
        """) == [["\(noon.milliseconds / 1000)", "600", "2", "\(noon.milliseconds / 1000)"]])
    #expect(try server.query("SELECT ongoing FROM odograph.driving_events") == [["f"]])
  }

  /// Messages that are no trips are recorded, too, and messages that a database cannot store do not block others.
  @Test(.needs(.postgreSQL)) func hostileMessagesDoNotBlockOthers() throws {
    let directory = try TemporaryDirectory()
    let server = try PostgreSQLFixture()
    let good = Entry.trip(1)
    let zero = (
      "van/trip",
      good.1.replacing(#""number":1"#, with: #""number":2"#)
        .replacing(#""purpose":"delivery""#, with: #""purpose":"a\u0000b","driver":"\u0000""#)
        .replacing(#""kerb":1"#, with: #""k\u0000":1"#).replacing(#""seq":101"#, with: #""seq":102"#)
    )
    let largest = (
      "van/driving/event",
      Entry.event(1).1.replacing(#""number":1"#, with: #""number":9223372036854775807"#)
    )
    let wrong = [
      ("van/trip", #"{"time":"2026-11-21T12:00:00.000Z","series":"0123456789abcdef","number":3}"#),
      ("van/trip", "no JSON"), ("van/driving/event", "[]"),
      ("van/driving/event", Entry.event(4).1.replacing(#""severity":"medium""#, with: #""severity":"sad""#)),
    ]
    let path = directory.file("fleet.sqlite")
    for store in [SQLiteStore(path: path), PostgreSQLStore(address: server.url)] as [any MessageStore] {
      try store.open()
      #expect(try store.store(Rows.of([zero, largest] + wrong + [good])) == 7)
      store.close()
    }
    let reader = try SQLiteReader(path)
    let trips = [["1", "delivery", ""], ["2", "ab", ""]]
    #expect(
      try reader.rows("SELECT number, purpose, coalesce(driver, '') FROM trips ORDER BY number") == trips)
    #expect(
      try server.query("SELECT number, purpose, coalesce(driver, '') FROM odograph.trips ORDER BY number")
        == trips)
    #expect(
      try server.query("SELECT events FROM odograph.trips WHERE number = 2") == [[#"{"harshBraking": 2}"#]])
    #expect(try server.query("SELECT number FROM odograph.driving_events") == [["9223372036854775807"]])
  }
}
