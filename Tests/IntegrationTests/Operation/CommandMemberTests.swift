import Foundation
import SensorFixtures
import TestSupport
import Testing

/// Each command listed in the articles "Core Location" and "Core Motion" works with an agent on live hardware.
@Suite(.serialized) struct CommandMemberTests {
  /// A command of the articles. The test runs the rows in order.
  private struct Row {
    /// Name in the article.
    var name: String
    /// Arguments. Words in capitals are placeholders for values of the test.
    var arguments: String
    /// Expected part of the output.
    var output: String
    /// True if the command is sent to the vehicle through the broker.
    var isRemote = true

    init(_ name: String, _ arguments: String, _ output: String, isRemote: Bool = true) {
      (self.name, self.arguments, self.output, self.isRemote) = (name, arguments, output, isRemote)
    }
  }

  private static let rows = [
    Row("odograph command locate --accuracy --timeout", "command locate --accuracy 50 --timeout 30", "48.13"),
    Row("odograph command locate", "command locate", "48.13"),
    Row("odograph regions push", "regions push REGIONS", "van"),
    Row("odograph regions push --add", "regions push REGIONS --add", "van"),
    Row("odograph regions push --radius", "regions push POINT --add --radius 80", "van"),
    Row("odograph regions list", "regions list", "home"),
    Row("odograph regions diff", "regions diff", ""),
    Row("odograph command region-state", "command region-state", "inside"),
    Row("odograph regions remove", "regions remove home", "van"),
    Row("odograph command forget-regions --yes", "command forget-regions --yes", "van"),
    Row("odograph config set", "config set attitude.interval=2", "van"),
    Row("odograph command zero", "command zero", "van"),
    Row("odograph command level", "command level", "van"),
    Row("odograph command record", "command record --seconds 2", "van"),
    Row("odograph samples", "samples --seconds 1 --rate 20", "9.8"),
    Row("odograph history", "history --from FROM", "9.8"),
    Row("odograph tail", "tail --timeout 30 --count 3", #""topic""#),
    Row("odograph tail --kind", "tail --timeout 30 --count 1 --kind status", "online"),
    Row("odograph watch", "watch --once", "van"),
    Row("odograph watch --once", "watch --once", "van"),
    Row("odograph watch --details", "watch --once --details", "van"),
    Row("odograph watch --sort", "watch --once --sort speed", "van"),
    Row("odograph record", "record STORE --count 5 --timeout 60", ""),
    Row("odograph export", "export STORE --format csv", "48.13", isRemote: false),
    Row(
      "odograph export --messages --from --to",
      "export STORE --messages --from FROM --to 2100-01-01T00:00:00Z", "heading", isRemote: false),
    Row("odograph export --region", "export STORE --region REGIONS --format csv", "48.13", isRemote: false),
    Row("odographd status", "status --socket SOCKET", "attitude", isRemote: false),
    Row("odographd status --json", "status --socket SOCKET --json", #""services""#, isRemote: false),
    Row("odographd sensors", "sensors SETTINGS", "imu", isRemote: false),
    Row("odographd check", "check SETTINGS", "gpsd", isRemote: false),
  ]

  /// Commands that do not end or that require a simulation, with the test that runs them.
  private static let elsewhere = [
    "odographd run": "it is the agent of this test",
    "odograph command simulate-location": "SimulatedLocationTests: a simulation",
  ]

  /// Commands in the column "command line" of both articles.
  private static func names() throws -> Set<String> {
    var names: Set<String> = []
    for article in ["Positioning/Documentation.docc/CoreLocation", "Motion/Documentation.docc/CoreMotion"] {
      let path = "\(ContractScript.repository)/Sources/\(article).md"
      let table = FrameworkTable(try String(contentsOfFile: path, encoding: .utf8), name: article)
      for row in table.rows {
        guard case .names(let cell)? = row.cells["command line"].map({ FrameworkCell($0) }) else { continue }
        names.formUnion(cell.filter { $0.contains(" ") })
      }
    }
    return names
  }

  @Test func everyCommandIsChecked() throws {
    #expect(try Self.names().subtracting(Self.elsewhere.keys) == Set(Self.rows.map(\.name)))
  }

  @Test(.timeLimit(.minutes(5)), .needs(.gpsd)) func everyCommandWorksOnLiveHardware() throws {
    let (vehicle, broker) = (try LiveVehicle(), try BrokerFixture())
    let directory = try TemporaryDirectory()
    let controller = try Operator(broker)
    let place = #""geometry":{"type":"Point","coordinates":[11.5755,48.1374]}"#
    try directory.write(
      "regions.geojson",
      #"{"type":"FeatureCollection","features":[{"type":"Feature","id":"home","properties":{"radius":100},"#
        + place + "}]}")
    try directory.write(
      "point.geojson",
      #"{"type":"FeatureCollection","features":[{"type":"Feature","id":"gate","properties":{},"#
        + place + "}]}")
    let settings = vehicle.settings.merging([
      "mqtt.broker": "mqtt://127.0.0.1:\(broker.port)", "remote.enabled": "true",
      "control.socket": directory.file("control"), "remote.path": directory.file("remote"),
    ]) { $1 }
    let agent = try AgentProcess(settings)
    #expect(waitUntil { controller.state == "online" }, "\(agent.log)")
    #expect(
      waitUntil { controller.all.contains { $0.name == "location" } }
        && waitUntil { controller.all.contains { $0.name == "heading" } }, "\(agent.log)")
    let values = [
      "REGIONS": directory.file("regions.geojson"), "POINT": directory.file("point.geojson"),
      "STORE": directory.file("fleet.sqlite"), "SOCKET": directory.file("control"),
      "FROM": ISO8601DateFormatter().string(from: Date(timeIntervalSinceNow: -600)),
    ]
    let own = ["vehicle.id": "van"].merging(settings) { $1 }.flatMap { ["--set", "\($0.key)=\($0.value)"] }
    for row in Self.rows {
      var arguments = row.arguments.split(separator: " ").flatMap { word in
        word == "SETTINGS" ? own : [values[String(word)] ?? String(word)]
      }
      if row.isRemote {
        arguments += ["--broker", "mqtt://127.0.0.1:\(broker.port)", "--fleet", "test", "--vehicle", "van"]
      }
      let program = row.name.hasPrefix("odographd") ? "odographd" : "odograph"
      let child = try ChildProcess(BuiltProduct.path(program), arguments)
      let status = child.waitForExit()
      #expect(
        status == 0 && (row.output.isEmpty || child.output.contains(row.output)),
        "\(row.name): \(String(describing: status)) \(child.output.prefix(2000))")
    }
    #expect(agent.child.terminate() == 0)
  }
}
