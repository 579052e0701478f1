import Fleet
import FleetFixtures
import FleetStore
import Foundation
import JSON
import Spatial
import Telemetry
import TestSupport
import Testing
import VehicleData

/// The documented forms of a prediction in Python, JavaScript and SQL agree with `ReportPredictor` on random messages.
@Suite struct PredictionFormsTests {
  /// The time of the prediction in seconds after noon.
  private static let now = 600.0
  private static let vehicles = 400

  private struct Predicted {
    var coordinate: Coordinate
    var radius: Double?
  }

  /// Random location messages, one for each vehicle, from 100 s after to 500 s before the time of the prediction.
  private static func messages() -> [String] {
    var random = SplitMix.announced()
    return (0..<vehicles).map { _ in
      let isFarEast = Int.random(in: 0..<10, using: &random) == 0
      let coordinate = Coordinate(
        latitude: Int.random(in: 0..<20, using: &random) == 0
          ? .random(in: 89.7...89.95, using: &random) : .random(in: -85...85, using: &random),
        longitude: isFarEast ? 179.9999 : .random(in: -180..<180, using: &random))
      let time = noon.advanced(bySeconds: now - (.random(in: -100...500, using: &random) * 10).rounded() / 10)
      let report = ReportPredictor(
        moment: Timestamp(nanoseconds: time.nanoseconds), coordinate: coordinate,
        velocity: SIMD2(.random(in: -60...60, using: &random), .random(in: -60...60, using: &random)),
        bound: .random(in: 1...200, using: &random),
        delay: [0, 1.5, 5, 60].randomElement(using: &random) ?? 0,
        validity: Bool.random(using: &random) ? .random(in: 1...400, using: &random) : nil,
        growth: .random(in: 0...110, using: &random))
      var location = Location(timestamp: report.moment, coordinate: coordinate)
      if Int.random(in: 0..<4, using: &random) > 0 {
        location.horizontalAccuracy = .random(in: 0...900, using: &random)
      }
      let identity = MessageIdentity(epoch: "e", seq: 1)
      // Some vehicles do not report within bounds.
      let message =
        Int.random(in: 0..<20, using: &random) == 0
        ? LocationMessage(identity: identity, time: time, location: PrivacyPolicy.unrestricted(location))
        : LocationMessage(
          identity: identity, time: time, location: PrivacyPolicy.unrestricted(location), report: report)
      return String(decoding: message.payload, as: UTF8.self)
    }
  }

  /// The prediction of the newest report alone: its own position until it is in effect, nothing two minutes after
  /// the end of its bound, for a time more than a minute in the future, and beyond 89.9° of latitude.
  private static func expected(_ message: LocationMessage) -> Predicted? {
    guard let report = message.predictor, message.time.seconds(since: noon) <= now + 60 else { return nil }
    let shown = Timestamp(nanoseconds: noon.advanced(bySeconds: now - report.delay).nanoseconds)
    let moment = max(shown, report.moment)
    if let validity = report.validity, moment.seconds(since: report.moment) > validity + 120 { return nil }
    let coordinate = report.coordinate(at: moment)
    return abs(coordinate.latitude) > 89.9
      ? nil : Predicted(coordinate: coordinate, radius: report.radius(at: moment))
  }

  private static func compare(_ found: [Predicted?], _ payloads: [String]) throws {
    try #require(found.count == payloads.count)
    var (predicted, known) = (0, 0)
    for (found, payload) in zip(found, payloads) {
      let message = try LocationMessage(json: JSONValue(parsing: Array(payload.utf8)))
      // A position that is not predicted is the reported one.
      let reported = Predicted(coordinate: message.location.coordinate, radius: nil)
      let prediction = expected(message)
      let (expected, found) = (prediction ?? reported, found ?? reported)
      if prediction != nil { predicted += 1 }
      #expect(found.coordinate.isValid, "\(found.coordinate)")
      #expect(found.coordinate.distance(to: expected.coordinate) < 0.01, "\(payload): \(found.coordinate)")
      #expect((found.radius == nil) == (expected.radius == nil), "\(payload)")
      guard let radius = found.radius, let wanted = expected.radius else { continue }
      known += 1
      #expect(abs(radius - wanted) < 0.001, "\(payload): \(radius)")
    }
    #expect(predicted > vehicles / 2 && predicted < vehicles && known > vehicles / 4 && known < predicted)
  }

  private static func page(_ name: String) throws -> String {
    try String(contentsOfFile: "\(ContractScript.repository)/\(name)", encoding: .utf8)
  }

  /// The guide's program in a language.
  private static func program(_ language: String) throws -> String {
    let parts = try page("Config/examples/consumers/README.md").components(separatedBy: "```\(language)\n")
    return try #require(parts.last?.components(separatedBy: "```").first)
  }

