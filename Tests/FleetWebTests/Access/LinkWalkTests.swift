import Fleet
import FleetFixtures
import FleetWeb
import JSON
import MQTT
import Spatial
import TestSupport
import Testing

/// Every operation of the OpenAPI document against the routes of the server: without a login, with a link, and as a viewer of another
/// fleet.
struct LinkWalkTests {
  /// Members of summaries and details that a link receives.
  private static let current: Set = [
    "revision", "fleet", "vehicle", "state", "heard", "overdue", "position", "heading", "prediction",
    "battery", "overdueAt",
  ]
  /// Operations that a link may use, with the expected status.
  private static let ofLinks = [
    "GET /api/v1/session": 200, "GET /api/v1/vehicles": 200, "GET /api/v1/positions": 200,
    "GET /api/v1/vehicles/{fleet}/{vehicle}": 200, "GET /api/v1/map": 200,
    "GET /api/v1/tiles/{z}/{x}/{y}": 404, "POST /api/v1/stream/{id}": 404,
  ]
  /// Operations that require no login, with the expected status.
  private static let open = [
    "GET /health/live": 200, "GET /health/ready": 503, "GET /openapi.json": 200, "GET /s/{secret}": 404,
  ]
  /// Texts of the vehicle's history and tasks, which are not in its current state.
  private static let secrets = [
    "secret-yard", "4711", "trail", "harsh", "\"queue\"", "\"status\"", "\"regions\"", "\"inside\"",
    "\"event\"", "\"trip\"", "48.111",
  ]

