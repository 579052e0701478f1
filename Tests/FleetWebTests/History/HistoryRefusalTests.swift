import Dispatch
import Fleet
import FleetFixtures
import FleetStore
import FleetWeb
import Glibc
import HTTPTypes
import JSON
import Platform
import TestSupport
import Testing

/// Refusals: invalid parameters, vehicles of other fleets, and queries of clients that have left.
@Suite struct HistoryRefusalTests {
  private static let day = "from=2026-11-21&to=2026-11-22"

  private static func fixture() async throws -> (HistoryFixture, TestRecording) {
    let recording = try TestRecording(
      .sqlite,
      [
        HistoryRows.location("demo/van", 1, at: 0, latitude: 48),
        HistoryRows.location("other/bus", 1, at: 0, latitude: 49), HistoryRows.trip("demo/van", 1, at: 0),
        HistoryRows.trip("other/bus", 1, at: 0, north: 1), HistoryRows.event("other/bus", 1, at: 0),
        HistoryRows.event("demo/van", 1, at: 0),
      ])
    return (try await HistoryFixture(recording.address), recording)
  }

  /// Locks all others out of a file without a write-ahead log.
  private static let lock = """
    BEGIN EXCLUSIVE; INSERT INTO latest VALUES ('a', 'a', 1, 1, 1, 1, 1, 1, 1, 1, 'x')
    """

  @Test func invalidParametersAreRefusedWithPositionAndRemedy() async throws {
    let (fixture, recording) = try await Self.fixture()
    defer { withExtendedLifetime(recording) {} }
    let track = "vehicles/demo/van/track"
    let cases: [(path: String, parameter: String)] = [
      (track, "from"), ("\(track)?from=2026-11-21", "to"), ("\(track)?to=2026-11-21", "from"),
      ("\(track)?from=yesterday&to=2026-11-21", "from"), ("\(track)?from=2026-13-41&to=2026-11-21", "from"),
      ("\(track)?from=%00&to=2026-11-21", "from"), ("\(track)?from=2026-11-22&to=2026-11-21", "to"),
      ("\(track)?from=2026-11-21&to=2026-11-21", "to"), ("\(track)?from=2020-01-01&to=2026-11-21", "to"),
      ("\(track)?\(Self.day)&points=1", "points"), ("\(track)?\(Self.day)&points=1e9", "points"),
      ("\(track)?\(Self.day)&points=-5", "points"),
      ("\(track)?\(Self.day)&points=99999999999999999999", "points"),
      ("\(track)?\(Self.day)&points=", "points"), ("\(track)?\(Self.day)&from=2026-11-20", "from"),
      ("\(track)?\(Self.day)&form=geojson", "form"), ("\(track).geojson?from=x&to=y", "from"),
      ("vehicles/demo/van/stops?\(Self.day)&seconds=1", "seconds"),
      ("vehicles/demo/van/transitions", "from"),
      ("vehicles/demo/van/transitions?\(Self.day)&limit=501", "limit"),
      ("vehicles/demo/van/transitions?\(Self.day)&after=1", "after"),
      ("vehicles/demo/van/stops?\(Self.day)&radius=1000000", "radius"),
      ("trips?limit=0", "limit"), ("trips?limit=501", "limit"), ("trips?after=zzz", "after"),
      ("trips?after=AAAA", "after"), ("trips?kind=walked", "kind"),
      ("trips?after=LTkyMjMzNzIwMzY4NTQ3NzU4MDgvYS8xL2IvYw", "after"),
      ("events?event=%3Cscript%3E", "event"), ("events?severity=huge", "severity"),
      ("traces?cause=x", "cause"),
      ("ways", "bounds"), ("ways?bounds=1,2,3", "bounds"), ("ways?bounds=nan,0,1,1", "bounds"),
      ("ways?bounds=10,10,5,11", "bounds"), ("ways?bounds=-180,-85,180,85&zoom=12", "bounds"),
      ("ways?bounds=11,48,12,49&zoom=40", "zoom"), ("history/statistics?offset=100000", "offset"),
      ("trips?fleet=\(String(repeating: "x", count: 600))", "fleet"),
      ("trips?" + (0..<101).map { "vehicle=v\($0)" }.joined(separator: "&"), "vehicle"),
    ]
    for (path, parameter) in cases {
      let answer = try fixture.get(path)
      let error = try? answer.json["error"]
      #expect(answer.status == 400 && answer.code == "invalid-\(parameter)", "\(path): \(answer.text)")
      #expect(error?["message"]?.string?.hasPrefix("\(parameter): ") == true, "\(path)")
      #expect(error?["remedy"]?.string?.isEmpty == false, "\(path)")
    }
  }

