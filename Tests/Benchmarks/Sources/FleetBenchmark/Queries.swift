import Glibc
import Support

// Queries of a backend to a recording in the former and in the current schema. The rows are created in the former schema by SQL; `record
// --prepare` migrates them, which is timed, too.

/// A hundred vehicles, fifty days, every tenth position from a track. Vehicles move for eight hours per day within fifty kilometres.
struct Fleet {
  let rows: Int
  let days = (1...51).map { number in
    number <= 31
      ? "2026-10-\(number < 10 ? "0" : "")\(number)" : "2026-11-\(number < 41 ? "0" : "")\(number - 31)"
  }
  /// Positions per vehicle and day.
  var positions: Int { max(1, rows / 5000) }

  /// - Parameters: SQL expressions of the numbers of vehicle, day and position, from 0; they use functions of the database.
  func latitude(_ vehicle: String, _ day: String, _ position: String) -> String {
    "48.137 + 0.22 * sin(\(vehicle) * 1.7 + \(day) * 7 + \(position) * 0.006)"
  }

  func longitude(_ vehicle: String, _ day: String, _ position: String) -> String {
    "11.575 + 0.33 * cos(\(vehicle) * 1.3 + \(day) * 5 + \(position) * 0.0045)"
  }

  var postgreSQL: String {
    let step = 28_800.0 / Double(positions)
    let from = """
      FROM generate_series(0, 49) AS day, generate_series(0, \(positions - 1)) AS i, generate_series(0, 99) AS vehicle,
        LATERAL (SELECT '2026-10-01 08:00Z'::timestamptz + day * interval '1 day' + i * \(step) * interval '1 second',
          \(latitude("vehicle", "day", "i")), \(longitude("vehicle", "day", "i"))) AS at (time, latitude, longitude)
      """
    return """
      INSERT INTO odograph.messages (day, received, time, topic, fleet, vehicle, kind, qos, retain, epoch, seq, latitude,
          longitude, altitude, accuracy, speed, course, payload)
        SELECT (time AT TIME ZONE 'UTC')::date, time, time, 'odograph/v1/bench/van-' || vehicle || '/location', 'bench',
          'van-' || vehicle, 'location', 1, false, '9f3a61c2d4e5', day * \(positions) + i, latitude, longitude, 520.25,
          2.5, 13.375, 271.25, '{"time":"2026-11-21T12:00:00.000Z","latitude":' || latitude || ',"longitude":' ||
          longitude || ',"altitude":520.25,"horizontalAccuracy":2.50,"speed":13.375,"course":271.25,"epoch":"9f3a61c2d4e5","seq":' || i || '}'
        \(from) WHERE i % 10 <> 0;
      INSERT INTO odograph.fixes
        SELECT (time AT TIME ZONE 'UTC')::date, 'bench', 'van-' || vehicle, time, latitude, longitude, 2.5,
          '9f3a61c2d4e5', day * \(positions) + i, 0
        \(from) WHERE i % 10 = 0;
      VACUUM ANALYZE;
      """
  }

  var sqlite: String {
    let step = 28_800_000 / positions
    let start = 1_790_841_600_000
    let series = """
      WITH RECURSIVE days(day) AS (SELECT 0 UNION ALL SELECT day + 1 FROM days WHERE day < 49),
        vehicles(vehicle) AS (SELECT 0 UNION ALL SELECT vehicle + 1 FROM vehicles WHERE vehicle < 99),
        steps(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM steps WHERE i < \(positions - 1)),
        given AS (SELECT day, vehicle, i, \(start) + day * 86400000 + i * \(step) AS time,
          \(latitude("vehicle", "day", "i")) AS latitude, \(longitude("vehicle", "day", "i")) AS longitude
          FROM days CROSS JOIN steps CROSS JOIN vehicles)
      """
    return """
      BEGIN;
      INSERT INTO messages (received, time, topic, fleet, vehicle, kind, qos, retain, epoch, seq, latitude, longitude,
          altitude, accuracy, speed, course, payload)
        \(series) SELECT time, time, 'odograph/v1/bench/van-' || vehicle || '/location', 'bench', 'van-' || vehicle,
          'location', 1, 0, '9f3a61c2d4e5', day * \(positions) + i, latitude, longitude, 520.25, 2.5, 13.375, 271.25,
          '{"time":"2026-11-21T12:00:00.000Z","latitude":' || latitude || ',"longitude":' || longitude ||
          ',"altitude":520.25,"horizontalAccuracy":2.50,"speed":13.375,"course":271.25,"epoch":"9f3a61c2d4e5","seq":' || i || '}'
        FROM given WHERE i % 10 <> 0;
      INSERT INTO fixes
        \(series) SELECT 'bench', 'van-' || vehicle, time, latitude, longitude, 2.5, '9f3a61c2d4e5',
          day * \(positions) + i, 0
        FROM given WHERE i % 10 = 0;
      COMMIT; ANALYZE; PRAGMA wal_checkpoint(TRUNCATE);
      """
  }
}

