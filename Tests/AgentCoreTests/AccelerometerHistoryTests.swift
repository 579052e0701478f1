import Foundation
import LiveSensors
import Logging
import Motion
import Pipeline
import Platform
import Sensors
import Spatial
import StoreAndForward
import Telemetry
import TestSupport
import Testing

@testable import AgentCore

/// The accelerometer recorder, run on the pipeline's thread as in the agent.
@Suite struct AccelerometerHistoryTests {
  private final class NoDelivery: MessageDelivery {
    func accept(_ messages: [VehicleMessage], preserving documents: [PreservedDocument]) throws {}
    func stop(farewell: () -> VehicleMessage) throws {}
    var counters: [String: Int] { [:] }
  }

  private static let log = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

  private func configuration(_ settings: [String]) throws -> AgentConfiguration {
    try AgentConfiguration(settings: ["vehicle.id=v", "input.mode=simulation"] + settings)
  }

  /// Runs the agent over a simulated drive, from its start to its regular end.
  private func run(_ configuration: AgentConfiguration) throws {
    let feed = try SensorFeed(configuration)
    let (start, time) = try feed.startOfTime(configuration.sensorInput)
    let pipeline = AgentPipeline(
      configuration: configuration.pipeline, start: start, time: time, version: "1")
    var services = AgentLoop.Services()
    services.memory = MotionMemory.Plan(configuration, calibration: nil)
    var loop = try AgentLoop(
      pipeline: pipeline, sensors: feed, inbox: AgentInbox(), delivery: NoDelivery(),
      services: services, log: Self.log)
    try loop.run()
  }

  @Test func historyIsReadableByTimeAfterARestart() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
      "odograph-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let path = folder.appendingPathComponent("history").path
    let settings = [
      "recorder.enabled=true", "recorder.path=\(path)", "input.speed=0", "simulation.duration=30",
    ]
    for start in ["2026-11-21T08:00:00Z", "2026-11-21T09:00:00Z"] {
      try run(configuration(settings + ["simulation.start=\(start)"]))
    }
    let recorder = try SensorRecorder(reading: path)
    #expect(recorder.damagedSegments == 0)
    func history(_ from: String, _ to: String) throws -> RecordedHistory {
      try recorder.accelerometerData(
        from: #require(UTCTime(rfc3339: from)), to: #require(UTCTime(rfc3339: to)))
    }
    let all = try history("2026-11-21T00:00:00Z", "2026-11-22T00:00:00Z")
    // 30 s at 50 Hz in each run; the sample rate of the drive may not be a multiple.
    #expect((2500...3100).contains(all.samples.count))
    #expect(all.gaps.count == 1 && all.gaps.first?.isRestart == true && all.undatedSegments == 0)
    #expect(abs(all.samples.reduce(0) { $0 + $1.acceleration.z } / Double(all.samples.count) + 1) < 0.1)
    // A range within the second run, and one while the agent was not running.
    let part = try history("2026-11-21T09:00:10Z", "2026-11-21T09:00:12Z")
    #expect((80...105).contains(part.samples.count) && part.gaps.isEmpty)
    #expect(try history("2026-11-21T08:10:00Z", "2026-11-21T08:50:00Z").samples.isEmpty)
  }

  /// A file that cannot be opened does not stop the agent. It is tried again every minute.
  @Test func unavailableFileIsRetried() throws {
    let directory = try TemporaryDirectory()
    let folder = directory.file("mount")
    let configuration = try configuration(
      ["recorder.enabled=true", "recorder.path=\(folder)/history", "simulation.duration=1", "input.speed=0"])
    try run(configuration)
    var memory = try MotionMemory(MotionMemory.Plan(configuration, calibration: nil), log: Self.log)
    let start = UTCTime(nanoseconds: 1_795_248_000_000_000_000)
    let pipeline = AgentPipeline(
      configuration: configuration.pipeline, start: Timestamp(nanoseconds: 0), time: start, version: "1")
    func play(_ seconds: Double, into memory: inout MotionMemory) {
      var scan = InertialScan(timestamp: Timestamp(seconds: seconds))
      scan.specificForce = Vector3(0, 0, 9.8)
      memory.process(.inertial([scan]), pipeline)
    }
    play(1, into: &memory)
    let problem = memory.recorderProblem
    #expect(problem?.contains("\(folder)/history") == true)
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    play(60, into: &memory)
    let isRecording = memory.recorderProblem == nil
    #expect(!isRecording)
    play(61, into: &memory)
    let later = memory.recorderProblem
    #expect(later == nil)
    let count = try memory.recorded(from: start, to: start.advanced(bySeconds: 100))?.piece.count
    #expect(count == 1)
  }

