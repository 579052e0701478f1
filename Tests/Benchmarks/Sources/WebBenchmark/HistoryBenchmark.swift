import Glibc
import Support

/// Requests a day of 86,400 positions, out of a recording of millions, from a server, and compares this with the method of peers: all
/// points of the day as one JSON document with an object for each, as sent by the OwnTracks recorder and read by its frontend.
///
/// By default, 57 vehicles report every second of a day, and the recording contains their messages in the order of arrival: each row of a
/// vehicle is on another page, which is the worst case. The last vehicle reports tracks instead of locations.
@MainActor struct HistoryBenchmark {
  private let options: WebBenchmarkOptions

  private static let day = 86_400
  /// 2026-11-21T00:00:00Z in milliseconds.
  private static let start = 1_795_219_200_000
  private static let span = "from=2026-11-21&to=2026-11-22"

  private static let script = "Tests/WebTests/history_benchmark.py"
  private static let python = ".build/web/bin/python"

  /// Largest acceptable time in ms for a day.
  private static let limit = 500.0

  private var vehicles: Int { max(2, options.rows / Self.day) }

  init(_ options: WebBenchmarkOptions) { self.options = options }

  func run() {
    let databases = options.cases.isEmpty ? ["sqlite", "postgresql"] : options.cases
    printLine("database,question,median_ms,worst_ms,processor_ms,megabytes,resident_mb,limit_ms,verdict")
    let broker = Broker(in: options.directory)
    defer { broker.end() }
    if databases.contains("sqlite") { runSQLite(broker) }
    if databases.contains("postgresql") { runPostgreSQL(broker) }
  }

  private func runSQLite(_ broker: Broker) {
    let path = "\(options.directory)/history.sqlite"
    prepare(path)
    let start = now()
    shell("sqlite3 \(path) >/dev/null", sqliteRows)
    complain("SQLite: \(vehicles * Self.day) rows made in \(Int(now() - start)) s")
    peer("sqlite", "sqlite3 -readonly \(path)", sqlitePeer)
    ask("sqlite", path, broker)
  }

  private func runPostgreSQL(_ broker: Broker) {
    guard let server = PostgreSQL(in: options.directory) else {
      return complain("PostgreSQL is not installed")
    }
    defer { server.end() }
    prepare(server.url)
    let start = now()
    shell("psql -X -q -v ON_ERROR_STOP=1 '\(server.url)' >/dev/null", postgreSQLRows)
    complain("PostgreSQL: \(vehicles * Self.day) rows made in \(Int(now() - start)) s")
    peer("postgresql", "psql -X -q -A -t '\(server.url)'", postgreSQLPeer)
    ask("postgresql", server.url, broker)
  }

  private func prepare(_ store: String) {
    let made = Child([options.odograph, "record", "--prepare", "--quiet", store]).wait(atMost: 120)
    if !made { complain("\(store) could not be created") }
  }

  // MARK: Requests

  private func ask(_ database: String, _ store: String, _ broker: Broker) {
    guard let server = WebServerProcess(options, broker: broker, ["--recording", store]) else {
      return complain("the server does not answer")
    }
    defer { server.end() }
    let last = vehicles - 1
    let questions = [
      ("day_of_locations", "vehicles/bench/van-7/track?\(Self.span)"),
      ("day_of_tracks", "vehicles/bench/van-\(last)/track?\(Self.span)"),
      ("day_unthinned", "vehicles/bench/van-7/track?\(Self.span)&points=100000"),
      ("stops", "vehicles/bench/van-7/stops?\(Self.span)"),
      ("extent", "vehicles/bench/van-7/extent"),
      ("trips", "trips"), ("traces_of_all", "traces"),
      ("traces_of_vehicle", "traces?fleet=bench&vehicle=van-7"),
      ("ways_first", "ways?bounds=11,47.8,12.1,48.5&zoom=10"),
      ("ways", "ways?bounds=11,47.8,12.1,48.5&zoom=10"),
    ]
    for (name, path) in questions {
      var times: [Double] = []
      var bytes = 0
      let before = server.process.processorTimeSoFar
      let rounds = name == "ways_first" ? 1 : options.rounds
      for _ in 0..<rounds {
        guard let answer = server.get("/api/v1/" + path) else { return complain("\(name): no answer") }
        guard answer.status == 200 else {
          complain("\(name): \(answer.head.prefix(40))")
          break
        }
        times.append(answer.seconds * 1000)
        bytes = answer.bytes
      }
      let processor = (server.process.processorTimeSoFar - before) / Double(max(1, times.count)) * 1000
      report(database, name, times, processor, bytes, server.process.highWater)
    }
    draw(database, server)
  }