  /// Processes messages of all kinds of a vehicle.
  private func receive(_ vehicle: String, in feed: FleetFeed) {
    let now = Moment.now
    // Later than the messages of the fixture.
    let (earlier, time) = (now.time.rfc3339, now.time.advanced(bySeconds: 1).rfc3339)
    let yard =
      #"{"type":"FeatureCollection","features":[{"type":"Feature","id":"secret-yard","geometry":{"type":"Point","coordinates":[11.5,48.1]},"properties":{"radius":50}}]}"#
    let messages: [(String, String)] = [
      (
        "status",
        #"{"state":"online","time":"\#(time)","sessionStart":"\#(time)","queue":{"messages":4711},"device":{"battery":{"level":0.5}}}"#
      ),
      ("location", #"{"time":"\#(earlier)","latitude":48.111,"longitude":11.5,"speed":50}"#),
      ("location", #"{"time":"\#(time)","latitude":48.222,"longitude":11.6,"speed":50}"#),
      ("regions/desired", yard),
      (
        "regions/state",
        #"{"time":"\#(time)","count":1,"regions":[{"region":"secret-yard","state":"inside"}],"epoch":"r","seq":1}"#
      ),
      (
        "region",
        #"{"time":"\#(time)","event":"enter","region":"secret-yard","latitude":48.222,"longitude":11.6,"epoch":"r","seq":2}"#
      ),
      (HistoryRows.trip(vehicle, 4711, at: 0).0, HistoryRows.trip(vehicle, 4711, at: 0).1),
      (HistoryRows.event(vehicle, 4711, at: 0).0, HistoryRows.event(vehicle, 4711, at: 0).1),
    ]
    feed.receive(
      FleetBatch(
        messages: messages.map { kind, text in
          let topic = kind.hasPrefix(vehicle) ? kind : "\(vehicle)/\(kind)"
          return MQTTMessage(topic: "odograph/v1/\(topic)", payload: Array(text.utf8))
        }, receivedAt: now))
  }

  /// Runs the whole server with a recording, rules, and all data of `taxi/t-1`.
  private func run(
    _ body:
      @Sendable @escaping (AccessFixture, [DocumentOperation], _ owner: [String]) async throws -> Void
  ) async throws {
    let operations = try DocumentOperation.all()
    let recording = try TestRecording(
      .sqlite,
      [
        HistoryRows.location("taxi/t-1", 1, at: 10, latitude: 48.111),
        HistoryRows.trip("taxi/t-1", 4711, at: 0), HistoryRows.event("taxi/t-1", 4711, at: 100),
      ])
    let rules = """
      [tokens.owner]
      sha256 = "\(SecretDigest(of: RouteWalkTests.ownerToken).hexadecimal)"
      role = "operate"
      fleets = ["taxi"]
      [tokens.viewer]
      sha256 = "\(SecretDigest(of: Self.viewer).hexadecimal)"
      fleets = ["delivery"]
      [alerts]
      store = "\(recording.directory.file("alerts.sqlite"))"
      [rules.fast]
      when = "speed"
      above = 10
      """
    try await RouteWalkTests().run(rules, recording: recording.address, isWhole: true) {
      web, feed, _ in
      receive("taxi/t-1", in: feed)
      let owner = ["Authorization: Bearer \(RouteWalkTests.ownerToken)"]
      // The owner receives all of it, so that there is something to hide.
      let own = try web.ask("GET", "/api/v1/vehicles/taxi/t-1", owner).text
      for secret in Self.secrets { #expect(own.contains(secret), "\(secret) in \(own)") }
      try await body(web, operations, owner)
    }
  }

  private static let viewer = String(repeating: "z", count: 32)

  private func link(_ web: AccessFixture, _ owner: [String]) throws -> [String] {
    let share = try web.ask(
      "POST", "/api/v1/shares", owner + ["Content-Type: application/json"],
      body: #"{"fleet":"taxi","vehicle":"t-1","seconds":600}"#)
    let opened = try web.ask("GET", try #require(share.json["url"]?.string, "\(share.text)"))
    let cookie = "Cookie: \(try #require(opened.cookie))"
    let session = try web.ask("GET", "/api/v1/session", [cookie])
    return [cookie, "X-CSRF-Token: \(try #require(session.json["csrf"]?.string))"]
  }

  @Test(.timeLimit(.minutes(5))) func nothingIsDisclosedWithoutALogin() async throws {
    try await run { web, operations, _ in
      for operation in operations {
        let answer = try operation.ask(web, about: "t-1", [])
        // A login requires no session; the body of this request has neither name nor password.
        let status = Self.open[operation.name] ?? (operation.name == "POST /api/v1/session" ? 400 : 401)
        #expect(answer.status == status, "\(operation.name): \(answer.text.prefix(300))")
        guard operation.path != "/openapi.json" else { continue }
        for secret in Self.secrets + ["48.222"] {
          #expect(!answer.text.contains(secret), "\(operation.name): \(answer.text)")
        }
      }
    }
  }

  @Test(.timeLimit(.minutes(5))) func aLinkShowsTheCurrentState() async throws {
    try await run { web, operations, owner in
      let link = try link(web, owner)
      var judged = 0
      for operation in operations where operation.path != "/api/v1/stream" {
        // The logout follows at the end, and a link cannot log in.
        guard operation.path != "/api/v1/session" || operation.method == "GET" else { continue }
        let answer = try operation.ask(web, about: "t-1", link)
        let status = Self.ofLinks[operation.name] ?? Self.open[operation.name] ?? 403
        #expect(answer.status == status, "\(operation.name): \(answer.status) \(answer.text.prefix(300))")
        judged += 1
        guard operation.path != "/openapi.json" else { continue }
        for secret in Self.secrets {
          #expect(!answer.text.contains(secret), "\(operation.name): \(answer.text)")
        }
        // Other vehicles are not found with the link.
        let other = try operation.ask(web, about: "van-1", of: "delivery", link)
        #expect(
          other.status == (operation.path.contains("{vehicle}") ? 404 : status)
            && !other.text.contains("11.5"),
          "\(operation.name): \(other.status) \(other.text.prefix(300))")
      }
      #expect(judged > 35)
      let vehicle = "/api/v1/vehicles/taxi/t-1"
      let list = try web.ask("GET", "/api/v1/vehicles", link).json["vehicles"]?.array ?? []
      let features = try web.ask("GET", "/api/v1/positions", link).json["features"]?.array ?? []
      let documents =
        [try web.ask("GET", vehicle, link).json] + list + features.compactMap { $0["properties"] }
      #expect(documents.count == 3)
      for case .object(let members) in documents {
        #expect(Set(members.keys).isSubset(of: Self.current), "\(members.keys.sorted())")
        #expect(members["position"]?["latitude"]?.double == 48.222)
      }
      // The owner and the link get different answers of the same address, so their tags differ.
      for path in ["/api/v1/vehicles", "/api/v1/positions", vehicle] {
        let tag = try #require(try web.ask("GET", path, owner).header("etag"))
        let answer = try web.ask("GET", path, link + ["If-None-Match: \(tag)"])
        #expect(answer.status == 200 && answer.header("etag") != tag, "\(path)")
        let own = try #require(answer.header("etag"))
        #expect(try web.ask("GET", path, link + ["If-None-Match: \(own)"]).status == 304, "\(path)")
      }
      #expect(try web.ask("DELETE", "/api/v1/session", link).status == 204)
      #expect(try web.ask("GET", vehicle, link).status == 401)
    }
  }

  /// The streams of a link and of a user differ at the same moment and with the same scope.
  @Test(.timeLimit(.minutes(5))) func theStreamOfALinkShowsTheCurrentState() async throws {
    try await run { web, _, owner in
      let link = try link(web, owner)
      func stream(_ who: [String], _ query: String) throws -> RawClient {
        let client = try RawClient(port: web.port)
        client.send(
          "GET /api/v1/stream?\(query) HTTP/1.1\r\nHost: 127.0.0.1\r\n\(who.joined(separator: "\r\n"))\r\n\r\n"
        )
        return client
      }
      let (his, theirs) = (try stream(owner, "selected=taxi/t-1"), try stream(link, "selected=taxi/t-1"))
      #expect(his.waits(for: "event: vehicle\n", seconds: 20) && his.waits(for: "secret-yard", seconds: 20))
      #expect(theirs.waits(for: "event: vehicles\n", seconds: 20))
      #expect(theirs.waits(for: "event: vehicle\n", seconds: 20) && theirs.waits(for: "48.222", seconds: 20))
      for secret in Self.secrets { #expect(!theirs.waits(for: secret, seconds: 0.1), "\(secret)") }
      let foreign = try stream(link, "selected=delivery/van-1")
      #expect(foreign.waits(for: "event: vehicles\n", seconds: 20))
      #expect(!foreign.waits(for: "\"van-1\"", seconds: 1))
    }
  }

  @Test(.timeLimit(.minutes(5))) func viewersOfAnotherFleetReceiveNothing() async throws {
    try await run { web, operations, _ in
      let viewer = ["Authorization: Bearer \(Self.viewer)"]
      for operation in operations where operation.path != "/api/v1/stream" {
        let answer = try operation.ask(web, about: "t-1", viewer)
        let isAudited = operation.isChange && !operation.path.hasPrefix("/api/v1/s")
        if operation.path.contains("{vehicle}") {
          #expect(answer.status == 404, "\(operation.name): \(answer.text)")
        } else if isAudited || operation.path.hasPrefix("/api/v1/shares") && operation.isChange {
          #expect(answer.status == 403, "\(operation.name): \(answer.text)")
        }
        guard operation.path != "/openapi.json" else { continue }
        for secret in Self.secrets.prefix(3) + ["48.222"] {
          #expect(!answer.text.contains(secret), "\(operation.name): \(answer.text)")
        }
      }
    }
  }
}
