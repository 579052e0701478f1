import Foundation
import TestSupport
import Testing

/// `odograph simulate` as the load of a real broker; `stats` and `watch` count the messages.
@Suite struct FleetSimulateTests {
  private func object(_ text: some StringProtocol) throws -> [String: Any] {
    try #require(JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any], "\(text)")
  }

  @Test(.timeLimit(.minutes(8)), arguments: [1, 5]) func sentMessagesAreCounted(connections: Int) async throws
  {
    let broker = try BrokerFixture()
    let directory = try TemporaryDirectory()
    let at = ["--host", "127.0.0.1", "--port", "\(broker.port)"]
    // The empty payloads that delete retained messages are counted as well.
    let stats = try OdographProcess.start(
      ["stats", "--json", "--seconds", "300"] + at, output: directory.file("stats"))
    try await broker.waitForLog("Received SUBSCRIBE")
    let simulated = try await OdographProcess.run(
      [
        "simulate", "--vehicles", "50", "--connections", "\(connections)", "--rate", "4", "--seconds", "3",
        "--clear",
        "--json", "--events", "600",
      ] + at)
    #expect(simulated.status == 0, "\(simulated.output)")
    let summary = try object(simulated.output)
    let sent = try #require(summary["acknowledged"] as? Int)
    #expect(sent >= 50 * 12 && summary["messages"] as? Int == sent && summary["dropped"] as? Int == 0)
    // The broker has accepted all messages; the last ones are in transit to `stats`.
    try await Task.sleep(for: .seconds(2))
    stats.signal(SIGINT)
    #expect(stats.waitForExit() == 130)
    let counted = try object(OdographProcess.text(of: directory.file("stats")))
    #expect(counted["messages"] as? Int == sent)
    #expect(
      counted["missing"] as? Int == 0 && counted["duplicates"] as? Int == 0
        && counted["unreadable"] as? Int == 0)
    #expect((counted["vehicles"] as? [Any])?.count == 50)
    let left = try await OdographProcess.run(["watch", "--once", "--json"] + at)
    #expect(
      left.output.contains("no vehicle: the broker has no retained status") && left.output.hasSuffix("[]\n"))
  }

  @Test(.timeLimit(.minutes(6))) func killedSimulationPublishesWills() async throws {
    let broker = try BrokerFixture()
    let directory = try TemporaryDirectory()
    let at = ["--host", "127.0.0.1", "--port", "\(broker.port)"]
    let load = try OdographProcess.start(
      ["simulate", "--vehicles", "3", "--connections", "3"] + at, output: directory.file("load"))
    try await eventually {
      let table = try await OdographProcess.run(["watch", "--once"] + at)
      return table.output.components(separatedBy: "● online").count == 4
    }
    load.kill()
    try await eventually {
      let table = try await OdographProcess.run(["watch", "--once"] + at)
      return table.output.components(separatedBy: "○ offline").count == 4
    }
  }

  @Test(.timeLimit(.minutes(6))) func terminalShowsDetailsAndMap() async throws {
    let broker = try BrokerFixture()
    let directory = try TemporaryDirectory()
    let at = ["--host", "127.0.0.1", "--port", "\(broker.port)"]
    let load = try OdographProcess.start(
      ["simulate", "--vehicles", "30", "--live-rate", "1"] + at, output: directory.file("load"))
    defer { load.terminate() }
    let terminal = try await Terminal(
      columns: 80, rows: 24,
      command: "\(OdographProcess.path) watch \(at.joined(separator: " ")); echo status $?")
    try await eventually { try await terminal.text().contains("sim-10 ") }
    try await terminal.type("Down", "Down", "Enter")
    try await eventually {
      let text = try await terminal.text()
      return text.contains("simulation/sim-2 ") && text.contains("attitude") && text.contains("roll")
    }
    try await terminal.type("m")
    try await eventually { try await terminal.text().contains("├") }
    try await terminal.type("+", "+")
    try await terminal.resize(columns: 132, rows: 43)
    try await eventually {
      let screen = try await terminal.screen()
      return screen.count >= 43 && screen[42].contains("zoom")
    }
    try await terminal.type("Escape", "/", "s", "i", "m", "-", "2", "9")
    try await eventually { try await terminal.text().contains("1 of 30") }
    try await terminal.type("C-c")
    try await eventually { try await terminal.text().contains("status ") }
  }
}
