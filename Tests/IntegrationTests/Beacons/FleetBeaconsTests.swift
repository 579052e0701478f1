import Foundation
import Positioning
import Sensors
import Spatial
import Telemetry
import TestSupport
import Testing

/// The fleet's beacon map, end to end through a real broker: the scans of two vehicles are recorded and built into a map, which a third
/// vehicle receives.
@Suite(.serialized) struct FleetBeaconsTests {
  private let broker: BrokerFixture
  private let directory: TemporaryDirectory

  init() throws {
    broker = try BrokerFixture()
    directory = try TemporaryDirectory()
  }

  private var url: String { "mqtt://127.0.0.1:\(broker.port)" }

  /// A vehicle that requests the map of its surroundings.
  private func vehicle(_ settings: [String: String] = [:]) throws -> AgentProcess {
    try AgentProcess(
      [
        "mqtt.broker": url, "input.mode": "simulation", "radio.modem": "true", "beacons.receive": "true",
        "iio.rate": "20",
      ].merging(settings) { $1 }, directory: directory)
  }

  private func wanted(_ controller: Operator) -> [[String: Any]] {
    controller.received(Operator.vehicle + "beacons/wanted").map(\.json)
  }

  private func versions(_ message: [String: Any]?) -> [String: String] {
    let cells = message?["cells"] as? [[String: Any]] ?? []
    return Dictionary(
      cells.compactMap { cell in
        (cell["cell"] as? String).map { ($0, cell["version"] as? String ?? "") }
      }
    ) { first, _ in first }
  }