  /// Draws the same in a browser, which `Deploy/test.sh` installs in the root of the repository.
  private func draw(_ database: String, _ server: WebServerProcess) {
    for path in [Self.script, Self.python] where access(path, R_OK) != 0 {
      return complain("\(database): not drawn: no \(path) in this folder")
    }
    let (peer, output) = ("\(options.directory)/peer.json", "\(options.directory)/drawn.csv")
    let command =
      "\(Self.python) \(Self.script) http://127.0.0.1:\(server.port)/ \(peer) \(options.rounds) >\(output)"
    let drawn = Child(["sh", "-c", command]).wait(atMost: 600)
    printLine("\(database) in the browser,median_ms,worst_ms,limit_ms,verdict")
    for line in contents(of: output).split(separator: "\n") { printLine(String(line)) }
    if !drawn { complain("\(database): the page is too slow, or was not drawn") }
  }

  /// Writes the points of a day from the database to a file, without a server, which would add to the time.
  private func peer(_ database: String, _ command: String, _ sql: String) {
    var times: [Double] = []
    var bytes = 0
    let output = "\(options.directory)/peer.json"
    for _ in 0..<options.rounds {
      let start = now()
      shell("\(command) >\(output)", sql)
      times.append((now() - start) * 1000)
      bytes = contents(of: output).utf8.count
    }
    report(database, "peer_all_points", times, .nan, bytes, .nan)
  }

  private func report(
    _ database: String, _ name: String, _ times: [Double], _ processor: Double, _ bytes: Int,
    _ resident: Double
  ) {
    let sorted = times.sorted()
    guard let worst = sorted.last else { return }
    func tenths(_ number: Double) -> Double { (number * 10).rounded() / 10 }
    printLine(
      "\(database),\(name),\(tenths(sorted[sorted.count / 2])),\(tenths(worst)),\(tenths(processor)),"
        + "\((Double(bytes) / 1e6 * 1000).rounded() / 1000),\(tenths(resident)),"
        + (name.hasPrefix("day_of_")
          ? "\(Self.limit),\(sorted[sorted.count / 2] <= Self.limit ? "holds" : "FAILS")" : ","))
  }

  private func shell(_ command: String, _ script: String) {
    let input = "\(options.directory)/script"
    write(script, to: input)
    if !Child(["sh", "-c", command.replacing(">", with: "<\(input) >")]).wait(atMost: 3600) {
      complain("failed: \(command)")
    }
  }

  // MARK: Rows

  private func latitude(_ vehicle: String, _ second: String) -> String {
    "48.137 + 0.22 * sin(\(vehicle) * 1.7 + \(second) * 0.0006) + 0.0004 * sin(\(second) * 0.05)"
  }

  private func longitude(_ vehicle: String, _ second: String) -> String {
    "11.575 + 0.33 * cos(\(vehicle) * 1.3 + \(second) * 0.00045) + 0.0004 * cos(\(second) * 0.043)"
  }

  private static let payload = """
    '{"time":"2026-11-21T12:00:00.000Z","latitude":' || latitude || ',"longitude":' || longitude || \
    ',"altitude":520.25,"horizontalAccuracy":2.50,"speed":13.375,"course":271.25,"epoch":"9f3a61c2d4e5","seq":' || i || '}'
    """

  private static let columns = """
    received, time, topic, fleet, vehicle, kind, qos, retain, epoch, seq, latitude, longitude, altitude, accuracy, \
    speed, course, payload
    """

  private static let fixColumns =
    "received, fleet, vehicle, time, latitude, longitude, altitude, accuracy, speed, epoch, seq, place"