/// Queries, in the former and in the current form.
enum Question: String, CaseIterable {
  case newest
  case day
  /// Near a position, on one day and within one hour.
  case near
  case hour

  /// The north-east corner of the area, where the vehicles turn around: one position of three hundred is near it.
  private static let place = "48.3555, 11.902"
  /// 500 m around the position.
  private static let (south, north, west, east) = (48.3510, 48.3600, 11.8952, 11.9088)
  private static let box =
    "latitude BETWEEN \(south) AND \(north) AND longitude BETWEEN \(west) AND \(east)"

  /// Start and end in ISO 8601; queries of a day use the whole day.
  private var span: (from: String, to: String) {
    self == .hour
      ? ("2026-10-20 12:00Z", "2026-10-20 13:00Z") : ("2026-10-20 00:00Z", "2026-10-21 00:00Z")
  }

  private var milliseconds: (from: Int, to: Int) {
    self == .hour ? (1_792_497_600_000, 1_792_501_200_000) : (1_792_454_400_000, 1_792_540_800_000)
  }

  func postgreSQL(isFormer: Bool) -> String {
    let time = "time >= '\(span.from)' AND time < '\(span.to)'"
    return switch self {
    case .newest where isFormer:
      "SELECT DISTINCT ON (fleet, vehicle) * FROM odograph.positions ORDER BY fleet, vehicle, time DESC"
    case .newest: "SELECT * FROM odograph.latest"
    case .day:
      "SELECT * FROM odograph.positions WHERE vehicle = 'van-7' AND fleet = 'bench' AND \(time) ORDER BY time"
    case .near where isFormer, .hour where isFormer:
      "SELECT * FROM odograph.positions WHERE \(time) AND \(Self.box)"
    case .near, .hour: "SELECT * FROM odograph.near(\(Self.place), 500, '\(span.from)', '\(span.to)')"
    }
  }

  func sqlite(isFormer: Bool) -> String {
    let (from, to) = milliseconds
    let time = "time >= \(from) AND time < \(to)"
    return switch self {
    case .newest where isFormer: "SELECT *, max(time) FROM positions GROUP BY fleet, vehicle"
    case .newest: "SELECT * FROM latest"
    case .day: "SELECT * FROM positions WHERE vehicle = 'van-7' AND fleet = 'bench' AND \(time) ORDER BY time"
    case .near where isFormer, .hour where isFormer: "SELECT * FROM positions WHERE \(time) AND \(Self.box)"
    case .near, .hour:
      """
      SELECT * FROM positions_by_place WHERE north >= \(Self.south) AND south <= \(Self.north) AND east >= \(Self.west)
        AND west <= \(Self.east) AND until >= \(from / 1000) / 600 AND since <= \(to / 1000) / 600 AND \(time)
        AND \(Self.box)
      """
    }
  }
}

/// Runs a program with a script as its input and returns its output.
@MainActor func run(_ command: String, _ script: String) -> String {
  let (input, output) = ("\(directory)/script", "\(directory)/output")
  write(script, to: input)
  if !Child(["sh", "-c", "\(command) <\(input) >\(output)"]).wait(atMost: 3600) {
    complain("failed: \(command)")
  }
  return contents(of: output)
}

/// Returns the median of the times after a marker, without the first one, which is a warm-up.
private func median(_ output: String, after mark: String, scale: Double) -> Double {
  let times = output.split(separator: "\n").filter { $0.hasPrefix(mark) }.compactMap { line in
    line.dropFirst(mark.count).split(separator: " ").first.flatMap { Double($0) }
  }.dropFirst().sorted()
  return times.isEmpty ? .nan : times[times.count / 2] * scale
}

@MainActor private func seconds(_ work: () -> Void) -> Double {
  let start = now()
  work()
  return now() - start
}

@MainActor func measureQueries(_ databases: [String]) {
  let fleet = Fleet(rows: rowCount)
  printLine("database,question,before_ms,after_ms,ratio")
  if databases.contains("postgresql") { queryPostgreSQL(fleet) }
  if databases.contains("sqlite") { querySQLite(fleet) }
}

