import Foundation
import TestSupport
import Testing

/// The rows of the tables in their order, with the differences between the brokers.
extension ClusterTable {
  mutating func fillInListeners() async throws {
    let first = try await odograph(["tail", "--kind", "location", "--count", "1", "--timeout", "120"])
    row(
      "odographd run", "yes", cluster.engine == .mosquitto ? "" : "`mqtt.protocol = \"3.1.1\"`",
      first.status == 0,
      try OdographProcess.text(of: state.file("agent.out")))
    let tail = try await odograph(["tail", "--count", "2", "--timeout", "120"])
    row("odograph tail", tail.status == 0 && tail.output.contains("odograph/v1/acme/van-1/"), tail.output)
    let stats = try await odograph(["stats", "--count", "2", "--timeout", "120"])
    row("odograph stats", stats.status == 0 && stats.output.contains("van-1"), stats.output)
  }

  /// Commands to the agent, on its machine and remote.
  mutating func fillInAgent() async throws {
    let status = try await runTool(
      BuiltProduct.path("odographd"), ["status", "--socket", state.file("agent.sock"), "--json"])
    row("odographd status", status.contains("van-1"), status)
    let check = try await runTool(BuiltProduct.path("odographd"), ["check"] + settings)
    row("odographd check", check.contains("ok       broker: "), check)
    let file = state.file("odograph.toml")
    let made = try await runTool(
      BuiltProduct.path("odographd"),
      ["init", "--preset", "car", "--vehicle", "van-9", "--fleet", "acme", "--config", file]
        + atVehicle.prefix(2))
    row(
      "odographd init", "yes", "once its certificate is in the file, `odographd check` tries the broker",
      FileManager.default.fileExists(atPath: file), made)
    var requested: OdographProcess.Result?
    let path = state.file("trace.odotrace")
    let waited = try await odograph(["trace", "wait", "van-1", "-o", path, "--timeout", "120"] + fleet) {
      // The command does not report when it is subscribed, so the request is repeated.
      try await eventually {
        requested = try await odograph(
          ["trace", "request", "van-1", "--before", "1", "--after", "1"] + fleet)
        try await Task.sleep(for: .seconds(4))
        return FileManager.default.fileExists(atPath: path)
      }
    }
    row(
      "odograph trace request", "yes", "`trace.enabled = true`", requested?.status == 0,
      requested?.output ?? "")
    row("odograph trace wait", waited.status == 0, waited.output)
  }

  mutating func fillInSamples() async throws {
    let history = try await odograph(
      ["history", "--from", FleetPayload.time(-20), "-o", state.file("history.csv")] + named)
    row(
      "odograph history", "with `--fleet` and `--vehicle`", "`recorder.enabled = true`", history.status == 0,
      history.output)
    let samples = try await odograph(["samples", "--seconds", "1", "-o", state.file("samples.csv")] + named)
    row("odograph samples", "with `--fleet` and `--vehicle`", "", samples.status == 0, samples.output)
  }