  @Test func hostileNamesAreNotFound() async throws {
    let (fixture, recording) = try await Self.fixture()
    defer { withExtendedLifetime(recording) {} }
    for name in [
      "%2e%2e", "van%00", "%ff%fe", "%zz", "van'%20OR%201=1--", "%3Cscript%3E", "van%22", "..%2f..%2fetc",
      String(repeating: "a", count: 600),
    ] {
      let answer = try fixture.get("vehicles/demo/\(name)/track?\(Self.day)")
      #expect(answer.status == 404 && answer.code == "not-found", "\(name): \(answer.text)")
      #expect(!answer.text.contains("script"))
    }
    for file in ["1.exe", "0", "-1", "x", "99999999999999999999", "1.gpx.gpx", "%00"] {
      let trip = try fixture.get("vehicles/demo/van/trips/\(HistoryRows.series)/\(file)")
      #expect(trip.status == 404, "\(file): \(trip.text)")
      let trace = try fixture.get("vehicles/demo/van/traces/\(HistoryRows.series)/\(file)")
      #expect(trace.status == 404, "\(file): \(trace.text)")
    }
    // A name in a filter is a value, not SQL.
    #expect(try fixture.json("trips?vehicle=van'%20OR%20'1'='1")["trips"]?.array?.isEmpty == true)
  }

  @Test func hiddenVehiclesAreAnsweredLikeMissingOnes() async throws {
    let (fixture, recording) = try await Self.fixture()
    defer { withExtendedLifetime(recording) {} }
    let series = HistoryRows.series
    for scope in ["demo", "demo/van", "third,demo/van"] {
      for end in [
        "extent", "track?\(Self.day)", "track.geojson?\(Self.day)", "stops?\(Self.day)",
        "transitions?\(Self.day)", "trips/\(series)/1",
        "trips/\(series)/1.gpx", "trips/\(series)/1.geojson", "traces/\(series)/1.odotrace",
      ] {
        let others = try fixture.get("vehicles/other/bus/\(end)", as: scope)
        let nobodys = try fixture.get("vehicles/other/nobody/\(end)", as: scope)
        #expect(others.status == 404 && others.body == nobodys.body, "\(end): \(others.text)")
        #expect(others.headWithoutDate == nobodys.headWithoutDate)
        // A user with access to everything gets the same for a missing vehicle, and another answer for this one.
        #expect(try fixture.get("vehicles/other/nobody/\(end)").status == 404)
      }
      #expect(try fixture.get("vehicles/other/bus/extent").status == 200)
      #expect(try fixture.get("vehicles/demo/van/extent", as: scope).status == 200)
      for (list, member) in [("trips", "trips"), ("events", "events"), ("history/statistics", "days")] {
        let seen = try fixture.json(list, as: scope)[member]?.array ?? []
        #expect(seen.map { $0["vehicle"]?.string } == ["van"], "\(list) as \(scope)")
        #expect(try fixture.json("\(list)?vehicle=bus", as: scope)[member]?.array?.isEmpty == true)
        #expect(try fixture.json("\(list)?fleet=other", as: scope)[member]?.array?.isEmpty == true)
      }
      #expect(try fixture.json("ways?bounds=11.4,49,11.6,49.3", as: scope)["ways"]?.array?.isEmpty == true)
    }
    #expect(try fixture.json("ways?bounds=11.4,49,11.6,49.3")["ways"]?.array?.count == 1)
    // A scope without vehicles gets empty lists, and a client without a login gets 401.
    #expect(try fixture.json("trips", as: "nobody/nothing")["trips"]?.array?.isEmpty == true)
    for path in [
      "trips", "events", "traces", "ways?bounds=1,1,2,2", "history/statistics", "vehicles/demo/van/extent",
    ] {
      #expect(try fixture.get(path, as: nil).status == 401, "\(path)")
    }
  }

  @Test func aClientThatDisconnectsEndsItsQuery() async throws {
    let (directory, fixture) = try await Self.locked()
    let lock = try SQLiteReader(directory.file("fleet.sqlite"))
    try lock.run(Self.lock)
    let connection = try fixture.open("vehicles/demo/van/track?\(Self.day)")
    #expect(waitUntil { fixture.readers.load.running == 1 })
    connection.leave()
    // The lock has not been released.
    #expect(waitUntil { fixture.readers.load.interrupted == 1 && fixture.readers.load.running == 0 })
    try lock.run("ROLLBACK")
  }

