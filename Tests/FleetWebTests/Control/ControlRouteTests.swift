import Fleet
import FleetFixtures
import FleetManagement
import FleetWeb
import HTTPTypes
import JSON
import MQTT
import Platform
import TestSupport
import Testing

/// Permissions for changes, and requests that are refused before anything is sent. Most tests run without a broker.
@Suite struct ControlRouteTests {
  private func probe(_ role: Role = .operate, _ scope: Scope = .all) throws -> RouteProbe {
    var roster = Roster()
    for vehicle in ["van", "caf\u{E9} 1"] {
      roster.receive("status", statusJSON("online", at: 0), at: 0, vehicle: vehicle)
    }
    let time = wireTime(0)
    roster.receive(
      "status", #"{"state":"online","time":"\#(time)","sessionStart":"\#(time)","remote":false}"#, at: 0,
      vehicle: "island")
    let feed = FleetFeed(roster)
    let desk = ControlDesk(
      feed: feed, client: try .serving(feed, Self.context(port: 1)),
      threads: try WorkerThreads(name: "test", count: 1, capacity: 4))
    return RouteProbe(
      [RegionRoutes(desk), SettingsRoutes(desk), CommandRoutes(desk)],
      as: Principal(name: "ann", role: role, scope: scope))
  }

  private static func context(port: Int) throws -> ServeContext {
    ServeContext(
      configuration: try ServeConfiguration(address: ListenAddress(parsing: "127.0.0.1:0")),
      broker: MQTTConfiguration(brokers: [.init(host: "127.0.0.1", port: port)], clientID: "t"),
      selection: FleetSelection())
  }

