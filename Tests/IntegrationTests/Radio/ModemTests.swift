import Foundation
import JSON
import Positioning
import Telemetry
import TestSupport
import Testing

/// A private D-Bus bus with a simulated ModemManager (Tests/ModemManager). Both stop with this object.
private final class ModemFixture: Sendable {
  private let directory: TemporaryDirectory
  private let bus: ChildProcess
  private let manager: ChildProcess?

  /// - Parameter scene: Scene of `modemmanager.py`; nil for a bus without ModemManager.
  init(_ scene: String?) throws {
    directory = try TemporaryDirectory()
    let socket = directory.file("bus")
    bus = try ChildProcess("dbus-daemon", ["--session", "--nofork", "--address=unix:path=\(socket)"])
    #expect(waitUntil { FileManager.default.fileExists(atPath: socket) }, "\(bus.output)")
    guard let scene else {
      manager = nil
      return
    }
    let manager = try ChildProcess(
      ContractScript.python, ["\(ContractScript.repository)/Tests/ModemManager/modemmanager.py", scene],
      environment: ["DBUS_SYSTEM_BUS_ADDRESS": "unix:path=\(socket)"])
    self.manager = manager
    #expect(waitUntil { manager.output.contains("ready") || !manager.isRunning }, "\(manager.output)")
  }

  /// Runs a built program on this bus until it exits.
  func run(_ program: String, _ arguments: [String]) throws -> (status: Int32, lines: [String]) {
    let child = try ChildProcess(
      BuiltProduct.path(program), arguments,
      environment: ["DBUS_SYSTEM_BUS_ADDRESS": "unix:path=\(directory.file("bus"))"])
    let status = child.waitForExit()
    return (status, child.output.split(separator: "\n").map(String.init))
  }

  /// Output of a modem source that runs for `seconds`.
  func source(seconds: Double = 3) throws -> [String] {
    try run("RadioChild", ["modem", "600", "\(seconds)"]).lines
  }

  func odographd(_ command: String, _ more: String...) throws -> (status: Int32, lines: [String]) {
    try run("odographd", [command] + Self.settings + more)
  }

  private static let settings = [
    "vehicle.id=v", "gpsd.enabled=false", "iio.enabled=false", "radio.modem=true",
  ].flatMap { ["--set", $0] }

  /// Number of cell queries to the modem.
  var queryCount: Int { manager?.output.split(separator: "\n").count { $0 == "GetCellInfo" } ?? 0 }

  /// Runs the agent with a broker until the modem was queried `count` times, and stops it.
  /// - Returns: The energy accounts in the last status message.
  func energy(untilQueried count: Int) async throws -> [EnergyComponent: EnergyAccount]? {
    let broker = try BrokerFixture()
    let lines = try await BrokerLines(broker, in: directory)
    let own = [
      "store.path=\(directory.file("outbox.sqlite"))", "mqtt.broker=mqtt://127.0.0.1:\(broker.port)",
      "control.socket=none",
    ]
    let child = try ChildProcess(
      BuiltProduct.path("odographd"), ["run"] + Self.settings + own.flatMap { ["--set", $0] },
      environment: ["DBUS_SYSTEM_BUS_ADDRESS": "unix:path=\(directory.file("bus"))"])
    try await eventually { queryCount >= count || !child.isRunning }
    // The agent processes the response; the next query follows after 30 s.
    try await Task.sleep(for: .seconds(1))
    child.signal(SIGTERM)
    try await eventually { !child.isRunning }
    #expect(child.exitStatus == 0, "\(child.output)")
    try await lines.finish()
    let last = lines.text.split(separator: "\n").compactMap { PrintedMessage(line: $0) }
      .last { $0.kind == "status" }
    return try last.flatMap { try StatusMessage(json: $0.payload) }?.energy?.accounts
  }
}

extension Need {
  fileprivate static let dbus = Need("the Debian packages dbus python3-dbus python3-gi") {
    try ChildProcess.find("dbus-daemon") != nil
      && ChildProcess(ContractScript.python, ["-c", "import dbus, gi"]).waitForExit() == 0
  }
}