  @Test func queriesThatAreTooManyOrTooSlowAreRefused() async throws {
    var limits = HistoryReaders.Limits()
    (limits.threads, limits.waiting, limits.seconds) = (1, 2, 1)
    let (directory, fixture) = try await Self.locked(limits)
    let lock = try SQLiteReader(directory.file("fleet.sqlite"))
    try lock.run(Self.lock)
    let first = try fixture.open("vehicles/demo/van/track?\(Self.day)")
    #expect(waitUntil { fixture.readers.load.running == 1 })
    let waiting = [try fixture.open("trips"), try fixture.open("trips")]
    #expect(waitUntil { fixture.readers.load.waiting == 2 })
    let refused = try fixture.get("trips")
    #expect(
      refused.status == 503 && refused.code == "busy" && refused.head.lowercased().contains("retry-after"))
    for one in [first] + waiting {
      let answer = try one.answer()
      #expect(answer.status == 503 && answer.code == "too-slow", "\(answer.text)")
    }
    try lock.run("ROLLBACK")
  }

  /// A recording without a write-ahead log, whose readers wait for writers.
  private static func locked(
    _ limits: HistoryReaders.Limits = .init()
  ) async throws -> (TemporaryDirectory, HistoryFixture) {
    let directory = try TemporaryDirectory()
    let path = directory.file("fleet.sqlite")
    try HistoryRows.store([HistoryRows.location("demo/van", 1, at: 0, latitude: 48)], in: path)
    try SQLiteReader(path).run("PRAGMA journal_mode = DELETE")
    return (directory, try await HistoryFixture(path, limits: limits))
  }

  @Test(.needs(.postgreSQL)) func abandonedQueriesAreCancelledInTheDatabase() async throws {
    let recording = try TestRecording(
      .postgreSQL, [HistoryRows.location("demo/van", 1, at: 0, latitude: 48)])
    let server = try #require(recording.server)
    let fixture = try await HistoryFixture(recording.address)
    let lock = try ChildProcess(
      "psql", ["-X", "-q", "-c", "BEGIN; LOCK TABLE odograph.messages; SELECT pg_sleep(600)", server.url])
    let waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
    let locks = """
      SELECT count(*) FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND relation = 'odograph.messages'::regclass
      """
    #expect(try waitUntil { try server.query(locks) == [["1"]] })
    let connection = try fixture.open("vehicles/demo/van/track?\(Self.day)")
    #expect(try waitUntil { try server.query(waits) == [["1"]] })
    connection.leave()
    #expect(try waitUntil { try server.query(waits) == [["0"]] })
    #expect(waitUntil { fixture.readers.load.interrupted == 1 })
    _ = lock.terminate()
    let ends = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
    #expect(
      try server.query("\(ends) WHERE query LIKE '%pg_sleep(600)%' AND pid <> pg_backend_pid()").count <= 1)
    // The next query uses a new connection.
    #expect(try fixture.json("vehicles/demo/van/extent")["positions"]?.integer == 1)
    // The same applies after a restart of the database.
    server.stop()
    #expect(try fixture.get("vehicles/demo/van/extent").code == "recording-unavailable")
    try server.start()
    #expect(try fixture.json("vehicles/demo/van/extent")["positions"]?.integer == 1)
  }

  @Test func aSlowClientDoesNotOccupyAReader() async throws {
    var limits = HistoryReaders.Limits()
    (limits.threads, limits.seconds) = (1, 2)
    let drive = (0..<20_000).map {
      HistoryRows.location("demo/van", $0, at: Double($0), latitude: 48 + Double($0 % 7) * 1e-3)
    }
    let recording = try TestRecording(.sqlite, drive)
    let fixture = try await HistoryFixture(recording.address, limits: limits)
    var slow: [HistoryConnection] = []
    for _ in 0..<3 { slow.append(try fixture.open("vehicles/demo/van/track?\(Self.day)&points=100000")) }
    // The clients read nothing; their answers are larger than the buffers of the sockets.
    #expect(waitUntil { fixture.readers.load.running == 0 && fixture.readers.load.waiting == 0 })
    #expect(try fixture.get("vehicles/demo/van/extent").status == 200)
    withExtendedLifetime(slow) {}
  }

  /// Two clients that read nothing do not delay a third, and are not disconnected before their time limit.
  @Test func twoSlowClientsDelayNoOthers() async throws {
    let drive = (0..<20_000).map {
      HistoryRows.location("demo/van", $0, at: Double($0), latitude: 48 + Double($0 % 7) * 1e-3)
    }
    let recording = try TestRecording(.sqlite, drive)
    var limits = HistoryReaders.Limits()
    limits.seconds = 600
    let fixture = try await HistoryFixture(recording.address, limits: limits)
    let slow = try (0..<2).map { _ in try fixture.open("vehicles/demo/van/track?\(Self.day)&points=100000") }
    #expect(waitUntil { fixture.readers.load.answered == 2 })
    #expect(try fixture.get("vehicles/demo/van/extent").status == 200)
    #expect(fixture.readers.load.interrupted == 0)
    for one in slow {
      #expect(try one.answer().json["latitude"]?.array?.count == 20_000)
    }
  }

  /// Answers that wait for clients share a bound; an answer that a client does not read for long is dropped.
  @Test func waitingAnswersAreBounded() async throws {
    let piece = [UInt8](repeating: 0x61, count: 64 << 10)
    let budget = AnswerBudget(most: 1 << 20, timeout: 600)
    var first: AnswerPipe? = AnswerPipe(budget)
    let second = AnswerPipe(budget)
    // A single answer may be longer.
    for _ in 0..<17 { try first?.put(piece) }
    let error = #expect(throws: WebError.self) { try second.put(piece) }
    #expect(error?.status == .serviceUnavailable && error?.headers.first?.value == "5")
    // Bytes that were sent are free again.
    first?.finish(tag: "t")
    for _ in 0..<2 { _ = try first?.next() }
    try second.put(piece)
    #expect(throws: WebError.self) { try second.put(piece) }
    first?.cancel()
    for _ in 0..<15 { try second.put(piece) }
    #expect(budget.bytes == 1 << 20)
    second.fail(.tooManyAnswers)
    #expect(budget.bytes == 0)
    first = nil

    let impatient = AnswerBudget(most: 1 << 20, timeout: -1)
    let (old, new) = (AnswerPipe(impatient), AnswerPipe(impatient))
    for _ in 0..<16 { try old.put(piece) }
    old.finish(tag: "t")
    try new.put(piece)
    #expect(throws: CancellationError.self) { try old.next() }
    #expect(impatient.bytes == piece.count)
  }

  /// A login whose clients read nothing leaves room for other logins, and its queries leave readers free.
  @Test func aLoginHasItsShare() async throws {
    let piece = [UInt8](repeating: 0x61, count: 64 << 10)
    let budget = AnswerBudget(most: 1 << 20, timeout: 600)
    let greedy = (0..<3).map { _ in AnswerPipe(budget, asker: "ann") }
    let other = AnswerPipe(budget, asker: "bob")
    for _ in 0..<4 { try greedy[0].put(piece) }
    for _ in 0..<4 { try greedy[1].put(piece) }
    #expect(throws: WebError.self) { try greedy[2].put(piece) }
    for _ in 0..<8 { try other.put(piece) }
    #expect(budget.bytes == 1 << 20)
    for pipe in greedy { pipe.cancel() }
    other.cancel()

    let directory = try TemporaryDirectory()
    let path = directory.file("fleet.sqlite")
    try HistoryRows.store([HistoryRows.location("demo/van", 1, at: 0, latitude: 48)], in: path)
    var limits = HistoryReaders.Limits()
    (limits.threads, limits.waiting) = (1, 4)
    let readers = try HistoryReaders(path, limits: limits)
    defer { readers.stop() }
    let gate = DispatchSemaphore(value: 0)
    var pipes = [try readers.begin(for: "ann") { _, _ in gate.wait() }]
    defer { gate.signal() }
    #expect(waitUntil { readers.load.running == 1 })
    for _ in 0..<2 { pipes.append(try readers.begin(for: "ann") { _, _ in }) }
    #expect(throws: WebError.self) { _ = try readers.begin(for: "ann") { _, _ in } }
    for _ in 0..<2 { pipes.append(try readers.begin(for: "bob") { _, _ in }) }
    #expect(throws: WebError.self) { _ = try readers.begin(for: "cat") { _, _ in } }
    #expect(readers.load.refused == 2)
  }

  @Test func aReplacedFileIsReopened() async throws {
    let directory = try TemporaryDirectory()
    let (path, other) = (directory.file("fleet.sqlite"), directory.file("other.sqlite"))
    try HistoryRows.store([HistoryRows.location("demo/van", 1, at: 0, latitude: 48)], in: path)
    try HistoryRows.store(
      (0..<3).map { HistoryRows.location("demo/van", $0, at: Double($0), latitude: 48) }, in: other)
    var limits = HistoryReaders.Limits()
    limits.threads = 1
    let fixture = try await HistoryFixture(path, limits: limits)
    #expect(try fixture.json("vehicles/demo/van/extent")["positions"]?.integer == 1)
    rename(other, path)
    #expect(try fixture.json("vehicles/demo/van/extent")["positions"]?.integer == 3)
  }
}
