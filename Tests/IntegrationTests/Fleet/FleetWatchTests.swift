import Foundation
import TestSupport
import Testing

/// `odograph watch` in a real terminal, with messages published by mosquitto_pub.
@Suite struct FleetWatchTests {
  private let session = FleetPayload.time(-60)

  private func publishVan(_ broker: BrokerFixture, name: String = "van-1", seq: Int, retain: Bool = false)
    async throws
  {
    let topic = "odograph/v1/demo/\(name)/"
    try await publish(
      broker, topic + "status", FleetPayload.status("online", session: session, seq: seq), retain: retain)
    try await publish(
      broker, topic + "location",
      FleetPayload.location(48.1635068, 11.5643883, speed: 13.25, course: 43.2, seq: seq + 1), retain: retain)
  }

  private func watch(_ broker: BrokerFixture, _ more: String = "") -> String {
    "'\(OdographProcess.path)' watch --host 127.0.0.1 --port \(broker.port) \(more); echo status $?; stty -a"
  }

  @Test(.timeLimit(.minutes(6))) func tableFollowsKeysAndSizesAndRestoresTheTerminal() async throws {
    let broker = try BrokerFixture()
    let terminal = try await Terminal(columns: 120, rows: 12, command: watch(broker))
    try await eventually { try await terminal.text().contains("waiting for the first vehicle") }
    #expect(try await terminal.state("alternate_on") == "1")
    #expect(try await terminal.state("cursor_flag") == "0")
    try await publishVan(broker, seq: 1)
    try await publishVan(broker, name: "tram-2", seq: 1)
    try await publish(
      broker, "odograph/v1/demo/van-1/region",
      #"{"time":"2026-11-21T08:15:30Z","event":"enter","region":"depot","latitude":48.16,"longitude":11.56}"#)
    try await eventually {
      let text = try await terminal.text()
      return text.contains("2 vehicles  ● 2 online") && text.contains("enter depot")
    }
    let row = try #require(try await terminal.screen().first { $0.hasPrefix("van-1") })
    #expect(row.contains("● online") && row.contains("48.16351   11.56439"))
    #expect(row.contains("47.7 km/h") && row.contains("↗  43°"))
    #expect(try await terminal.screen()[2].hasPrefix("tram-2"))

    try await terminal.type("/", "v", "a")
    try await eventually { try await terminal.text().contains("filter: va   1 of 2") }
    #expect(try await !terminal.text().contains("tram-2"))
    try await terminal.type("Escape")
    try await eventually { try await terminal.text().contains("tram-2") }
    try await terminal.type("r")
    try await eventually { try await terminal.screen()[2].hasPrefix("van-1") }

    try await terminal.resize(columns: 80, rows: 24)
    try await eventually { try await terminal.screen()[23].contains("q quit") }
    let titles = try await terminal.screen()[1]
    #expect(titles.contains("HEADING") && !titles.contains("ROLL"))

    try await terminal.type("q")
    try await eventually { try await terminal.text().contains("status 0") }
    #expect(try await terminal.state("alternate_on") == "0")
    #expect(try await terminal.state("cursor_flag") == "1")
    // The shell starts stty(1) after its line with the status.
    try await eventually {
      let settings = try await terminal.text()
      return settings.contains(" icanon ") && settings.contains(" echo ")
    }
  }

  @Test(.timeLimit(.minutes(6)), arguments: [("INT", 130), ("TERM", 143), ("TRAP", 133), ("ABRT", 134)])
  func restoresTheTerminalOnASignal(name: String, status: Int) async throws {
    let broker = try BrokerFixture()
    // The shell writes its process ID to a file and is replaced by the program.
    let directory = try TemporaryDirectory()
    let terminal = try await Terminal(
      columns: 80, rows: 40,
      command:
        "bash -c 'echo $$ > \(directory.file("pid")); exec \(OdographProcess.path) watch --host 127.0.0.1 --port \(broker.port)'"
        + "; echo status $?; stty -a")
    try await eventually { try await terminal.text().contains("waiting for the first vehicle") }
    let number = try OdographProcess.text(of: directory.file("pid"))
    let problem = try await runTool("bash", ["-c", "kill -\(name) \(number)"])
    #expect(problem.isEmpty)
    try await eventually { try await terminal.text().contains("status \(status)") }
    #expect(try await terminal.state("alternate_on") == "0")
    #expect(try await terminal.state("cursor_flag") == "1")
    // The shell starts stty(1) after its line with the status.
    try await eventually {
      let settings = try await terminal.text()
      return settings.contains(" icanon ") && settings.contains(" echo ")
    }
  }

  @Test(.timeLimit(.minutes(6))) func brokerOutageIsShown() async throws {
    let broker = try BrokerFixture()
    let terminal = try await Terminal(columns: 120, rows: 12, command: watch(broker))
    try await eventually { try await terminal.text().contains("waiting for the first vehicle") }
    broker.kill()
    try await eventually { try await terminal.text().contains("not connected: ") }
    try broker.start()
    try await eventually { try await !terminal.text().contains("not connected: ") }
    try await publishVan(broker, seq: 1)
    try await eventually { try await terminal.text().contains("van-1") }
  }

  @Test(.timeLimit(.minutes(6))) func hostileNamesNeverReachTheTerminal() async throws {
    let broker = try BrokerFixture()
    let terminal = try await Terminal(columns: 100, rows: 12, command: watch(broker))
    try await eventually { try await terminal.text().contains("waiting for the first vehicle") }
    let event = #"{"event":"\u001b[2J\u001b]0;owned\u0007\u009b31m"}"#
    try await publish(broker, "odograph/v1/demo/van\u{202E}/motion", event)
    try await eventually { try await terminal.text().contains("van\u{FFFD}") }
    #expect(try await terminal.screen()[0].hasPrefix("odograph"))
    #expect(try await terminal.state("pane_title") != "owned")
  }

  @Test(.timeLimit(.minutes(6))) func oncePrintsATableForScripts() async throws {
    let broker = try BrokerFixture()
    try await publishVan(broker, seq: 1, retain: true)
    try await publishVan(broker, name: "van-2", seq: 1, retain: true)
    let result = try await OdographProcess.run([
      "watch", "--once", "--host", "127.0.0.1", "--port", "\(broker.port)", "--timeout", "20",
    ])
    #expect(result.status == 0)
    #expect(result.lines.count == 3)
    #expect(result.lines.first?.hasPrefix("VEHICLE") == true)
    // The retained positions are recent, so they are shown as current.
    #expect(
      result.lines.dropFirst().allSatisfy {
        $0.contains("48.16351") && !$0.contains("~") && $0.contains("● online") && $0.contains("km/h")
      }, "\(result.output)")
    #expect(!result.output.contains("\u{1B}"))
  }

