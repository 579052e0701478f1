import Fleet
import FleetManagement
import FleetWeb
import Hummingbird
import JSON
import MQTT
import Spatial
import TestSupport
import Testing

/// Requests to every route of `odograph serve` without permission.
struct RouteWalkTests {
  private static let otherToken = String(repeating: "x", count: 32)
  static let ownerToken = String(repeating: "w", count: 32)

  /// Routes without data of the fleet, which require no login.
  private static let open = ["/", "/health/live", "/health/ready", "/s/{secret}", "/openapi.json"]

  private static func settings() -> String {
    AccessFixture.settings(
      """
      [tokens.other]
      sha256 = "\(SecretDigest(of: otherToken).hexadecimal)"
      role = "operate"
      fleets = ["nowhere"]
      """)
  }

  /// Runs the server with all of its subjects, a vehicle in each of two fleets, and no broker.
  /// - Parameters:
  ///   - more: further lines of the configuration.
  ///   - recording: the recording; nil for no history.
  ///   - isWhole: true to start the parts, too: alerts, and the connection to an unreachable broker.
  func run(
    _ more: String = "", recording: String? = nil, isWhole: Bool = false,
    _ body:
      @Sendable @escaping (AccessFixture, FleetFeed, [(method: String, path: String)]) async throws -> Void
  ) async throws {
    let folder = try TemporaryDirectory()
    let file = try folder.write("serve.toml", Self.settings() + "\n" + more)
    var overrides = ServeConfiguration.Overrides(file: file)
    overrides.recording = recording
    let configuration = try ServeConfiguration(overrides)
    let context = ServeContext(
      configuration: configuration, broker: .consumer(of: BrokerAddress(host: "127.0.0.1", port: 1)),
      selection: FleetSelection())
    var parts = try ServeParts(context)
    let feed = FleetFeed(
      Roster(root: context.selection.root, profile: context.selection.profile), observers: parts.observers)
    let fleet = LiveFleet(feed)
    let client = try parts.add(fleet, context)
    let hub = StreamHub(fleet, sources: parts.sources, limits: configuration.streams)
    let access = try ConfiguredAccess(
      configuration.file, listening: configuration.address, isAuditSaid: false)
    defer { access.stop() }
    var server = WebServer(
      subjects: [LiveRoutes(fleet), StreamRoutes(hub), StatisticsRoutes(hub)] + parts.subjects,
      roots: [HealthRoutes(feed)] + parts.roots, access: access)
    server.roots.append(MetricsRoutes(hub, sources: [server.counts] + parts.metrics))
    let files = Set(server.files.names.map { "/\($0)" } + ["/vendor/leaflet/**"])
    let router = server.router()
    let routes = router.routes.map { (method: $0.method.rawValue, path: $0.path.description) }
      .filter { !Self.open.contains($0.path) && !files.contains($0.path) }
    if isWhole {
      try client.start()
      for part in parts.parts { try part.start() }
    }
    defer { client.stop(drain: 0) }
    defer { for part in parts.parts.reversed() { part.stop() } }
    locate(feed, "delivery", "van-1")
    locate(feed, "taxi", "t-1")
    try hub.start()
    defer { hub.stop(reason: "the test ends") }
    try await AccessFixture.serve(router, access.connections(ConnectionLimits()), access.control) { web in
      try await body(web, feed, routes)
    }
  }

  private func locate(_ feed: FleetFeed, _ fleet: String, _ vehicle: String) {
    let now = Moment.now
    let payload = #"{"time":"\#(now.time.rfc3339)","latitude":48.1,"longitude":11.5,"speed":50}"#
    feed.receive(
      FleetBatch(
        messages: [
          MQTTMessage(topic: "odograph/v1/\(fleet)/\(vehicle)/location", payload: Array(payload.utf8))
        ],
        receivedAt: now))
  }