/// Cells from ModemManager's D-Bus interface: sd-bus on a real bus.
@Suite(.timeLimit(.minutes(3)), .needs(.dbus)) struct ModemTests {
  private static let serving = String((4 << 60 | 262 << 50 | 1 << 40 | 0x1A2D003) as UInt64)
  private static let neighbour = String((2 << 60 | 262 << 50 | 1 << 40 | 0x1F4 << 16 | 0x2B67) as UInt64)

  @Test func servingAndNeighbouringCells() throws {
    let lines = try ModemFixture("lte").source()
    #expect(lines.filter { !$0.hasPrefix("heard") } == ["active", "scan of 2 in - s", "end"], "\(lines)")
    let cell = try #require(lines.first { $0.hasPrefix("heard \(Self.serving) -95.5 dBm") }, "\(lines)")
    // Round-trip time of 4 µs.
    #expect(cell.contains(" 599.5") && cell.hasSuffix("m serving"), "\(cell)")
    #expect(lines.contains("heard \(Self.neighbour) -85.0 dBm 0.0 s -1.0 m other"), "\(lines)")
    let steps = try ModemFixture("mbim").source()
    #expect(steps.contains { $0.hasPrefix("heard \(Self.serving)") && $0.contains(" 312.2") }, "\(steps)")
  }

  @Test func modemWithoutCellInformationReportsItsLocation() throws {
    let lines = try ModemFixture("gsm").source()
    #expect(lines.contains("heard \(Self.neighbour) 0.0 dBm 0.0 s -1.0 m serving"), "\(lines)")
    #expect(lines.contains("active") && lines.contains("scan of 1 in - s"), "\(lines)")
  }

  @Test func servingCellWithoutControlPermission() throws {
    let fixture = try ModemFixture("neighbours")
    let lines = try fixture.source()
    #expect(lines.contains { $0.hasPrefix("heard \(Self.serving)") } && lines.contains("active"), "\(lines)")
    let check = try fixture.odographd("check").lines
    #expect(
      check.contains {
        $0.hasPrefix("warning  modem: ") && $0.contains("serving cell only; to query neighbour cells")
          && $0.contains("/cells.rules ") && $0.contains("/cells.conf ")
      }, "\(check)")
  }

  @Test(arguments: [
    (
      "forbidden",
      "modem: ModemManager does not permit this user to query cells; permit it: install -D -m 644 /usr/share/odographd/modem.rules "
    ),
    ("none", "modem: ModemManager knows no modem; plug one in"),
    (nil, "modem: ModemManager does not run; apt-get install modemmanager"),
  ]) func missingModemIsReportedOnceWithARemedy(scene: String?, says: String) throws {
    let fixture = try ModemFixture(scene)
    let lines = try fixture.source()
    #expect(lines.count == 2 && lines[0].hasPrefix("unavailable \(says)") && lines[1] == "end", "\(lines)")
    let check = try fixture.odographd("check").lines
    #expect(check.contains { $0.hasPrefix("problem  \(says)") }, "\(check)")
  }

  @Test func modemWithoutACellReportsNone() throws {
    let fixture = try ModemFixture("searching")
    #expect(try fixture.source() == ["active", "scan of 0 in - s", "end"])
    let check = try fixture.odographd("check").lines
    #expect(
      check.contains { $0.hasPrefix("warning  modem: no cell serves it; see mmcli -m any") }, "\(check)")
  }

  /// The energy ledger counts each query: at the start, and again every 30 s while no map contains the cells.
  @Test func ledgerCountsEachQuery() async throws {
    let fixture = try ModemFixture("lte")
    let accounts = try #require(try await fixture.energy(untilQueried: Shared.isFullRun ? 3 : 2))
    let booked = try #require(accounts[.cellular])
    print("modem: queried \(fixture.queryCount) times, ledger \(booked.starts) queries, \(booked.seconds) s")
    #expect(booked.starts == fixture.queryCount && booked.starts >= 2)
    // 0.3 s per query (`energy.cellular_scan`).
    #expect(abs(booked.seconds - 0.3 * Double(booked.starts)) < 0.01)
    // There is no receiver.
    #expect(accounts[.receiver]?.seconds == 0)
  }

  @Test func modemsAreListed() throws {
    let fixture = try ModemFixture("lte")
    let path = "/org/freedesktop/ModemManager1/Modem/0"
    let lines = try fixture.odographd("sensors").lines
    #expect(lines.contains("modem: Quectel EG25-G, on (\(path))"), "\(lines)")
    let text = try fixture.odographd("sensors", "--json").lines.joined()
    let json = try #require(JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any], "\(text)")
    let modems = try #require(json["modems"] as? [[String: Any]])
    #expect(modems.first?["path"] as? String == path && modems.first?["enabled"] as? Bool == true)
    #expect(json["wifi"] is [Any])
    let missing = try ModemFixture(nil).odographd("sensors").lines
    #expect(missing.contains { $0.hasPrefix("modem: ModemManager does not run; apt-get") }, "\(missing)")
    let check = try fixture.odographd("check").lines
    #expect(
      check.contains("ok       modem: the cell that serves it, 1 around it with an identity"), "\(check)")
  }
}
