import AgentCore
import Foundation
import JSON
import Positioning
import Settings
import Simulation
import Telemetry
import TestSupport
import Testing

/// `check --estimate` and the energy ledger of the agent give the same figures for the same period.
@Suite(.serialized, .timeLimit(.minutes(9))) struct EnergyModelTests {
  /// Messages, bytes and joules of one period.
  private struct Figures {
    /// Seconds since the start.
    var uptime: Double
    var joules: [EnergyComponent: Double]
    var bytes: Double
    var messages: [String: Double]

    var total: Double { joules.values.reduce(0, +) }
  }

  private static func settings(_ preset: Preset, _ scenario: String) -> [String] {
    [
      "vehicle.id=van", "preset=\(preset.rawValue)", "input.mode=simulation", "input.speed=0",
      "simulation.scenario=\(scenario)", "simulation.start=2026-11-21T00:00:00Z", "log.level=warning",
    ]
  }

  /// Runs the agent as a user does.
  /// - Returns: the ledger of the last `status` before the simulation ends, and the messages printed until then.
  private static func run(_ preset: Preset, _ scenario: String, seconds: Int) throws -> Figures {
    let directory = try TemporaryDirectory()
    let (lines, log) = (directory.file("lines"), directory.file("log"))
    let child = try ChildProcess(
      "sh",
      ["-c", #"exec "$0" "$@" >"$LINES" 2>"$LOG""#, BuiltProduct.path("odographd"), "run", "--print"]
        + (settings(preset, scenario) + ["simulation.duration=\(seconds)", "status.interval=60"])
        .flatMap { ["--set", $0] },
      environment: ["LINES": lines, "LOG": log])
    #expect(child.waitForExit() == 0)
    var counts: [String: Double] = [:]
    var figures: Figures?
    for line in try String(contentsOfFile: lines, encoding: .utf8).split(separator: "\n") {
      let json = try JSONValue(parsing: Array(line.utf8))
      let topic = try #require(json["topic"]?.string)
      let path = topic.split(separator: "/").dropFirst(4).joined(separator: "/")
      if path == "status", let payload = json["payload"] {
        let status = try StatusMessage(json: payload)
        let energy = try #require(status.energy)
        // Messages that are published at the end of the simulation are excluded.
        if let uptime = status.uptime, uptime < Double(seconds) - 2 {
          figures = Figures(
            uptime: uptime, joules: energy.accounts.mapValues(\.joules),
            bytes: Double(energy.accounts[.radio]?.bytes ?? 0), messages: counts)
        }
      }
      counts[path, default: 0] += 1
    }
    return try #require(figures)
  }

  private static func estimate(_ preset: Preset, _ scenario: String, seconds: Double) throws -> Figures {
    let configuration = try ConfigurationLayers(
      file: nil, environment: [:], assignments: settings(preset, scenario) + ["status.interval=60"]
    ).configuration()
    let isSilent = scenario == "parked" && !SimulatedDay.publishesAtRest(configuration)
    let stretch = try SimulatedStretch(
      configuration, scenario == "drive" ? .drive : .parked, silentFrom: isSilent ? 600 : nil)
    let use = try stretch.advance(to: seconds)
    return Figures(uptime: seconds, joules: use.joules, bytes: use.bytes, messages: use.counts)
  }

  @Test(arguments: Preset.allCases, ["drive", "parked"])
  func estimateAndLedgerAgree(preset: Preset, scenario: String) throws {
    // 4000 s contain the bursts of a parked vehicle. The full run simulates 8 h of each scenario.
    let seconds = Shared.isFullRun ? 28_800 : scenario == "drive" ? 2400 : 4000
    let ledger = try Self.run(preset, scenario, seconds: seconds)
    let estimate = try Self.estimate(preset, scenario, seconds: ledger.uptime - 0.5)
    print(
      "\(preset.rawValue) \(scenario) \(ledger.uptime) s: ledger \(ledger.total) J, \(ledger.bytes) bytes; "
        + "estimate \(estimate.total) J, \(estimate.bytes) bytes; of the parts "
        + ledger.joules.keys.sorted().map {
          "\($0.rawValue) \(ledger.joules[$0] ?? 0) \(estimate.joules[$0] ?? 0)"
        }.joined(separator: ", ") + "; messages \(ledger.messages.sorted { $0.key < $1.key }) "
        + "\(estimate.messages.sorted { $0.key < $1.key })")
    #expect(abs(estimate.total - ledger.total) <= 0.03 * ledger.total)
    #expect(abs(estimate.bytes - ledger.bytes) <= 0.03 * ledger.bytes)
    #expect(ledger.joules[.radio] ?? 0 > 0 || preset == .testBench)
  }

  /// A replayed track with a sleeping receiver includes the energy of its searches. A recording of motion only
  /// has no receiver energy.
  @Test func recordingsIncludeEnergyOnlyOfTheirReceiver() throws {
    let directory = try TemporaryDirectory()
    let still = (0..<3000).map { String(format: "%.2f,0.01,0.02,9.81,0,0,0\n", Double($0) / 25) }
    let csv = try directory.write("imu.csv", "t,ax,ay,az,gx,gy,gz\n" + still.joined())
    func accounts(_ settings: [String: String]) throws -> [EnergyComponent: EnergyAccount] {
      let replay = try AgentProcess(
        settings.merging([
          "input.mode": "replay", "input.speed": "0", "location.desired_accuracy": "kilometer",
        ]) {
          $1
        }, print: true)
      #expect(replay.child.waitForExit() == 0, "\(replay.log)")
      let status = try #require(replay.messages.last { $0.kind == "status" })
      let data = try JSONSerialization.data(withJSONObject: status.payload)
      return try #require(try StatusMessage(json: JSONValue(parsing: Array(data))).energy).accounts
    }
    let blind = try accounts(["replay.sensors": csv])
    #expect(blind[.receiver]?.seconds == 0 && blind[.accelerometer]?.seconds ?? 0 > 100)
    // 13 m/s to the east, one fix per second. Each sleep of some seconds is followed by a search of 2 s.
    let points = (0..<1200).map { second in
      let time = String(format: "2026-11-21T08:%02d:%02dZ", second / 60, second % 60)
      let longitude = 11 + Double(second) * 13 / 74_626
      return "<trkpt lat=\"48.0\" lon=\"\(longitude)\"><time>\(time)</time></trkpt>"
    }
    let gpx = try directory.write(
      "way.gpx",
      #"<?xml version="1.0"?><gpx version="1.1" creator="test"><trk><trkseg>\#(points.joined())</trkseg></trk></gpx>"#
    )
    let track = try accounts(["replay.position": gpx])
    let receiver = try #require(track[.receiver])
    print("replayed track: receiver \(receiver.seconds) s in \(receiver.starts) starts")
    #expect(receiver.starts > 20)
    #expect(receiver.seconds >= 1.9 * Double(receiver.starts - 1), "\(receiver)")
  }
}
