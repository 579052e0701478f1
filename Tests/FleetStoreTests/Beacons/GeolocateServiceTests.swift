import Fleet
import JSON
import Sensors
import Spatial
import Telemetry
import TestSupport
import Testing
import Transfers

@testable import FleetStore

/// A real client and a real server: every answer is bounded and reported, and changes no beacon of the map.
@Suite(.timeLimit(.minutes(2))) struct GeolocateServiceTests {
  private typealias Scene = GeolocateScene

  private let directory: TemporaryDirectory
  private let service: GeolocateFixture

  init() throws {
    directory = try TemporaryDirectory()
    service = try GeolocateFixture()
  }

  private func address(_ scene: String) throws -> GeolocateAddress {
    let key = try directory.write("key", "fleet-key\n")
    return try GeolocateAddress("http://127.0.0.1:\(service.port)/\(scene)/v1/geolocate", keyFile: key)
  }

  private func requests() throws -> [JSONValue] {
    try service.requests().map { try JSONValue(parsing: Array($0.utf8)) }
  }

  /// Runs `count` queries with three unknown access points each. The map has one other access point.
  private func run(
    _ scene: String, _ count: Int = 6, cache name: String? = nil, address: GeolocateAddress? = nil,
    shouldContinue: @escaping () -> Bool = { true }
  ) throws -> (found: [FleetBeacon], counts: GeolocateRun.Counts, said: String, fault: String?) {
    let address = try address ?? self.address(scene)
    var limits = GeolocatePace.Limits()
    (limits.interval, limits.backoff, limits.longest) = (0.001, 0.001, 0.01)
    let client = try #require(
      GeolocateClient(address, .init(connect: 2000, total: 600), shouldContinue: shouldContinue))
    var run = try GeolocateRun(
      service: address.host,
      cache: try GeolocateCache(path: directory.file(name ?? scene + ".sqlite"), day: Scene.day),
      map: [Scene.entry(try #require(Beacon(accessPoint: 1)))], limits: limits, day: Scene.day)
    for number in 0..<UInt64(count) {
      let question = try #require(try Scene.question(Scene.beacons(number * 3..<number * 3 + 3)))
      // Waiting advances a virtual clock.
      var now = 0.0
      func wait(_ seconds: Double) -> Bool {
        now += seconds
        return false
      }
      let shouldContinue = try run.process(question, ask: client.ask, now: { now }, waits: wait)
      if !shouldContinue { break }
    }
    let found = run.found
    return (found, run.counts, run.summary(found.count), run.fault)
  }

  @Test func answersAreUsedCachedAndRequestedOnce() throws {
    let first = try run("good", 2)
    #expect(first.counts == .init(asked: 2, answered: 2) && first.fault == nil, "\(first.said)")
    #expect(first.found.map(\.place.beacon) == Scene.beacons(0..<6))
    #expect(first.found.allSatisfy { $0.vehicles == 0 && $0.service == "127.0.0.1:\(service.port)" })
    let again = try run("good", 3)
    #expect(again.counts == .init(asked: 1, cached: 2, answered: 3) && again.found.count == 9)
    let unknown = try run("unknown", 2)
    #expect(unknown.counts == .init(asked: 2, unknown: 2) && unknown.found.isEmpty && unknown.fault == nil)
    #expect(try run("unknown", 2).counts == .init(cached: 2, unknown: 2))
    let waits = try run("recovers", 1)
    #expect(waits.counts == .init(asked: 3, answered: 1, failed: 2) && waits.found.count == 3)

    let requests = try requests()
    #expect(requests.count == 8)
    for request in requests {
      #expect(request["path"]?.string?.hasSuffix("/v1/geolocate?key=fleet-key") == true)
      let headers = try #require(request["headers"])
      #expect(headers["Content-Type"]?.string == "application/json" && headers["Accept-Encoding"] == nil)
      #expect(headers["User-Agent"]?.string?.hasPrefix("odograph/") == true)
      let body = try JSONValue(parsing: Array((request["body"]?.string ?? "").utf8))
      guard case .object(let members) = body else { return #expect(Bool(false)) }
      #expect(Set(members.keys) == ["considerIp", "fallbacks", "wifiAccessPoints"])
    }
  }

  /// Hostile responses by scene, with the text that is reported.
  private static let hostile: [(scene: String, said: String)] = [
    ("nan", "invalid response"), ("infinite", "invalid response"), ("outside", "invalid response"),
    ("quoted", "not a number"), ("inaccurate", "invalid response"), ("endless", "invalid response"),
    ("rough", "6 answers too rough"), ("antipodes", "5 answers contradict"), ("fallback", "guess"),
    ("empty", "invalid response"), ("none", "location"), ("large", "more than 65536 bytes"),
    ("deep", "invalid response"), ("bomb", "invalid response"), ("html", "no JSON"), ("nowhere", "404"),
    ("forbidden", "(403: Daily limit exceeded)"), ("invalid", "(400: Missing or invalid API key.)"),
    ("busy", "429"), ("later", "86400 s"), ("broken", "500"), ("gone", "503"), ("teapot", "418"),
    ("redirect", "redirects to another address"), ("slow", "timed out"), ("hang", "timed out"),
    ("headers_for_ever", "failed"), ("early", "failed"), ("garbage", "failed"),
  ]

  @Test(arguments: hostile.map(\.scene)) func hostileResponsesAreBoundedReportedAndIgnored(
    _ scene: String
  ) throws {
    let expected = try #require(Self.hostile.first { $0.scene == scene }?.said)
    let result = try run(scene)
    #expect(result.found.isEmpty)
    #expect(result.said.contains(expected) && !result.said.contains("fleet-key"), "\(result.said)")
    #expect(scene == "rough" ? result.fault == nil : result.fault != nil)
    // At most six requests, all to the configured path.
    let requests = try requests()
    #expect((1...6).contains(requests.count) && requests.count == result.counts.asked)
    #expect(requests.allSatisfy { $0["path"]?.string?.hasPrefix("/\(scene)/") ?? false })
    // Invalid responses are not cached; responses with a position are, and are judged again.
    let isAnswer = ["rough", "antipodes"].contains(scene)
    #expect(
      try SQLiteReader(directory.file("\(scene).sqlite")).rows("SELECT * FROM answers").isEmpty != isAnswer)
  }

  /// If most answers contradict the scans, the plausible answers are discarded, too, also when they are cached.
  @Test func anUnreliableServiceIsNotUsedAtAll() throws {
    let result = try run("turns", 9, cache: "turns.sqlite")
    #expect(result.counts == .init(asked: 7, answered: 7, contradicted: 5) && result.found.isEmpty)
    #expect(result.said.contains("none of its answers is used") && result.fault != nil)
    let again = try run("turns", 9, cache: "turns.sqlite")
    #expect(again.counts == .init(cached: 7, answered: 7, contradicted: 5) && again.found.isEmpty)
  }

  @Test func aServiceWithoutATrustedCertificateGetsNoRequest() throws {
    let authority = try CertificateAuthority()
    let server = try GeolocateFixture(certificate: try authority.issue("service"))
    let address = try GeolocateAddress("https://127.0.0.1:\(server.port)/good/v1/geolocate", keyFile: nil)
    let result = try run("tls", address: address)
    #expect(result.found.isEmpty && result.counts.asked == 1 && result.fault?.contains("certificate") == true)
    #expect(try server.requests().isEmpty)
    let closed = try GeolocateAddress("http://127.0.0.1:\(FreePort.next() as Int)/v1/geolocate", keyFile: nil)
    #expect(try run("closed", address: closed).counts.asked == 3)
  }

  @Test func aStopDoesNotWaitForAnAnswer() throws {
    let result = try run("hang") { false }
    #expect(result.counts.asked == 1 && result.counts.failed == 0 && result.found.isEmpty)
  }

  @Test func theDailyLimitAppliesAcrossRunsAndAnswersExpire() throws {
    let path = directory.file("bound.sqlite")
    func cache(_ day: Int) throws -> GeolocateCache { try GeolocateCache(path: path, day: day) }
    func isCached(_ question: Int64, _ day: Int) throws -> Bool {
      try cache(day).answer(question, of: "a") != nil
    }
    do {
      let first = try cache(100)
      for _ in 0..<3 { try first.count("a", day: 100) }
      try first.keep(.answered(.init(coordinate: Scene.town, accuracy: 40)), of: 1, "a", day: 100)
      try first.keep(.unknown, of: 2, "a", day: 100)
      try first.keep(.failed("no"), of: 3, "a", day: 100)
    }
    #expect(try cache(100).asked("a", day: 100) == 3 && cache(100).asked("b", day: 100) == 0)
    #expect(try cache(100).answer(1, of: "b") == nil && !isCached(3, 100))
    #expect(try isCached(1, 130) && isCached(2, 130) && cache(101).asked("a", day: 100) == 0)
    #expect(try !isCached(2, 131) && isCached(1, 190) && !isCached(1, 191))
    let text = try directory.write(
      "text", "no database, but long enough to be one: \(String(repeating: "x", count: 999))")
    do {
      _ = try GeolocateCache(path: text, day: 1)
      Issue.record("a text file was accepted")
    } catch { #expect(error.kind == .invalidInput && error.description.contains("name another")) }
  }
}