  mutating func fillInServer() async throws {
    let log = state.file("serve.out")
    let alerts = try state.write(
      "serve.toml",
      """
      [alerts]
      store = "\(state.file("alerts.sqlite"))"
      [rules.moves]
      when = "event"
      events = ["moving"]
      [webhooks.ops]
      url = "http://127.0.0.1:1/alerts"

      """)
    let store = state.file("served.sqlite")
    let server = try start(
      ["serve", "--config", alerts, "--listen", "127.0.0.1:0", "--recording", store, "--record"], log: log)
    defer { server.kill() }
    var port: Int?
    try await eventually {
      let said = try OdographProcess.text(of: log).firstMatch(
        of: /the page is at http:\/\/127\.0\.0\.1:(\d+)\//)
      port = said.flatMap { Int($0.1) }
      return port != nil || !server.isRunning
    }
    let said = try OdographProcess.text(of: log)
    let own = try #require(port, "\(said)")
    func asks(_ path: String) async throws -> String {
      try await onThread { try HTTPConnection(port: own).ask("GET", path).text }
    }
    try await eventually { try await asks("/api/v1/vehicles").contains("van-1") }
    row(
      "odograph serve", "yes",
      isRabbitMQ ? "live from the next message on; the past from `--recording`" : "", true, "")
    try await eventually {
      let rows = try? SQLiteReader(store).rows("SELECT count(*) FROM messages WHERE vehicle = 'van-1'")
      return (rows?.first?[0].flatMap(Int.init) ?? 0) > 0
    }
    row("odograph serve --record", true, "")
    var told = 0
    try await eventually {
      told += 1
      try await publish(
        "motion", #"{"event":"moving","time":"\#(FleetPayload.time())","epoch":"e","seq":\#(told)}"#)
      try await Task.sleep(for: .seconds(1))
      let counted = try await asks("/metrics").split(separator: "\n").last {
        $0.hasPrefix("odograph_alert") && $0.contains("waiting")
      }
      return counted.map { !$0.hasSuffix(" 0") } ?? false
    }
    row("odograph serve --config", "yes", "with alerts and a persistent session", true, "")
  }

  mutating func fillInRecorders() async throws {
    // Twelve messages include a location.
    let recorded = try await odograph([
      "record", state.file("a.sqlite"), "--client-id", "odograph-a", "--count", "12", "--timeout", "120",
    ])
    let isMosquitto = cluster.engine == .mosquitto
    row("odograph record", "yes", isMosquitto ? "" : "one recorder", recorded.status == 0, recorded.output)
    let shared = try await odograph([
      "record", state.file("b.sqlite"), "--client-id", "odograph-b", "--share", "g", "--count", "1",
      "--timeout", isMosquitto ? "60" : "8",
    ])
    switch cluster.engine {
    case .mosquitto:
      row("odograph record --share", "yes", "any number of recorders", shared.status == 0, shared.output)
    case .nats:
      row(
        "odograph record --share", "no", "there are no shared subscriptions", shared.status != 0,
        shared.output)
    case .rabbitMQ:
      row(
        "odograph record --share", "no", "the plugin has no shared subscriptions; use `--from`",
        shared.status != 0,
        shared.output)
      let queued = try await OdographProcess.run(
        [
          "record", state.file("c.sqlite"), "--from", cluster.queueAddress(first: 1), "--queue", "odograph-c",
          "--count",
          "2", "--timeout", "120",
        ] + cluster.options(of: "dispatch"))
      row("odograph record --from", "yes", "any number of recorders", queued.status == 0, queued.output)
    }
  }

  /// Commands that follow trips, driving events and traces, with the examples of the schemas.
  mutating func fillInJournals() async throws {
    for (command, file, path) in [
      (["trips"], "trip", "trip"), (["events"], "driving-event", "driving/event"),
      (["trace", "list"], "trace", "trace"),
    ] {
      let schema = try JSONSerialization.jsonObject(
        with: Data(contentsOf: URL(filePath: ContractScript.repository + "/Config/schemas/\(file).json")))
      let example = try #require(((schema as? [String: Any])?["examples"] as? [Any])?.first)
      let payload = String(decoding: try JSONSerialization.data(withJSONObject: example), as: UTF8.self)
      let done = state.file("done-\(file)")
      let followed = try await odograph(
        command + ["--count", "1", "--timeout", "60", "-o", done, "--json"] + fleet
      ) {
        for _ in 0..<20 where (try? String(contentsOfFile: done, encoding: .utf8))?.isEmpty ?? true {
          try await Task.sleep(for: .seconds(1))
          try await publish(path, payload)
        }
      }
      row("odograph " + command.joined(separator: " "), followed.status == 0, followed.output)
    }
  }

  mutating func fillInCommands() async throws {
    let one = try await odograph(["command", "locate"] + named)
    let all = try await odograph(["command", "locate"] + fleet)
    if isRabbitMQ {
      row(
        "odograph command", "with `--fleet` and `--vehicle`",
        "otherwise it prints that vehicles must be named",
        one.status == 0 && all.status == 69 && all.output.contains("name --fleet and --vehicle"),
        one.output + all.output)
    } else {
      row(
        "odograph command", one.status == 0 && all.status == 0 && all.output.contains("van-1"),
        one.output + all.output)
    }
    let recorded = try await odograph(["command", "locate"] + fleet + recording)
    row(
      "odograph command --recording", "yes", "the recording names the vehicles",
      recorded.status == 0 && recorded.output.contains("acme/van-1  done"), recorded.output)
  }

  mutating func fillInConfig() async throws {
    let set = try await odograph(["config", "set", "location.distance_filter=24"] + named)
    let (show, all) = (
      try await odograph(["config", "show"] + named), try await odograph(["config", "show"])
    )
    let diff = try await odograph(["config", "diff"] + named)
    if isRabbitMQ {
      let remark = "otherwise it prints that vehicles must be named"
      row(
        "odograph config show", "with `--fleet` and `--vehicle`", remark,
        show.status == 0 && all.status == 69 && all.output.contains("name --fleet and --vehicle"),
        show.output + all.output)
      row("odograph config set", "with `--fleet` and `--vehicle`", remark, set.status == 0, set.output)
      row("odograph config diff", "with `--fleet` and `--vehicle`", remark, diff.status == 0, diff.output)
    } else {
      row(
        "odograph config show", show.status == 0 && all.output.contains("acme/van-1"),
        show.output + all.output)
      row("odograph config set", set.status == 0, set.output)
      row("odograph config diff", diff.status == 0, diff.output)
    }
    // The broker has settings that were requested after the end of the recording.
    let again = try await odograph(["config", "set", "location.distance_filter=25"] + fleet + recording)
    let config = try await odograph(["config", "show"] + fleet + recording)
    row(
      "odograph config --recording", "yes", "the recording names the vehicles",
      again.status == 0 && config.status == 0 && config.output.contains("acme/van-1  applied")
        && config.output.contains("location.distance_filter = 25"), again.output + config.output)
  }

  mutating func fillInRegions() async throws {
    let file = try state.write("yard.wkt", "yard: POLYGON ((11.5 48.1, 11.6 48.1, 11.6 48.2, 11.5 48.1))\n")
    let pushed = try await odograph(["regions", "push", file] + named)
    let (list, all) = (
      try await odograph(["regions", "list"] + named), try await odograph(["regions", "list"])
    )
    let diff = try await odograph(["regions", "diff", file] + named)
    let recorded = try await odograph(["regions", "list"] + fleet + recording)
    let removed = try await odograph(["regions", "remove", "yard"] + named)
    let isThere = list.status == 0 && list.output.contains("yard")
    if isRabbitMQ {
      let by = "with `--fleet` and `--vehicle`"
      row(
        "odograph regions list", by, "otherwise nothing is found; it prints a possible reason",
        isThere && all.output.contains("or delivers them for exact topics only"), list.output + all.output)
      row("odograph regions push", by, "", pushed.status == 0, pushed.output)
      row("odograph regions diff", by, "", diff.status == 0, diff.output)
      row("odograph regions remove", by, "", removed.status == 0, removed.output)
    } else {
      row("odograph regions list", isThere && all.output.contains("acme/van-1"), list.output + all.output)
      row("odograph regions push", pushed.status == 0, pushed.output)
      row("odograph regions diff", diff.status == 0, diff.output)
      row("odograph regions remove", removed.status == 0, removed.output)
    }
    row(
      "odograph regions --recording", "yes", "the recording names the vehicles",
      recorded.status == 0 && recorded.output.contains("acme/van-1"), recorded.output)
  }

  /// A map of one access point. The vehicle has requested the cells of its surroundings.
  mutating func fillInBeacons() async throws {
    let map = state.file("map.csv")
    try state.write("map.csv", Self.map)
    let log = state.file("beacons.out")
    let server = try start(["beacons", "serve", map] + fleet, log: log)
    defer { server.kill() }
    if isRabbitMQ {
      // The server receives a request only when the vehicle publishes it, at the latest when its cells change.
      try await eventually { try OdographProcess.text(of: log).contains("serving") || !server.isRunning }
      row(
        "odograph beacons serve", "from the next message on",
        "vehicles with an earlier request receive their parts of the map after the next one",
        server.isRunning, try OdographProcess.text(of: log))
    } else {
      try await eventually { try OdographProcess.text(of: log).contains("van-1") || !server.isRunning }
      row(
        "odograph beacons serve", "yes", "`beacons.receive = true`", server.isRunning,
        try OdographProcess.text(of: log))
    }
  }

  private static let map = """
    beacon,latitude,longitude,reach,sightings,vehicles,last_seen,source
    b8:27:eb:00:12:34,48.137000,11.575000,120,9,3,20000,fleet

    """

  mutating func fillInCheck() async throws {
    let check = try await odograph(["check"] + fleet)
    if isRabbitMQ {
      row(
        "odograph check", "yes", "it warns that retained messages may be delivered by exact topic only",
        check.status == 0 && check.output.contains("RabbitMQ"), check.output)
    } else {
      row("odograph check", check.status == 0, check.output)
    }
  }

  mutating func fillInWatch() async throws {
    let watch = try await odograph(["watch", "--once"])
    if isRabbitMQ {
      row(
        "odograph watch", "from the next message on",
        "retained messages are not delivered to wildcards; it prints a notice",
        watch.status == 0 && watch.output.contains("whether the broker delivers retained messages"),
        watch.output
      )
    } else {
      row("odograph watch", watch.status == 0 && watch.output.contains("van-1"), watch.output)
    }
    let begun = try await odograph(["watch", "--once"] + recording)
    row(
      "odograph watch --recording", "yes", "the last recorded state of each vehicle until its next message",
      begun.status == 0 && begun.output.contains("van-1"), begun.output)
  }

  /// Uses the vehicle's own certificate: no other member may publish its topics.
  mutating func fillInReplay() async throws {
    let played = try await odograph(
      ["replay", state.file("a.sqlite"), "--as-live", "--speed", "100"] + named, as: "acme/van-1")
    row(
      "odograph replay", "one vehicle", "each vehicle requires its own certificate", played.status == 0,
      played.output
    )
  }

  mutating func fillInForget() async throws {
    let unnamed = try await odograph(["forget", "--vehicle", "van-1"], by: "registrar")
    let shown = try await odograph(["forget"] + named, by: "registrar")
    let gone = try await odograph(["forget", "--yes", "--online"] + named, by: "registrar")
    let again = try await odograph(["forget"] + named, by: "registrar")
    let holds =
      shown.status == 0 && shown.output.contains("status") && gone.status == 0
      && gone.output.contains("are deleted")
      && again.status == 0 && again.output.contains("nothing to forget")
    let said = [unnamed, shown, gone, again].map(\.output).joined()
    if isRabbitMQ {
      row(
        "odograph forget", "with `--fleet` and `--vehicle`",
        "a user with permission to write vehicle topics; only the documented topics, at the connected node; it prints this limit",
        holds && unnamed.status == 69 && unnamed.output.contains("name the fleet, too")
          && shown.output.contains("other topics are unknown"), said)
    } else {
      let isCentre = cluster.engine == .mosquitto
      row(
        "odograph forget", "yes",
        "a user with permission to write vehicle topics"
          + (isCentre ? "; repeat it at each site's broker" : ""),
        holds && unnamed.status == 0 && !shown.output.contains("are unknown"), said)
    }
  }

  /// Simulated vehicles have the rights of real ones.
  mutating func fillInSimulation() async throws {
    let simulated = try await odograph(
      ["simulate", "--fleet", "acme", "--vehicles", "1", "--seconds", "6", "--json"], as: "acme/sim-1")
    row(
      "odograph simulate", "one vehicle", "each vehicle requires its own certificate", simulated.status == 0,
      simulated.output)
  }
}