  private var sqliteRows: String {
    func given(_ range: String) -> String {
      """
      WITH RECURSIVE vehicles(v) AS (SELECT 0 UNION ALL SELECT v + 1 FROM vehicles WHERE v < \(vehicles - 1)),
        steps(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM steps WHERE i < \(Self.day - 1)),
        given AS (SELECT v, i, \(Self.start) + i * 1000 AS time, \(latitude("v", "i")) AS latitude,
          \(longitude("v", "i")) AS longitude FROM steps CROSS JOIN vehicles WHERE \(range))
      """
    }
    return """
      PRAGMA cache_size = -400000; PRAGMA synchronous = OFF; BEGIN;
      INSERT INTO messages (\(Self.columns)) \(given("v < \(vehicles - 1)"))
        SELECT time, time, 'odograph/v1/bench/van-' || v || '/location', 'bench', 'van-' || v, 'location', 1, 0,
          '9f3a61c2d4e5', i, latitude, longitude, 520.25 + i % 100, 2.5, 13.375 + i % 7, 271.25, \(Self.payload)
        FROM given;
      INSERT INTO fixes (\(Self.fixColumns)) \(given("v = \(vehicles - 1)"))
        SELECT time, 'bench', 'van-' || v, time, latitude, longitude, 520.25 + i % 100, 2.5, 13.375 + i % 7,
          '9f3a61c2d4e5', i / 60, i % 60 FROM given;
      INSERT INTO messages (\(Self.columns)) \(given("v = \(vehicles - 1) AND i % 60 = 0"))
        SELECT time, time, 'odograph/v1/bench/van-' || v || '/track', 'bench', 'van-' || v, 'track', 1, 0,
          '9f3a61c2d4e5', i / 60, NULL, NULL, NULL, NULL, NULL, NULL, '{}' FROM given;
      INSERT INTO latest SELECT fleet, vehicle, max(time), time, latitude, longitude, altitude, accuracy, speed, course,
        source FROM positions GROUP BY vehicle, fleet;
      COMMIT; ANALYZE; PRAGMA wal_checkpoint(TRUNCATE);
      """
  }

  private var postgreSQLRows: String {
    func given(_ range: String) -> String {
      """
      FROM (SELECT v, i, '2026-11-21 00:00Z'::timestamptz + i * interval '1 second' AS time,
          \(latitude("v", "i")) AS latitude, \(longitude("v", "i")) AS longitude
        FROM generate_series(0, \(Self.day - 1)) AS i, generate_series(0, \(vehicles - 1)) AS v
        WHERE \(range) ORDER BY i, v) AS given
      """
    }
    let partitions = ["messages", "fixes"].map {
      "CREATE TABLE odograph.\($0)_20261121 PARTITION OF odograph.\($0) FOR VALUES FROM ('2026-11-21 00:00Z') TO ('2026-11-22 00:00Z');"
    }
    return """
      \(partitions.joined(separator: "\n"))
      INSERT INTO odograph.messages (\(Self.columns))
        SELECT time, time, 'odograph/v1/bench/van-' || v || '/location', 'bench', 'van-' || v, 'location', 1, false,
          '9f3a61c2d4e5', i, latitude, longitude, 520.25 + i % 100, 2.5, 13.375 + i % 7, 271.25, \(Self.payload)
        \(given("v < \(vehicles - 1)"));
      INSERT INTO odograph.fixes (\(Self.fixColumns))
        SELECT time, 'bench', 'van-' || v, time, latitude, longitude, 520.25 + i % 100, 2.5, 13.375 + i % 7,
          '9f3a61c2d4e5', i / 60, i % 60 \(given("v = \(vehicles - 1)"));
      INSERT INTO odograph.messages (\(Self.columns))
        SELECT time, time, 'odograph/v1/bench/van-' || v || '/track', 'bench', 'van-' || v, 'track', 1, false,
          '9f3a61c2d4e5', i / 60, NULL, NULL, NULL, NULL, NULL, NULL, '{}'
        \(given("v = \(vehicles - 1) AND i % 60 = 0"));
      INSERT INTO odograph.latest SELECT DISTINCT ON (fleet, vehicle) fleet, vehicle, time, time, latitude, longitude,
        altitude, accuracy, speed, course, source FROM odograph.positions ORDER BY fleet, vehicle, time DESC;
      VACUUM ANALYZE;
      """
  }

  // MARK: The method of peers

  /// Members of a location as sent by the OwnTracks recorder, without those that are only for display.
  private static func peer(_ object: String, _ seconds: String, _ table: String, _ time: String) -> String {
    """
    SELECT '{"count":86400,"data":[' || (SELECT \(object == "json_object" ? "group_concat" : "string_agg")(point, ',') FROM (
      SELECT \(object)('_type', 'location', 'tst', \(seconds), 'lat', latitude, 'lon', longitude, 'acc', accuracy,
          'alt', altitude, 'vel', speed, 'cog', course, 'tid', '7', 'topic', 'owntracks/bench/van-7',
          'username', 'bench', 'device', 'van-7')\(object == "json_object" ? "" : "::text") AS point
        FROM \(table) WHERE vehicle = 'van-7' AND fleet = 'bench' AND \(time) ORDER BY time) AS points) || ']}';
    """
  }

  private var sqlitePeer: String {
    Self.peer(
      "json_object", "time / 1000", "positions",
      "time >= \(Self.start) AND time < \(Self.start + 86_400_000)")
  }

  private var postgreSQLPeer: String {
    Self.peer(
      "json_build_object", "extract(epoch FROM time)::bigint", "odograph.positions",
      "time >= '2026-11-21 00:00Z' AND time < '2026-11-22 00:00Z'")
  }
}