@MainActor private func queryPostgreSQL(_ fleet: Fleet) {
  guard let server = PostgreSQL(in: directory) else { return complain("PostgreSQL is not installed") }
  defer { server.end() }
  let psql = "psql -X -q -A -t -v ON_ERROR_STOP=1 '\(server.url)'"
  func time(_ question: Question, isFormer: Bool) -> Double {
    let times = isFormer && question != .day ? 2 : 6
    let sql = question.postgreSQL(isFormer: isFormer) + ";\n"
    return median(
      run(psql, "\\timing on\n" + String(repeating: sql, count: times)), after: "Time: ",
      scale: 1)
  }
  func size() -> String {
    run(psql, "SELECT pg_database_size(current_database()) / 1000000").filter(\.isNumber)
  }
  func rows(_ question: Question, isFormer: Bool) -> String {
    run(psql, "SELECT count(*) FROM (\(question.postgreSQL(isFormer: isFormer))) AS q").filter(\.isNumber)
  }
  let made = seconds { _ = run(psql, FormerSchemas.postgreSQL(days: fleet.days) + fleet.postgreSQL) }
  complain("PostgreSQL: \(fleet.rows) rows made in \(tenths(made)) s")
  let before = Question.allCases.map { time($0, isFormer: true) }
  let found = Question.allCases.map { rows($0, isFormer: true) }
  let formerSize = size()
  let prepare = seconds { prepareStore(server.url) }
  _ = run(psql, "VACUUM ANALYZE")
  report("postgresql", before) { time($0, isFormer: false) }
  let today = Question.allCases.map { rows($0, isFormer: false) }
  complain("rows found before and after: \(found) \(today)")
  printLine("postgresql,megabytes,\(formerSize),\(size()),")
  printLine("postgresql,migration_s,,\(tenths(prepare)),")
  _ = run(psql, "SET client_min_messages = error; CREATE EXTENSION IF NOT EXISTS postgis")
  let index = seconds { prepareStore(server.url) }
  _ = run(psql, "VACUUM ANALYZE")
  report("postgresql-postgis", before) { time($0, isFormer: false) }
  let placed = [Question.near, .hour].map { rows($0, isFormer: false) }
  complain("rows found with PostGIS: \(placed); its index took \(tenths(index)) s")
  printLine("postgresql-postgis,megabytes,\(formerSize),\(size()),")
}

@MainActor private func querySQLite(_ fleet: Fleet) {
  let path = "\(directory)/query.sqlite"
  let sqlite = "sqlite3 \(path)"
  func time(_ question: Question, isFormer: Bool) -> Double {
    let times = isFormer && question != .day ? 2 : 6
    let sql = question.sqlite(isFormer: isFormer) + ";\n"
    return median(
      run(sqlite, ".timer on\n" + String(repeating: sql, count: times)),
      after: "Run Time: real ", scale: 1000)
  }
  func size() -> String {
    run("stat -c %s \(path)", "").split(separator: "\n").first.flatMap { Int($0) }.map { "\($0 / 1_000_000)" }
      ?? "nan"
  }
  let made = seconds { _ = run(sqlite, FormerSchemas.sqlite + fleet.sqlite) }
  complain("SQLite: \(fleet.rows) rows made in \(tenths(made)) s")
  func rows(_ question: Question, isFormer: Bool) -> String {
    run(sqlite, "SELECT count(*) FROM (\(question.sqlite(isFormer: isFormer)))").filter(\.isNumber)
  }
  let before = Question.allCases.map { time($0, isFormer: true) }
  let found = Question.allCases.map { rows($0, isFormer: true) }
  let formerSize = size()
  let prepare = seconds { prepareStore(path) }
  report("sqlite", before) { time($0, isFormer: false) }
  let today = Question.allCases.map { rows($0, isFormer: false) }
  complain("rows found before and after: \(found) \(today)")
  printLine("sqlite,megabytes,\(formerSize),\(size()),")
  printLine("sqlite,migration_s,,\(tenths(prepare)),")
}

@MainActor private func report(_ database: String, _ before: [Double], _ after: (Question) -> Double) {
  for (question, former) in zip(Question.allCases, before) {
    let today = after(question)
    printLine(
      "\(database),\(question.rawValue),\(tenths(former)),\((today * 100).rounded() / 100),\(tenths(former / today))"
    )
  }
}

@MainActor func prepareStore(_ store: String) {
  if !Child(odograph("record", port: "1", ["--prepare", "--quiet", store])).wait(atMost: 3600) {
    complain("\(store) could not be migrated")
  }
}