  /// A file that another agent writes is a mistake in the configuration.
  @Test func fileOfAnotherAgentIsRefused() throws {
    let directory = try TemporaryDirectory()
    let configuration = try configuration(
      ["recorder.enabled=true", "recorder.path=\(directory.file("history"))"])
    let plan = MotionMemory.Plan(configuration, calibration: nil)
    let first = try MotionMemory(plan, log: Self.log)
    do throws(ConfigurationError) {
      _ = try MotionMemory(plan, log: Self.log)
      Issue.record("opened twice")
    } catch { #expect(error.kind == .conflict && error.place == "recorder.path") }
    _ = consume first
  }

  /// Recording starts with the command and lasts the requested time. A later command can extend, but not
  /// shorten it. The samples remain after a restart.
  @Test func recordsForADurationOnCommand() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
      "odograph-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let configuration = try configuration(
      ["remote.enabled=true", "recorder.path=\(folder.path)/history", "input.speed=0"])
    #expect(configuration.recorder == nil && !configuration.pipeline.isRecording)
    let plan = MotionMemory.Plan(configuration, calibration: nil)
    var memory = try MotionMemory(plan, log: Self.log)
    let start = UTCTime(nanoseconds: 1_795_248_000_000_000_000)
    let pipeline = AgentPipeline(
      configuration: configuration.pipeline, start: Timestamp(nanoseconds: 0), time: start, version: "1")
    func play(_ seconds: Range<Int>, into memory: inout MotionMemory) {
      for second in seconds {
        let block = (0..<50).map { index in
          var scan = InertialScan(timestamp: Timestamp(seconds: Double(second) + Double(index) * 0.02))
          scan.specificForce = Vector3(0, 0, 9.8)
          return scan
        }
        memory.process(.inertial(block), pipeline)
      }
    }
    func count(_ memory: borrowing MotionMemory) throws -> Int? {
      try memory.recorded(from: start, to: start.advanced(bySeconds: 1000))?.piece.count
    }
    play(0..<10, into: &memory)
    #expect(try count(memory) == nil)
    try memory.record(seconds: 5)
    play(10..<12, into: &memory)
    try memory.record(seconds: 1)
    play(12..<30, into: &memory)
    #expect(try count(memory) == 251)
    try memory.record(seconds: 2)
    play(30..<40, into: &memory)
    #expect(try count(memory) == 352)
    _ = memory.close(pipeline, at: Timestamp(seconds: 40))
    let again = try MotionMemory(plan, log: Self.log)
    #expect(try count(again) == nil)
    _ = consume memory
    #expect(try count(MotionMemory(plan, log: Self.log)) ?? 0 >= 300)
  }

  /// The recorder alone powers the accelerometer, but no other sensor.
  @Test func recorderDemandsTheAccelerometer() throws {
    let off = ["location.enabled=false", "heading.enabled=false", "attitude.enabled=false", "motion.events="]
    let configuration = try configuration(off + ["recorder.enabled=true", "store.path=/tmp/x/outbox"])
    #expect(configuration.recorder?.path == "/tmp/x/accelerometer.history")
    let pipeline = AgentPipeline(
      configuration: configuration.pipeline, start: Timestamp(nanoseconds: 0), time: UTCTime(nanoseconds: 0),
      version: "1")
    #expect(pipeline.demands.filter(\.value.isOn).map(\.key) == [.accelerometer])
  }
}