  /// Runs a program on the messages; it prints latitude, longitude and radius of each as JSON, or null.
  private static func run(_ interpreter: String, _ name: String, _ program: String) throws {
    let directory = try TemporaryDirectory()
    let payloads = messages()
    try program.write(toFile: directory.file(name), atomically: true, encoding: .utf8)
    try payloads.joined(separator: "\n").write(
      toFile: directory.file("messages"), atomically: true, encoding: .utf8)
    let child = try ChildProcess(interpreter, [directory.file(name), directory.file("messages")])
    #expect(child.waitForExit() == 0, "\(child.output)")
    let found = try child.output.split(separator: "\n").map { line -> Predicted? in
      let values = try JSONValue(parsing: Array(line.utf8)).array ?? []
      guard values.count == 3, let latitude = values[0].double, let longitude = values[1].double else {
        return nil
      }
      return Predicted(
        coordinate: Coordinate(latitude: latitude, longitude: longitude), radius: values[2].double)
    }
    try compare(found, payloads)
  }

  private static let seconds = Double(noon.nanoseconds) * 1e-9 + now

  @Test func python() throws {
    try Self.run(
      ContractScript.python, "predict.py",
      """
      import json, sys
      \(Self.program("python"))
      for line in open(sys.argv[1]):
          print(json.dumps(predicted(json.loads(line), \(Self.seconds))))
      """)
  }

  @Test(.needs(.node)) func javaScript() throws {
    try Self.run(
      "node", "predict.js",
      """
      \(Self.program("javascript"))
      for (const line of require("fs").readFileSync(process.argv[2], "utf8").split("\\n")) {
        const found = predicted(JSON.parse(line), \(Self.seconds * 1000));
        console.log(JSON.stringify(found ? [found.latitude, found.longitude, found.radius] : null));
      }
      """)
  }

  /// The examples contain the guide's functions.
  @Test func examplesUseTheGuidesFunctions() throws {
    let folder = "Config/examples/consumers"
    let python = try #require(Self.program("python").range(of: "def predicted"))
    let function = try String(Self.program("python")[python.lowerBound...])
    #expect(try Self.page("\(folder)/positions.py").contains(function))
    let flow = try JSONSerialization.jsonObject(with: Data(Self.page("\(folder)/node-red.json").utf8))
    let nodes = try #require(flow as? [[String: Any]])
    let javaScript = try Self.program("javascript")
    #expect(nodes.contains { ($0["func"] as? String)?.contains(javaScript) == true })
  }

  private static func rows(_ payloads: [String]) -> [RecordedMessage] {
    RecordedRows.of(payloads.enumerated().map { ("v\($0)/location", $1) }, at: now)
  }

  /// The predictions of rows with vehicle, latitude, longitude and radius, in the order of the messages.
  private static func predictions(_ rows: [[String?]]) -> [Predicted?] {
    var found = [Predicted?](repeating: nil, count: rows.count)
    for row in rows {
      guard let place = row[0].flatMap({ Int($0.dropFirst()) }), found.indices.contains(place),
        let latitude = row[1].flatMap(Double.init), let longitude = row[2].flatMap(Double.init)
      else { continue }
      found[place] = Predicted(
        coordinate: Coordinate(latitude: latitude, longitude: longitude),
        radius: row[3].flatMap(Double.init))
    }
    return found
  }

  // MARK: Offline vehicles