  private func filled(_ path: String) -> String {
    path.split(separator: "/").map { part in
      switch part {
      case "{fleet}": "/delivery"
      case "{vehicle}": "/van-1"
      case _ where part.hasPrefix("{"): "/1"
      default: "/\(part)"
      }
    }.joined()
  }

  @Test func everyRouteChecksPermissions() async throws {
    try await run { web, _, routes in
      #expect(routes.count > 10)
      func bearer(_ token: String) -> [String] {
        ["Authorization: Bearer \(token)", "Content-Type: application/json"]
      }
      for (method, path) in routes {
        let place = filled(path)
        let name = "\(method) \(path)"
        let body = ["GET", "HEAD"].contains(method) ? nil : "{}"
        let isChange = body != nil
        let isOwn = path.hasPrefix("/api/v1/session") || path.hasPrefix("/api/v1/stream")
        if path != "/api/v1/session" || method != "POST" {
          #expect(try web.ask(method, place, body: body).status == 401, "\(name) without a login")
        }
        // A stream does not end: its events are tested below.
        if path == "/api/v1/stream" || path == "/api/v1/session" { continue }
        let other = try web.ask(method, place, bearer(Self.otherToken), body: body)
        if path.contains("{vehicle}") { #expect(other.status == 404, "\(name) by another: \(other.text)") }
        #expect(
          (path.contains("{vehicle}") || !other.text.contains("van-1\"")) && !other.text.contains("t-1"),
          "\(name) by another: \(other.text)")
        let screen = try web.ask(method, place, bearer(AccessFixture.viewToken), body: body)
        if isChange, !isOwn { #expect(screen.status == 403, "\(name) by a viewer: \(screen.text)") }
        let robot = try web.ask(method, place, bearer(AccessFixture.operateToken), body: body)
        #expect(robot.status != 401 && (robot.status != 403 || path == "/metrics"), "\(name): \(robot.text)")
        #expect(!robot.text.contains("t-1"), "\(name) by who operates the other fleet: \(robot.text)")
      }
    }
  }

  /// A hidden vehicle is answered like a missing one.
  @Test func hiddenVehiclesAreAnsweredLikeMissingOnes() async throws {
    try await run { web, _, routes in
      let other = ["Authorization: Bearer \(Self.otherToken)", "Content-Type: application/json"]
      for (method, path) in routes where path.contains("{vehicle}") && method != "HEAD" {
        let place = filled(path)
        let hidden = try web.ask(method, place, other, body: method == "GET" ? nil : "{}")
        let missing = try web.ask(
          method, place.replacing("van-1", with: "van-9"), other, body: method == "GET" ? nil : "{}")
        #expect(hidden.text == missing.text.replacing("van-9", with: "van-1"), "\(method) \(path)")
        #expect(hidden.status == missing.status && hidden.headers.map(\.name) == missing.headers.map(\.name))
      }
    }
  }

  @Test func eventsAreOfVisibleVehiclesAndEndWithThePermission() async throws {
    try await run { web, feed, _ in
      let bob = try #require(try web.logIn("bob").cookie)
      let stream = try RawClient(port: web.port)
      stream.send("GET /api/v1/stream HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: \(bob)\r\n\r\n")
      #expect(stream.waits(for: "\"t-1\"", seconds: 20))
      locate(feed, "delivery", "van-2")
      locate(feed, "taxi", "t-2")
      #expect(stream.waits(for: "\"t-2\"", seconds: 20))
      let session = try web.ask("GET", "/api/v1/session", ["Cookie: \(bob)"])
      let proof = "X-CSRF-Token: \(try #require(session.json["csrf"]?.string))"
      #expect(try web.ask("DELETE", "/api/v1/session", ["Cookie: \(bob)", proof]).status == 204)
      locate(feed, "taxi", "t-3")
      let answer = try stream.receive()
      #expect(answer.text.contains("event: bye") && answer.text.contains("login-required"))
      #expect(!answer.text.contains("van-") && !answer.text.contains("t-3"), "\(answer.text)")
    }
  }
}