  /// Payload of a vehicle that scanned in the middle of a cell.
  private func scans(in cell: Geohash, of numbers: Range<UInt64>, turn: Int) throws -> String {
    let middle = Coordinate(
      latitude: (cell.southWest.latitude + cell.northEast.latitude) / 2,
      longitude: (cell.southWest.longitude + cell.northEast.longitude) / 2)
    let now = UTCTime(nanoseconds: Int64(Date().timeIntervalSince1970 * 1e9))
    let scan = try #require(
      ScanMessage.Scan(
        time: now.advanced(bySeconds: Double(-turn)), coordinate: PrivacyPolicy.unrestricted(middle),
        accuracy: 5,
        sightings: numbers.compactMap { Beacon(accessPoint: $0) }.map {
          BeaconSighting(beacon: $0, signal: -64)
        }))
    return String(decoding: ScanMessage(scans: [scan]).payload, as: UTF8.self)
  }

  @Test(.timeLimit(.minutes(8))) func thirdVehicleReceivesTheMapOfTwoOthers() async throws {
    let controller = try Operator(broker)
    let agent = try vehicle()
    #expect(waitUntil(atMost: 60) { !wanted(controller).isEmpty }, "\(agent.log)")
    let asked = versions(wanted(controller).first)
    #expect((1...4).contains(asked.count) && asked.values.allSatisfy(\.isEmpty))
    let cell = try #require(asked.keys.sorted().first.flatMap { Geohash($0) })

    // Two other vehicles scan in this cell and are recorded.
    let store = directory.file("fleet.sqlite")
    let record = RecordProcess(broker, into: store, ["--count", "6", "--kind", "scan"], state: directory)
    try record.start()
    try await broker.waitForLog("Sending SUBACK to odograph-record")
    for turn in 0..<3 {
      for (name, numbers) in [("one", 1..<21), ("two", 11..<31)] as [(String, Range<UInt64>)] {
        try await publish(
          broker, "odograph/v1/test/\(name)/scan", scans(in: cell, of: numbers, turn: turn))
      }
    }
    #expect(try await record.waitForEnd() == 0, "\(record.output)")
    let map = directory.file("map.csv")
    let build = try await OdographProcess.run(["beacons", "build", store, "-o", map, "--vehicles", "2"])
    #expect(build.status == 0, "\(build.output)")
    #expect(build.output.contains("10 access points and 0 cells from 6 scans of 2 vehicles"))
    let again = try await OdographProcess.run(["beacons", "build", store, "-o", map])
    #expect(again.status == 64 && again.output.contains("map.csv"), "\(again.output)")
    let whole = try await OdographProcess.run(["beacons", "build", store, "-o", map, "--force"])
    #expect(whole.status == 0 && whole.output.contains("30 access points"), "\(whole.output)")

    // The retained request is answered, and the agent stores the map.
    let output = directory.file("serve.out")
    let serve = try OdographProcess.start(
      ["beacons", "serve", map, "--broker", url, "--fleet", "test"], output: output)
    #expect(
      waitUntil(atMost: 120) { agent.log.contains("piece of the fleet's map of beacons received") },
      "\(agent.log)")
    #expect(waitUntil(atMost: 10) { agent.log.contains("beacons=30") }, "\(agent.log)")
    // The agent reports the versions that it has, within a minute.
    #expect(
      waitUntil(atMost: 120) { versions(wanted(controller).last).values.allSatisfy { $0.count == 16 } },
      "\(wanted(controller))")

    // A changed map file is served without a restart; an invalid file changes nothing.
    let fewer = try await OdographProcess.run([
      "beacons", "build", store, "-o", map, "--vehicles", "2", "--force",
    ])
    #expect(fewer.status == 0, "\(fewer.output)")
    #expect(waitUntil(atMost: 60) { agent.log.contains("beacons=10") }, "\(agent.log)")
    let shown = try await OdographProcess.run(["beacons", "show", map])
    #expect(shown.status == 0 && shown.output.contains("\nsource      fleet"), "\(shown.output)")
    _ = try directory.write("map.csv", "no map")
    #expect(
      waitUntil(atMost: 60) {
        (try? OdographProcess.text(of: output).contains("the previous map remains in use")) ?? false
      })

    // An invalid piece is refused and reported; after a restart, the agent still has its map.
    controller.send("beacons/piece", #"{"cell":"\#(cell)","version":"x"}"#)
    #expect(
      waitUntil(atMost: 60) { agent.log.contains("piece of the fleet's map of beacons refused") },
      "\(agent.log)")
    #expect(
      waitUntil(atMost: 120) { wanted(controller).last?["refused"] != nil }, "\(wanted(controller))")
    agent.child.terminate()
    #expect(agent.child.waitForExit() == 0, "\(agent.log)")
    let known = versions(wanted(controller).last)
    let count = wanted(controller).count
    let next = try vehicle()
    #expect(waitUntil(atMost: 60) { wanted(controller).count > count }, "\(next.log)")
    #expect(versions(wanted(controller).last) == known, "\(next.log)")
    next.child.terminate()
    #expect(next.child.waitForExit() == 0)
    serve.terminate()
    #expect(serve.waitForExit() == 143)
    let said = try OdographProcess.text(of: output)
    #expect(said.contains("the map has changed: serving 10 beacons in 1 cells"), "\(said)")
    #expect(
      said.contains("serving 30 beacons in 1 cells") && said.contains("test/van: cell \(cell), 1 piece"))
    #expect(said.contains("test/van rejected the map of cell \(cell): key \"version\""), "\(said)")
  }

  /// With all beacon features disabled, the vehicle publishes no scans or requests and subscribes to no pieces.
  @Test(.timeLimit(.minutes(2))) func nothingIsPublishedUnlessEnabled() async throws {
    let controller = try Operator(broker)
    let agent = try vehicle(["beacons.receive": "false", "location.reporting": "distance"])
    #expect(waitUntil(atMost: 60) { controller.received(Operator.vehicle + "location").count >= 3 })
    agent.child.terminate()
    #expect(agent.child.waitForExit() == 0)
    #expect(wanted(controller).isEmpty && controller.received(Operator.vehicle + "scan").isEmpty)
    #expect(broker.logCount("beacons/piece") == 0 && !agent.log.contains("beacons"), "\(agent.log)")
    #expect(!FileManager.default.fileExists(atPath: directory.file("beacons.sqlite")))
  }

  private func smallMap() throws -> String {
    try directory.write(
      "map.csv",
      """
      beacon,latitude,longitude,reach,sightings,vehicles,last_seen,source
      00:12:34:00:00:01,48.137100,11.575400,61,4,2,20780,fleet
      lte-262-1-7,-33.900000,18.400000,1200,1,0,20780,api.example

      """)
  }

  @Test func showPrintsTheMap() async throws {
    let map = try smallMap()
    for (arguments, expected) in [
      ([], "\nall                             2\n"),
      (["--near", "-33.9,18.4"], "lte-262-1-7  -33.900000  18.400000  1200 m      1         0"),
      (["--beacon", "00:12:34:00:00:01"], "2026-11-23  fleet\n"),
      (["--json"], #""source":{"api.example":1,"fleet":1}"#),
      (
        ["--near", "48.137,11.5754", "--json"],
        #"{"beacon":"00:12:34:00:00:01","latitude":48.1371,"longitude":11.5754,"reach":61,"sightings":4,"vehicles":2,"#
          + #""lastSeen":"2026-11-23","source":"fleet","distance":11.1}"#
      ),
    ] as [([String], String)] {
      let run = try await OdographProcess.run(["beacons", "show", map] + arguments)
      #expect(run.status == 0 && run.output.contains(expected), "\(arguments): \(run.output)")
    }
  }

  @Test func invalidArgumentsAreRefusedWithARemedy() async throws {
    let text = try directory.write("text.csv", "a,b\n1,2\n")
    let map = try smallMap()
    for (arguments, expected) in [
      (["serve", text], "odograph beacons build"), (["serve", directory.file("none")], "No such file"),
      (["build", text], "odograph record"), (["show", text], "odograph beacons build"),
      (["show", map, "--near", "91,1"], "--near 91,1"),
      (["show", map, "--beacon", "x"], "b8:27:eb:00:12:34"),
      (["show", map, "--beacon", "00:12:34:00:00:02"], "not in the map"),
      (["show", map, "--within", "0"], "--within"),
      (["build", text, "--vehicles", "0"], "--vehicles must be 1"),
    ] {
      let run = try await OdographProcess.run(["beacons"] + arguments)
      #expect(run.status == 64 && run.output.contains(expected), "\(arguments): \(run.output)")
    }
  }
}