  /// The statuses of vehicles that are predicted or not, in the order of their arrival.
  private static let statuses: [(payloads: [String], isPredicted: Bool)] = [
    ([statusJSON("online", at: 580, epoch: "e", seq: 2)], true),
    ([statusJSON("asleep", at: 580, epoch: "e", seq: 2)], true),
    (
      [
        statusJSON("online", at: 570, epoch: "e", seq: 2), statusJSON("offline", at: 580, epoch: "e", seq: 3),
      ], false
    ),
    (
      [
        statusJSON("offline", at: 570, epoch: "e", seq: 2), statusJSON("online", at: 580, epoch: "e", seq: 3),
      ], true
    ),
    // The will of the session, whose time is the start of the session.
    (
      [
        statusJSON("online", at: 580, session: -86_400, epoch: "e", seq: 2),
        statusJSON("offline", at: 590, session: -86_400, will: true),
      ], false
    ),
    // The will of an earlier session, which the broker published after the start of the next one.
    (
      [
        statusJSON("online", at: 580, session: 500, epoch: "e", seq: 2),
        statusJSON("offline", at: 590, session: 400, will: true),
      ], true
    ),
    // Two hours ahead, then set back.
    (
      [
        statusJSON("online", at: 7780, epoch: "e", seq: 2),
        statusJSON("offline", at: 590, epoch: "e", seq: 3),
      ], false
    ),
    (
      [
        #"{"state":"online","time":"\#(wireTime(580))","sessionStart":"2026-99-99T00:00:00Z","epoch":"e","seq":2}"#
      ], true
    ),
    (["", "no JSON", #"{"state":"offline"}"#], true),
    ([], true),
  ]

  private static var offlineRows: [RecordedMessage] {
    let report =
      #"{"time":"\#(wireTime(560))","latitude":48,"longitude":11.5,"horizontalAccuracy":4,"#
      + #""epoch":"e","seq":1,"predict":"#
      + #"{"velocityEast":0,"velocityNorth":10,"bound":20,"delay":5,"validity":180,"growth":50}}"#
    let messages = statuses.enumerated().flatMap { place, vehicle in
      [("v\(place)/location", report)] + vehicle.payloads.map { ("v\(place)/status", $0) }
    }
    return RecordedRows.of(messages, at: now)
  }

  /// Checks rows with vehicle, latitude and radius: an offline vehicle has its reported position, without a radius.
  private static func expectOffline(_ rows: [[String?]]) throws {
    try #require(rows.count == statuses.count)
    for row in rows {
      let place = try #require(row[0].flatMap { Int($0.dropFirst()) })
      let isPredicted = statuses[place].isPredicted
      #expect((Double(row[1] ?? "") ?? 0 > 48.003) == isPredicted, "\(row): \(statuses[place])")
      #expect((Double(row[2] ?? "") == 24) == isPredicted, "\(row): \(statuses[place])")
    }
  }

  @Test(.needs(.postgreSQL)) func postgreSQL() throws {
    let server = try PostgreSQLFixture()
    let store = PostgreSQLStore(address: server.url)
    try store.open()
    let payloads = Self.messages()
    _ = try store.store(Self.rows(payloads))
    // A recording of an older version gets the function at the next start.
    _ = try server.query("DROP FUNCTION odograph.predicted; DROP FUNCTION odograph.instant")
    try PostgreSQLStore(address: server.url).open()
    let rows = try server.query(
      """
      SELECT vehicle, latitude, longitude, radius,
          time >= reported AND (radius IS NOT NULL OR accuracy IS NULL OR time = reported)
        FROM odograph.predicted('2026-11-21 12:10:00Z')
      """)
    try Self.compare(Self.predictions(rows), payloads)
    #expect(rows.allSatisfy { $0[4] == "t" })
  }

  @Test(.needs(.postgreSQL)) func anOfflineVehicleIsNotPredictedInPostgreSQL() throws {
    let server = try PostgreSQLFixture()
    let store = PostgreSQLStore(address: server.url)
    try store.open()
    _ = try store.store(Self.offlineRows)
    // The function of an older version, which has another radius, is replaced.
    _ = try server.query(
      """
      CREATE OR REPLACE FUNCTION odograph.predicted(at timestamptz DEFAULT now())
        RETURNS TABLE (fleet text, vehicle text, "time" timestamptz, latitude double precision,
          longitude double precision, radius double precision, accuracy double precision, speed double precision,
          course double precision, source text, reported timestamptz)
        LANGUAGE sql STABLE AS $$
        SELECT fleet, vehicle, time, latitude, longitude, 20::float8, accuracy, speed, course, source, time
          FROM odograph.latest
        $$
      """)
    try PostgreSQLStore(address: server.url).open()
    try Self.expectOffline(
      server.query("SELECT vehicle, latitude, radius FROM odograph.predicted('2026-11-21 12:10:00Z')"))
  }

  @Test func sqlite() throws {
    let directory = try TemporaryDirectory()
    let store = SQLiteStore(path: directory.file("fleet.sqlite"))
    try store.open()
    let payloads = Self.messages()
    _ = try store.store(Self.rows(payloads))
    let rows = try SQLiteReader(directory.file("fleet.sqlite")).rows(Self.query())
    try Self.compare(Self.predictions(rows.map { [$0[0], $0[2], $0[3], $0[4]] }), payloads)
    store.close()
  }

  @Test func anOfflineVehicleIsNotPredictedInSQLite() throws {
    let directory = try TemporaryDirectory()
    let store = SQLiteStore(path: directory.file("fleet.sqlite"))
    try store.open()
    _ = try store.store(Self.offlineRows)
    let rows = try SQLiteReader(directory.file("fleet.sqlite")).rows(Self.query())
    try Self.expectOffline(rows.map { [$0[0], $0[2], $0[4]] })
    store.close()
  }

  /// The guide's query for SQLite, at the time of the prediction.
  private static func query() throws -> String {
    let parts = try page("Config/database/README.md").components(separatedBy: "```sql sqlite\n")
    let query = try #require(
      parts.first { $0.contains("clock (now)") }?.components(separatedBy: "\n```").first)
    let given = query.replacing("unixepoch('now') * 1000", with: "\(Int(seconds * 1000))")
    #expect(given != query)
    return given
  }
}