  @Test(.timeLimit(.minutes(6))) func pipeReceivesLines() async throws {
    let broker = try BrokerFixture()
    let directory = try TemporaryDirectory()
    let output = directory.file("lines")
    let watch = try OdographProcess.start(
      ["watch", "--host", "127.0.0.1", "--port", "\(broker.port)", "--interval", "0.05"], output: output)
    var seq = 1
    try await eventually {
      seq += 2
      try await publishVan(broker, seq: seq)
      return try OdographProcess.text(of: output).contains("● online")
    }
    watch.signal(SIGTERM)
    try await eventually { !watch.isRunning }
    #expect(watch.waitForExit() == 143)
    let text = try OdographProcess.text(of: output)
    #expect(!text.contains("\u{1B}"))
    let line = try #require(text.split(separator: "\n").first { $0.contains("● online") })
    #expect(
      line.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z  demo\/van-1  ● online .*/) != nil,
      "\(line)")
  }

  @Test(.timeLimit(.minutes(6))) func unreachableBrokerLeavesTheTerminalUnchanged() async throws {
    let port: Int = try FreePort.next()
    let terminal = try await Terminal(
      columns: 100, rows: 12,
      command: "'\(OdographProcess.path)' watch --host 127.0.0.1 --port \(port); echo status $?")
    try await eventually { try await terminal.text().contains("status 69") }
    #expect(try await terminal.text().contains("cannot reach the broker"))
  }

  /// Selected status columns, regions by default, and vehicles in numeric order.
  @Test(.timeLimit(.minutes(6))) func onceWithSelectedColumns() async throws {
    let broker = try BrokerFixture()
    for (name, level) in [("van-10", 0.5), ("van-2", 0.25)] {
      let status = FleetPayload.status("online", session: session, seq: 1).dropLast()
      let rest = #","battery":{"level":\#(level)},"counters":{"queue.records":7},"version":"1.2"}"#
      try await publish(broker, "odograph/v1/demo/\(name)/status", status + rest, retain: true)
      try await publish(
        broker, "odograph/v1/demo/\(name)/regions/state",
        #"{"time":"\#(FleetPayload.time())","count":1,"regions":[{"region":"depot","state":"inside"}],"epoch":"e","seq":2}"#,
        retain: true)
    }
    let at = ["--host", "127.0.0.1", "--port", "\(broker.port)"]
    let usual = try await OdographProcess.run(["watch", "--once"] + at)
    #expect(
      usual.lines.first?.contains("REGION") == true && usual.lines.last?.contains("depot") == true,
      "\(usual.output)")
    #expect(usual.lines.dropFirst().map { $0.prefix { $0 != " " } } == ["van-2", "van-10"])
    let chosen = try await OdographProcess.run(
      ["watch", "--once", "--columns", "battery,backlog,version,energy", "--sort", "battery"] + at)
    let rows = chosen.lines.map { $0.split(separator: " ") }
    #expect(rows.first == ["VEHICLE", "BATTERY▲", "BACKLOG", "VERSION", "ENERGY"], "\(chosen.output)")
    #expect(rows.dropFirst().first == ["van-2", "25", "%", "7", "1.2", "–"], "\(chosen.output)")
    let silent = try await OdographProcess.run(["watch", "--once", "--silent", "1h"] + at)
    #expect(
      silent.status == 0 && silent.output.contains("none of 2 vehicles is silent for 1 h"), "\(silent.output)"
    )
  }

  @Test(.timeLimit(.minutes(6))) func keysForColumnsAndHelpOnANarrowTerminal() async throws {
    let broker = try BrokerFixture()
    // Without stty, whose output would scroll the status off the small screen.
    let terminal = try await Terminal(
      columns: 40, rows: 12,
      command:
        "NO_COLOR=1 '\(OdographProcess.path)' watch --host 127.0.0.1 --port \(broker.port); echo status $?")
    try await eventually { try await terminal.text().contains("waiting for the first") }
    try await publishVan(broker, name: "漢字-1", seq: 1)
    try await eventually { try await terminal.text().contains("漢字-1") }
    try await terminal.type("?")
    try await eventually { try await terminal.text().contains("columns") }
    try await terminal.type("?")
    try await eventually { try await terminal.text().contains("● online") }
    try await terminal.type("Escape")
    try await eventually { try await terminal.screen()[1].hasPrefix("VEHICLE") }
    try await terminal.type("c")
    for _ in 0..<14 { try await terminal.type("Down") }
    try await eventually { try await terminal.text().contains("[ ] version") }
    try await terminal.type("Enter")
    try await eventually { try await terminal.text().contains("[!] version") }
    try await terminal.type("Escape")
    try await eventually { try await terminal.text().contains("漢字-1") }
    try await terminal.type("q")
    try await eventually { try await terminal.text().contains("status 0") }
  }
}
