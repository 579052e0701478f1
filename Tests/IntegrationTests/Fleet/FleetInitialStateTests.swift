import Foundation
import Glibc
import TestSupport
import Testing

/// A broker without retained messages: the initial state comes from a recording.
@Suite struct FleetInitialStateTests {
  private struct Fixture {
    let broker: BrokerFixture
    let state: TemporaryDirectory
    let recording: String
    var at: [String] { ["--broker", "mqtt://127.0.0.1:\(broker.port)"] }
    var from: [String] { at + ["--recording", recording] }

    /// Records messages of a vehicle that publishes nothing afterwards.
    static func make() async throws -> Fixture {
      let broker = try BrokerFixture(["allow_anonymous true", "retain_available false"])
      let state = try TemporaryDirectory()
      let recording = state.file("fleet.sqlite")
      let said: [(String, String)] = [
        ("status", FleetPayload.status("online", session: FleetPayload.time(-60), seq: 1)),
        ("location", FleetPayload.location(48.5, 11, speed: 7, course: 90, seq: 2)),
        ("config/desired", #"{"version":"winter","settings":{"status.interval":30}}"#),
        (
          "config/reported",
          #"{"time":"\#(FleetPayload.time())","version":"winter","state":"applied","#
            + #""settings":{"status.interval":30},"epoch":"e","seq":3}"#
        ),
        (
          "regions/state",
          #"{"time":"\#(FleetPayload.time())","source":"file","count":1,"#
            + #""regions":[{"region":"yard","state":"inside"}],"epoch":"e","seq":4}"#
        ),
      ]
      let record = RecordProcess(broker, into: recording, ["--count", "\(said.count)"], state: state)
      try record.start()
      try await broker.waitForLog("Sending SUBACK to odograph-record")
      for (path, payload) in said { try await publish(broker, "odograph/v1/demo/van/\(path)", payload) }
      #expect(try await record.waitForEnd() == 0)
      return Fixture(broker: broker, state: state, recording: recording)
    }
  }

  @Test(.timeLimit(.minutes(6))) func commandsStartFromARecording() async throws {
    let fixture = try await Fixture.make()
    let without = try await OdographProcess.run(["watch", "--once"] + fixture.at)
    #expect(
      without.status == 0 && without.output.contains("no vehicle") && without.output.contains("--recording"))
    let table = try await OdographProcess.run(["watch", "--once", "--json"] + fixture.from)
    #expect(table.status == 0 && table.output.contains(#""van""#), "\(table.output)")
    #expect(table.output.contains("starts with \(fixture.recording): 1 vehicle, newest message "))

    let nobody = try await OdographProcess.run(["config", "show"] + fixture.at)
    #expect(nobody.status == 69 && nobody.output.contains("begin from a recording with --recording"))
    let settings = try await OdographProcess.run(["config", "show", "--fleet", "demo"] + fixture.from)
    #expect(
      settings.status == 0 && settings.output.contains("demo/van  applied")
        && settings.output.contains("status.interval = 30"), "\(settings.output)")
    let same = try await OdographProcess.run(["config", "diff"] + fixture.from)
    #expect(same.status == 0, "\(same.output)")

    let none = try await OdographProcess.run(["regions", "list"] + fixture.at)
    #expect(none.status == 0 && none.output.contains("begin from a recording with --recording"))
    let regions = try await OdographProcess.run(["regions", "list"] + fixture.from)
    #expect(
      regions.status == 0 && regions.output.contains("yard") && regions.output.contains("inside"),
      "\(regions.output)")
    let other = try await OdographProcess.run(["regions", "list", "--fleet", "other"] + fixture.from)
    #expect(other.output.contains("has no messages of the selected vehicles"), "\(other.output)")
  }

  /// The recorded position is shown immediately and replaced by the next received one.
  @Test(.timeLimit(.minutes(6))) func receivedMessagesReplaceRecordedOnes() async throws {
    let fixture = try await Fixture.make()
    let log = fixture.state.file("watch.out")
    let watch = try OdographProcess.start(
      ["watch", "--json", "--interval", "0.05"] + fixture.from, output: log)
    defer { watch.kill() }
    try await eventually { try OdographProcess.text(of: log).contains("48.5") }
    try await publish(
      fixture.broker, "odograph/v1/demo/van/location",
      FleetPayload.location(49.25, 11, speed: 9, course: 90, seq: 8))
    try await eventually { try OdographProcess.text(of: log).contains("49.25") }
    // A late message with an earlier sequence number.
    try await publish(
      fixture.broker, "odograph/v1/demo/van/location",
      FleetPayload.location(47.75, 11, speed: 9, course: 90, seq: 5))
    try await publish(
      fixture.broker, "odograph/v1/demo/van/location",
      FleetPayload.location(49.5, 11, speed: 9, course: 90, seq: 9))
    try await eventually { try OdographProcess.text(of: log).contains("49.5") }
    #expect(try !OdographProcess.text(of: log).contains("47.75"))
    watch.signal(SIGTERM)
    #expect(watch.waitForExit() == 143)
  }

  @Test(
    .timeLimit(.minutes(6)),
    arguments: [
      ["watch", "--once"], ["config", "show"], ["config", "diff"], ["regions", "list"], ["regions", "diff"],
    ])
  func missingRecordingIsReported(command: [String]) async throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("none.sqlite")
    let result = try await OdographProcess.run(
      command + ["--recording", path, "--broker", "mqtt://127.0.0.1:1"])
    #expect(
      result.status == 64 && result.output.contains(path) && result.output.contains("no such file"),
      "\(result.output)")
  }
}
