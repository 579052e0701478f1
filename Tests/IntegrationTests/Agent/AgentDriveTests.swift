import Foundation
import Recordings
import Sensors
import Spatial
import TestSupport
import Testing

/// Complete drives: a recorded one from gpsd to `odograph tail`, and simulated ones.
@Suite(.serialized) struct AgentDriveTests {
  @Test(.timeLimit(.minutes(6)), .needs(.gpsd), .needs(.recordings("tracks")))
  func everyFixArrivesOnceAndInOrder() throws {
    let path = try Shared.file("data/tracks/munich_2025.nmea")
    var recorded: [Coordinate] = []
    var recording = try NMEARecording(path: path)
    while case .position(let block)? = try recording.next() { recorded += block.compactMap(\.coordinate) }

    let broker = try BrokerFixture()
    let tail = try TailProcess(broker, ["--kind", "location"])
    let gpsd = try GPSDFixture(log: path, leadIn: 600, secondsPerSentence: 0.005)
    let agent = try AgentProcess([
      "mqtt.broker": "127.0.0.1:\(broker.port)", "gpsd.port": "\(gpsd.port)", "iio.enabled": "false",
    ])
    waitUntil(atMost: 120) { tail.messages.count >= recorded.count }
    // No further message may arrive.
    waitUntil(atMost: 2) { tail.messages.count > recorded.count }
    gpsd.stop()
    agent.child.terminate()
    tail.child.terminate()
    let received = tail.messages
    #expect(received.count == recorded.count, "\(agent.log)")
    #expect(Self.isAscending(received.compactMap(\.seq)))
    // The recording is older than the machine's clock. If no time service controls the clock, the time changes once to the receiver's,
    // which starts a new epoch.
    let epochs = received.compactMap(\.epoch)
    #expect(zip(epochs, epochs.dropFirst()).count { $0 != $1 } <= 1)
    let live = received.compactMap(Self.coordinate)
    for (a, b) in zip(live, recorded) {
      #expect(abs(a.latitude - b.latitude) < 1e-7 && abs(a.longitude - b.longitude) < 1e-7)
    }

    let replay = try AgentProcess(
      ["input.mode": "replay", "input.speed": "0", "replay.position": path], print: true)
    #expect(replay.child.waitForExit() == 0)
    let printed = replay.messages.filter { $0.kind == "location" }.compactMap(Self.coordinate)
    #expect(printed == live)
  }

  @Test(.timeLimit(.minutes(6))) func sameSeedPrintsTheSameDrive() throws {
    let settings = [
      "input.mode": "simulation", "input.speed": "0", "simulation.duration": "120",
      "simulation.start": "2026-11-21T08:00:00Z",
    ]
    let runs = try (0..<2).map { _ in try AgentProcess(settings, print: true) }
    for run in runs { #expect(run.child.waitForExit() == 0) }
    let texts = try runs.map { try String(contentsOfFile: $0.directory.file("lines"), encoding: .utf8) }
    #expect(texts[0] == texts[1])
    let kinds = Set(runs[0].messages.map(\.kind))
    #expect(kinds == ["status", "location", "trip", "heading", "attitude", "altitude", "motion"])
    #expect(runs[0].messages.contains { $0.payload["event"] as? String == "moving" })
    #expect(runs[0].messages.contains { $0.payload["trueHeading"] != nil })
    #expect(runs[0].messages.last?.state == "offline")
  }

  private static func coordinate(_ message: Message) -> Coordinate? {
    guard let latitude = message.latitude, let longitude = message.longitude else { return nil }
    return Coordinate(latitude: latitude, longitude: longitude)
  }

  private static func isAscending(_ numbers: [Int]) -> Bool {
    zip(numbers, numbers.dropFirst()).allSatisfy { $0 < $1 }
  }
}