  /// Two changes within one round trip: the second builds on the first, and the result contains both.
  @Test(.timeLimit(.minutes(2))) func simultaneousChangesAreMerged() async throws {
    let broker = try BrokerFixture()
    var roster = Roster()
    roster.receive("status", statusJSON("online", at: 0), at: 0, vehicle: "van")
    let feed = FleetFeed(roster)
    let client = try ManagementClient.serving(feed, Self.context(port: broker.port))
    try client.start()
    defer { client.stop() }
    let desk = ControlDesk(
      feed: feed, client: client,
      threads: try WorkerThreads(name: "test", count: 1, capacity: 4))
    let probe = RouteProbe([SettingsRoutes(desk)])
    try await client.waitUntilRead(seconds: 60)
    let keys = ["status.interval", "location.distance_filter", "location.deferral_timeout"]
    let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
      for key in keys {
        group.addTask {
          try await probe.ask(
            .patch, "/vehicles/demo/van/settings", #"{"settings":{"\#(key)":30}}"#, type: "application/json"
          ).status.code
        }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(statuses == [202, 202, 202])
    let wanted = try await probe.ask(.get, "/vehicles/demo/van/settings").json?["wanted"]
    guard case .object(let members)? = wanted else { throw WebError.notFound("settings that are wanted") }
    #expect(Set(members.keys) == Set(keys))
  }

  /// The refusal of an earlier document does not withdraw a setting that was corrected since.
  @Test(.timeLimit(.minutes(2))) func correctedSettingsOutlastAnEarlierRefusal() async throws {
    let broker = try BrokerFixture()
    var roster = Roster()
    roster.receive("status", statusJSON("online", at: 0), at: 0, vehicle: "van")
    let feed = FleetFeed(roster)
    let client = try ManagementClient.serving(feed, Self.context(port: broker.port))
    try client.start()
    defer { client.stop() }
    let desk = ControlDesk(
      feed: feed, client: client,
      threads: try WorkerThreads(name: "test", count: 1, capacity: 4))
    let probe = RouteProbe([SettingsRoutes(desk)])
    try await client.waitUntilRead(seconds: 60)
    func set(_ settings: String, as label: String) async throws -> [String] {
      let answer = try await probe.ask(
        .patch, "/vehicles/demo/van/settings", #"{"settings":{\#(settings)},"label":"\#(label)"}"#,
        type: "application/json")
      #expect(answer.status == .accepted, "\(answer.message)")
      return (answer.json?["leftBehind"]?.array ?? []).compactMap { $0["key"]?.string }
    }
    #expect(try await set(#""status.interval":30"#, as: "first") == [])
    let report =
      #"{"version":"first","state":"refused","refused":[{"key":"status.interval","reason":"too short"}]}"#
    client.publish(
      MQTTMessage(
        topic: "odograph/v1/demo/van/config/reported", text: report, qos: .atLeastOnce, retain: true))
    let key = VehicleKey(fleet: "demo", vehicle: "van")
    try await eventually {
      client.withState { $0.documents.documents(.config, of: key).reported } == Array(report.utf8)
    }
    #expect(try await set(#""status.interval":60"#, as: "second") == [])
    #expect(try await set(#""location.distance_filter":20"#, as: "third") == [])
    let wanted = try await probe.ask(.get, "/vehicles/demo/van/settings").json?["wanted"]
    #expect(wanted?["status.interval"]?.integer == 60 && wanted?["location.distance_filter"]?.integer == 20)
  }

  /// Several operators add and remove regions simultaneously: each change builds on the one before, and none is lost.
  @Test(.timeLimit(.minutes(2))) func regionsOfSeveralOperatorsAreMerged() async throws {
    let broker = try BrokerFixture()
    var roster = Roster()
    for vehicle in ["van", "bus"] {
      roster.receive("status", statusJSON("online", at: 0), at: 0, vehicle: vehicle)
    }
    let feed = FleetFeed(roster)
    let client = try ManagementClient.serving(feed, Self.context(port: broker.port))
    try client.start()
    defer { client.stop() }
    let desk = ControlDesk(
      feed: feed, client: client,
      threads: try WorkerThreads(name: "test", count: 2, capacity: 16))
    let probe = RouteProbe([RegionRoutes(desk)])
    try await client.waitUntilRead(seconds: 60)
    @Sendable func put(_ body: String) async throws -> RouteProbe.Answer {
      try await probe.ask(.put, "/regions", body, type: "application/json")
    }
    func feature(_ name: String) -> String { Self.feature.replacing("\"a\"", with: "\"\(name)\"") }
    let first = try await put(
      #"{"vehicles":["demo/van","demo/bus"],"features":[\#(["a", "b", "c", "d"].map(feature).joined(separator: ","))]}"#
    )
    #expect(first.status == .accepted, "\(first.message)")
    let changes = [
      #"{"vehicles":["demo/van","demo/bus"],"remove":["a"]}"#,
      #"{"vehicles":["demo/van"],"remove":["b","x"]}"#,
      #"{"vehicles":["demo/bus","demo/van"],"features":[\#(feature("e"))],"add":true}"#,
      #"{"vehicles":["demo/bus"],"remove":["d"]}"#,
    ]
    let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
      for change in changes { group.addTask { try await put(change).status.code } }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(statuses == [202, 202, 202, 202])
    let all = try await probe.ask(.get, "/regions").json?["regions"]?.array ?? []
    let watched = Dictionary(
      uniqueKeysWithValues: all.map { region in
        (region["region"]?.string, (region["vehicles"]?.array ?? []).compactMap { $0["vehicle"]?.string })
      })
    #expect(watched == ["b": ["bus"], "c": ["bus", "van"], "d": ["van"], "e": ["bus", "van"]])

    // The removal of a region that is missing is not sent.
    let again = try await put(#"{"vehicles":["demo/van"],"remove":["a"]}"#)
    #expect(again.json?["vehicles"]?.array?.first?["state"]?.string == "unchanged")

    // Query of one region: includes vehicles that have not confirmed its removal yet.
    let version = try await probe.ask(.get, "/vehicles/demo/van/regions").json?["request"]?.string ?? ""
    for (vehicle, version, accepted) in [("van", version, #""b","c""#), ("bus", "earlier", #""d","c""#)] {
      let report = #"{"version":"\#(version)","state":"applied","accepted":[\#(accepted)],"refused":[]}"#
      client.publish(
        MQTTMessage(
          topic: "odograph/v1/demo/\(vehicle)/regions/reported", text: report, qos: .atLeastOnce, retain: true
        )
      )
      let key = VehicleKey(fleet: "demo", vehicle: vehicle)
      try await eventually {
        client.withState { $0.documents.documents(.regions, of: key).reported } == Array(report.utf8)
      }
    }
    func watchers(_ name: String) async throws -> (watching: [String], accepted: [String]) {
      let answer = try await probe.ask(.get, "/regions?region=\(name)")
      let vehicles = answer.json?["regions"]?.array?.first?["vehicles"]?.array ?? []
      return (
        (answer.json?["watchingStill"]?.array ?? []).compactMap { $0["vehicle"]?.string },
        vehicles.filter { $0["accepted"]?.bool == true }.compactMap { $0["vehicle"]?.string }
      )
    }
    for (name, watching, accepted) in [
      ("d", ["bus"], []), ("b", ["van"], []), ("c", [], ["van"]), ("none", [], []),
    ] as [(String, [String], [String])] {
      let found = try await watchers(name)
      #expect(found == (watching, accepted), "\(name)")
    }
    let unknown = try await probe.ask(.get, "/regions?regions=c")
    #expect(unknown.status == .badRequest)
  }

  private static let yard =
    #"{"type":"FeatureCollection","features":[{"type":"Feature","id":"yard","geometry":"#
    + #"{"type":"Point","coordinates":[11.5,48.1]},"properties":{"radius":50}}]}"#

  private static let changes: [(String, String, String, String)] = [
    ("PUT", "/vehicles/demo/van/regions", "application/geo+json", yard),
    ("PUT", "/regions", "application/json", #"{"vehicles":["demo/van"],"features":\#(yard)}"#),
    ("PUT", "/regions", "application/json", #"{"vehicles":["demo/van"],"remove":["yard"]}"#),
    ("PATCH", "/vehicles/demo/van/settings", "application/json", #"{"settings":{"status.interval":30}}"#),
    ("POST", "/vehicles/demo/van/commands", "application/json", #"{"command":"locate"}"#),
  ]

  @Test(arguments: changes)
  func viewersChangeNothing(method: String, path: String, type: String, body: String) async throws {
    let answer = try await probe(.view).ask(.init(method) ?? .get, path, body, type: type)
    #expect(answer.status == .forbidden && answer.code == "role-too-low")
  }

  /// A hidden vehicle is answered like a missing one, byte by byte except for its name.
  @Test(
    arguments: changes + [
      ("GET", "/vehicles/demo/van/regions", "", ""), ("GET", "/vehicles/demo/van/settings", "", ""),
      ("GET", "/vehicles/demo/van/commands", "", ""),
    ])
  func hiddenVehiclesAreAnsweredLikeMissingOnes(method: String, path: String, type: String, body: String)
    async throws
  {
    let others = Scope(fleets: ["other"])
    let hidden = try await probe(.operate, others).ask(.init(method) ?? .get, path, body, type: type)
    let absent = try await probe().ask(
      .init(method) ?? .get, path.replacing("van", with: "bus"), body.replacing("van", with: "bus"),
      type: type)
    #expect(hidden.status == .notFound && absent.status == .notFound, "\(absent.message)")
    #expect(
      hidden.body == Array(String(decoding: absent.body, as: UTF8.self).replacing("bus", with: "van").utf8))
  }

  @Test(arguments: changes)
  func bodiesAreOfAKnownTypeAndBounded(method: String, path: String, type: String, body: String) async throws
  {
    let probe = try probe()
    let method = try #require(HTTPRequest.Method(method))
    for other in [nil, "text/plain", "multipart/form-data"] {
      let answer = try await probe.ask(method, path, body, type: other)
      #expect(answer.status == .unsupportedMediaType)
    }
    let long = try await probe.ask(method, path, String(repeating: " ", count: 3 << 20), type: type)
    #expect(long.status == .contentTooLarge && long.code == "too-large")
    let broken = try await probe.ask(method, path, "{", type: type)
    #expect(broken.status == .badRequest && broken.message.contains("line 1 column 2"))
  }

  /// Without a connection to the broker, changes are refused and not queued.
  @Test(arguments: [changes[0], changes[1], changes[4]])
  func changesAreRefusedWithoutABroker(method: String, path: String, type: String, body: String) async throws
  {
    let answer = try await probe().ask(.init(method) ?? .get, path, body, type: type)
    #expect(answer.status == .serviceUnavailable && answer.code == "broker-unreachable", "\(answer.message)")
  }

  /// Table: invalid changes of several vehicles.
  @Test(arguments: [
    (#""remove":"yard""#, #"key "remove": must be a list"#),
    (#""remove":[]"#, #"key "remove": must be a list"#),
    (#""remove":[1]"#, #"key "remove": must be a list"#),
    (#""remove":[""]"#, #"key "remove": must be a list"#),
    (#""remove":["a"],"features":[]"#, #"it cannot be combined with "features""#),
    (#""remove":["a"],"add":true"#, #"it cannot be combined with "features""#),
    (#""add":true"#, #"key "features": missing"#),
    (#""features":[\#(feature)],"add":1"#, #"key "add""#),
  ])
  func invalidChangesOfSeveralVehiclesAreRefused(members: String, message: String) async throws {
    let answer = try await probe().ask(
      .put, "/regions", #"{"vehicles":["demo/van"],\#(members)}"#, type: "application/json")
    #expect(answer.status == .badRequest && answer.message.contains(message), "\(answer.message)")
  }

  /// Table: invalid bodies, with their errors.
  @Test(arguments: [
    ("PUT", "regions", #"{"type":"Point"}"#, 422, "not GeoJSON of type Feature"),
    ("PUT", "regions", #"{"type":"FeatureCollection"}"#, 422, #"no array "features""#),
    (
      "PUT", "regions", yard.replacing("48.1", with: "98.1"), 422, "feature 1: "
    ),
    ("PUT", "regions", yard.replacing(#""id":"yard","#, with: ""), 422, "feature 1: it has no name"),
    ("PUT", "regions", yard.replacing(#"{"radius":50}"#, with: "{}"), 422, "has no radius"),
    (
      "PUT", "regions", #"{"type":"FeatureCollection","features":[\#(feature),\#(feature)]}"#, 422,
      "occurs twice"
    ),
    ("PATCH", "settings", "{}", 400, #"key "settings""#),
    ("PATCH", "settings", #"{"setting":{}}"#, 400, #"key "setting": unknown key"#),
    ("PATCH", "settings", #"{"settings":{"status.interval":30},"label":""}"#, 400, #"key "label""#),
    ("POST", "commands", "{}", 400, #"key "command""#),
    ("POST", "commands", #"{"command":"explode"}"#, 422, #"unknown command "explode""#),
    ("POST", "commands", #"{"command":"locate","timeout":31}"#, 400, "from 1 to 30"),
    // The timeout belongs in the body.
    ("POST", "commands?timeout=20", #"{"command":"locate"}"#, 400, "timeout: unknown parameter"),
    ("POST", "commands", #"{"command":"locate","arguments":[]}"#, 400, "must be an object"),
    ("POST", "commands", #"{"command":"locate","arguments":{"accuracy":0}}"#, 422, "1 to 100000 m"),
    ("POST", "commands", #"{"command":"status","arguments":{"x":1}}"#, 422, "has no arguments"),
    ("POST", "commands", #"{"command":"track"}"#, 422, #"argument "from": missing"#),
    ("POST", "commands", #"{"command":"set-trip"}"#, 422, "driver, purpose"),
  ])
  func invalidBodiesAreRefused(
    method: String, path: String, body: String, status: Int, message: String
  ) async throws {
    let answer = try await probe().ask(
      .init(method) ?? .get, "/vehicles/demo/van/\(path)", body, type: "application/json")
    #expect(answer.status.code == status && answer.message.contains(message), "\(answer.message)")
  }

  private static let feature =
    #"{"type":"Feature","id":"a","geometry":{"type":"Point","coordinates":[1,2]},"properties":{"radius":5}}"#

  /// A vehicle without remote management gets no command, and the answer has a remedy.
  @Test func unmanagedVehiclesGetNoCommands() async throws {
    let answer = try await probe().ask(
      .post, "/vehicles/demo/island/commands", #"{"command":"status"}"#, type: "application/json")
    #expect(answer.status == .conflict && answer.code == "unmanaged")
    #expect(answer.json?["error"]?["remedy"]?.string?.contains("remote.enabled") == true)
  }

  @Test func namesInAddressesAreDecoded() async throws {
    let probe = try probe()
    let known = try await probe.ask(.get, "/vehicles/demo/caf%C3%A9%201/commands")
    #expect(known.status == .ok && known.json?["answers"]?.array?.isEmpty == true)
    for name in ["caf%C3", "caf%ZZ", "caf%"] {
      #expect(try await probe.ask(.get, "/vehicles/demo/\(name)/commands").status == .notFound)
    }
  }

  /// Each command is listed, with the accepted range of its arguments.
  @Test func commandsAreListed() async throws {
    let listed = try await probe(.view).ask(.get, "/commands").json?["commands"]?.array ?? []
    #expect(listed.compactMap { $0["name"]?.string } == VehicleCommand.all.map(\.name))
    let accuracy = listed.first?["arguments"]?.array?.first
    #expect(accuracy?["minimum"]?.double == 1 && accuracy?["maximum"]?.double == 100_000)
    let keys = try await probe(.view).ask(.get, "/settings").json?["settings"]?.array ?? []
    #expect(keys.contains { $0["key"]?.string == "location.distance_filter" })
    #expect(!keys.contains { $0["key"]?.string == "store.path" })
  }
}
