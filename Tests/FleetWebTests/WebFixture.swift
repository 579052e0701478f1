import Compression
import Fleet
import FleetWeb
import Hummingbird
import JSON
import MQTT
import Platform
import Spatial
import TestSupport
import Testing

/// A real server on a free loopback port, with the fleet of a test.
final class WebFixture: Sendable {
  let feed = FleetFeed(Roster())
  let fleet: LiveFleet
  let hub: StreamHub
  let port: Int
  private let listener: WebListener

  init(
    access: any AccessPolicy = LoopbackAccess(), limits: StreamHub.Limits = .init(),
    leaflet: LeafletFiles? = nil, sources: [any StreamSource] = []
  ) throws {
    fleet = LiveFleet(feed)
    hub = StreamHub(fleet, sources: sources, limits: limits)
    var server = WebServer(
      subjects: [LiveRoutes(fleet), StreamRoutes(hub), StatisticsRoutes(hub)], roots: [HealthRoutes(feed)],
      files: PageFiles(leaflet: leaflet), access: access)
    server.roots.append(MetricsRoutes(hub, sources: [server.counts]))
    try hub.start()
    listener = try WebListener(server, ServeConfiguration(address: ListenAddress(parsing: "127.0.0.1:0"))) {
      Issue.record("\($0)")
    }
    port = try #require(listener.address(within: 60)).port
  }

  deinit {
    hub.stop(reason: "the test ends")
    listener.stop(timeout: 5)
  }

  /// Receives a message of a vehicle with the current time of arrival.
  func receive(_ kind: String, _ json: String, vehicle: String = "van", fleet: String = "demo") {
    feed.receive(
      FleetBatch(
        messages: [
          MQTTMessage(topic: "odograph/v1/\(fleet)/\(vehicle)/\(kind)", payload: Array(json.utf8))
        ], receivedAt: .now))
  }

  /// Receives a position of a vehicle with the current time.
  func locate(_ latitude: Double, _ longitude: Double = 11.5, vehicle: String = "van", fleet: String = "demo")
  {
    receive(
      "location",
      #"{"time":"\#(Moment.now.time.rfc3339)","latitude":\#(latitude),"longitude":\#(longitude)}"#,
      vehicle: vehicle, fleet: fleet)
  }

  /// Sends a request over a new connection.
  func ask(
    _ method: String, _ path: String, _ headers: [String: String] = [:], body: String? = nil
  ) async throws -> HTTPAnswer {
    try await onThread { [port] in
      try HTTPConnection(port: port).ask(method, path, headers, body: body)
    }
  }

  func json(_ path: String, _ headers: [String: String] = [:]) async throws -> JSONValue {
    let answer = try await ask("GET", path, headers)
    #expect(answer.status == 200, "\(path): \(answer.text)")
    return try JSONValue(parsing: answer.body)
  }
}

/// Login by the header `User-Agent`: `ann` may see and do everything, `bob` may view fleet `a` and `b/one`.
struct NamedAccess: AccessPolicy {
  let requiresLogin = true
  var isSecure = false
  var isBehindProxy = false
  var gate: any MiddlewareProtocol<Request, Response, WebContext> { Gate() }

  private struct Gate: RouterMiddleware {
    func handle(
      _ request: Request, context: WebContext, next: (Request, WebContext) async throws -> Response
    ) async throws -> Response {
      var context = context
      context.principal =
        switch request.headers[.userAgent] {
        case "ann": Principal(name: "ann", role: .operate, scope: .all)
        case "bob":
          Principal(
            name: "bob", role: .view,
            scope: Scope(fleets: ["a"], vehicles: [VehicleKey(fleet: "b", vehicle: "one")]))
        default: nil
        }
      return try await next(request, context)
    }
  }
}

/// An open stream of events, read like by a browser.
final class EventReader: Sendable {
  struct Event: Sendable {
    var name: String
    var id: String?
    var json: JSONValue
  }

  let connection: HTTPConnection
  let head: HTTPAnswer
  private let rest = Locked<String>("")

  /// Blocks until the head of the answer has arrived.
  init(
    port: Int, _ query: String = "", _ headers: [String: String] = [:], receiveBuffer: Int32? = nil
  ) throws {
    connection = try HTTPConnection(port: port, receiveBuffer: receiveBuffer)
    connection.send("GET", "/api/v1/stream\(query)", headers)
    head = try connection.readHead()
  }

  /// Blocks until the next event; nil at the stream's end.
  func next() throws -> Event? {
    while true {
      let found = rest.withLock { rest -> Substring? in
        guard let end = rest.firstRange(of: "\n\n") else { return nil }
        defer { rest = String(rest[end.upperBound...]) }
        return Substring(String(rest[..<end.lowerBound]))
      }
      if let found {
        var event = Event(name: "", id: nil, json: .null)
        for line in found.split(separator: "\n") {
          if line.hasPrefix("event: ") { event.name = String(line.dropFirst(7)) }
          if line.hasPrefix("id: ") { event.id = String(line.dropFirst(4)) }
          if line.hasPrefix("data: ") { event.json = try JSONValue(parsing: Array(line.dropFirst(6).utf8)) }
        }
        return event
      }
      guard let chunk = try connection.readChunk() else { return nil }
      rest.withLock { $0 += String(decoding: chunk, as: UTF8.self) }
    }
  }

  /// Blocks until an event of a name that satisfies a condition.
  func next(_ name: String, where isSelected: (Event) -> Bool = { _ in true }) throws -> Event? {
    while let event = try next() {
      if event.name == name, isSelected(event) { return event }
    }
    return nil
  }
}

extension JSONValue {
  /// Names of the vehicles of an answer or an event.
  var vehicleNames: [String] { self["vehicles"]?.array?.compactMap { $0["vehicle"]?.string } ?? [] }
}
