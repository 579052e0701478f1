import AgentCore
import Foundation
import Logging
import Motion
import Pipeline
import Sensors
import Spatial
import Telemetry
import TestSupport
import Testing

@Suite struct CalibrationStoreTests {
  private static let start = UTCTime(nanoseconds: 1_795_248_000_000_000_000)

  private func withFolder(_ body: (String) throws -> Void) throws {
    let url = FileManager.default.temporaryDirectory.appendingPathComponent("odograph-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: url) }
    try body(url.path)
  }

  private func pipeline(_ calibration: MotionCalibration?) throws -> AgentPipeline {
    AgentPipeline(
      configuration: try AgentConfiguration(settings: ["vehicle.id=v"]).pipeline,
      start: Timestamp(nanoseconds: 0), time: Self.start, version: "1", calibration: calibration)
  }

  /// Plays a device at rest with a gyroscope bias in rad/s.
  private func rest(_ pipeline: inout AgentPipeline, seconds: Range<Int>, bias: Double) {
    for index in (seconds.lowerBound * 100)..<(seconds.upperBound * 100) {
      let time = Timestamp(seconds: Double(index) / 100)
      let noise = Double(index % 7 - 3) * 1e-4
      let events: [SensorEvent] = [
        .inertial([InertialScan(timestamp: time, acceleration: Vector3(noise, 0, -1))]),
        .inertial([InertialScan(timestamp: time, rotationRate: Vector3(bias + noise, 0, 0))]),
      ]
      for event in events { pipeline.process(event) { _ in } }
    }
  }

  private func store(_ path: String) -> CalibrationStore {
    CalibrationStore(path: path, log: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
  }

  private func files(_ folder: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
  }

  @Test func learnedDataSurvivesARestart() throws {
    try withFolder { folder in
      var first = store(folder + "/calibration")
      let nothing = first.load(now: Self.start)
      #expect(nothing == nil)
      var before = try pipeline(nil)
      first.save(before, at: Timestamp(seconds: 0))
      // Nothing has been learned, so nothing is stored.
      #expect(try files(folder).isEmpty)
      rest(&before, seconds: 0..<30, bias: 0.02)
      first.save(before, at: Timestamp(seconds: 30))
      #expect(try files(folder) == ["calibration"])
      var second = store(folder + "/calibration")
      let loaded = second.load(now: Self.start)
      let kept = try #require(loaded)
      #expect(kept.made == Self.start.advanced(bySeconds: 30))
      #expect(abs((kept.gyroBias(at: nil)?.bias.x ?? 0) - 0.02) < 2e-4)
      #expect(try pipeline(kept).calibration.gyroBiases == kept.gyroBiases)
    }
  }

  @Test func levelChangesAreStoredImmediately() throws {
    try withFolder { folder in
      let path = folder + "/calibration"
      func kept() -> LevelCalibration? {
        var reader = store(path)
        return reader.load(now: Self.start)?.level
      }
      var first = store(path)
      var before = try pipeline(nil)
      rest(&before, seconds: 0..<4, bias: 0.02)
      first.keep(before, at: Timestamp(seconds: 4))
      before.startLeveling()
      rest(&before, seconds: 4..<8, bias: 0.02)
      let level = try #require(before.level)
      first.keep(before, at: Timestamp(seconds: 8))
      #expect(kept() == level)
      // The level is in effect after a restart.
      var second = store(path)
      let loaded = second.load(now: Self.start)
      var restarted = try pipeline(loaded)
      #expect(restarted.level == level)
      #expect(restarted.report(.online, at: Timestamp(seconds: 0)).level != nil)
      restarted.clearLevel()
      second.keep(restarted, at: Timestamp(seconds: 1))
      #expect(kept() == nil)
    }
  }

  @Test func savesPeriodicallyAndImmediatelyAfterADiscard() throws {
    try withFolder { folder in
      var store = store(folder + "/calibration")
      var pipeline = try pipeline(nil)
      rest(&pipeline, seconds: 0..<30, bias: 0.02)
      for second in stride(from: 30.0, to: 30 + CalibrationStore.pace, by: 1) {
        store.keep(pipeline, at: Timestamp(seconds: second))
      }
      #expect(try files(folder).isEmpty)
      store.keep(pipeline, at: Timestamp(seconds: 30 + CalibrationStore.pace))
      #expect(try files(folder) == ["calibration"])

      // After a restart, the bias differs strongly from the stored one.
      var again = self.store(folder + "/calibration")
      var next = try self.pipeline(again.load(now: Self.start))
      again.keep(next, at: Timestamp(seconds: 0))
      rest(&next, seconds: 0..<60, bias: -0.2)
      #expect(next.hasDiscardedCalibration)
      again.keep(next, at: Timestamp(seconds: 60))
      var last = self.store(folder + "/calibration")
      let loaded = last.load(now: Self.start)
      let kept = try #require(loaded)
      #expect(abs((kept.gyroBias(at: nil)?.bias.x ?? 0) + 0.2) < 1e-3)
    }
  }

  @Test(arguments: ["", "odograph-calibration 1\ngyro", "\u{0}\u{1}", String(repeating: "x", count: 100_000)])
  func damagedFileIsSetAside(text: String) throws {
    try withFolder { folder in
      let path = folder + "/calibration"
      try Data(text.utf8).write(to: URL(filePath: path))
      var store = store(path)
      let loaded = store.load(now: try #require(UTCTime(rfc3339: "2026-11-21T08:00:00Z")))
      #expect(loaded == nil)
      let left = try files(folder)
      #expect(left.count == 1 && left[0].hasPrefix("calibration.damaged-2026-11-21T08-00-00"))
      #expect(try Data(contentsOf: URL(filePath: folder + "/" + left[0])).count == text.utf8.count)
    }
  }

  @Test func diskFailureLosesOnlyTheCalibration() throws {
    var store = store("/nonexistent/calibration")
    let loaded = store.load(now: Self.start)
    #expect(loaded == nil)
    var pipeline = try pipeline(nil)
    rest(&pipeline, seconds: 0..<30, bias: 0.02)
    store.save(pipeline, at: Timestamp(seconds: 30))
    store.save(pipeline, at: Timestamp(seconds: 31))
  }

  @Test(
    arguments: [
      ([], "/var/lib/odographd/calibration"), (["store.path=/data/outbox"], "/data/calibration"),
      (["store.path=outbox"], "calibration"), (["calibration.path=none"], nil),
      (["calibration.path=/etc/c"], "/etc/c"),
    ] as [([String], String?)])
  func defaultPathIsBesideTheStore(settings: [String], path: String?) throws {
    let configuration = try AgentConfiguration(settings: ["vehicle.id=v"] + settings)
    #expect(configuration.calibrationPath == path)
  }
}
