import AgentCore
import Compression
import Foundation
import Glibc
import Pipeline
import Sensors
import Simulation
import Spatial
import Telemetry
import TestSupport
import Testing
import Traces

/// Traces with full disks, unconfirmed outboxes, and stricter privacy settings.
@Suite struct TraceFaultTests {
  /// Fills the disk temporarily and kills the agent at a random time, in 100 rounds. After a restart, no
  /// message is repeated with different content.
  @Test(.needs(.mounting)) func fullDiskCausesNoContradictoryMessages() throws {
    var random = SeededGenerator.announced()
    let steps = try TraceDrive.steps(TraceDrive.drive(seed: 7))
    for number in 0..<100 {
      let disk = try SmallFileSystem(size: "1m")
      let full = Double.random(in: 59...80, using: &random)
      let free = full + Double.random(in: 0...20, using: &random)
      let kill = Double.random(in: max(60, full)...95, using: &random)
      let isReadOnly = Bool.random(using: &random)
      let what =
        "\(number), seed \(random.seed): full \(full) to \(free), killed \(kill), read-only \(isReadOnly)"
      var (store, told) = (TraceDrive.store(disk.file("traces")), ToldTraces())
      var (isFull, wasFull) = (false, false)
      func makeRoom() throws {
        if isReadOnly { try disk.setReadOnly(false) } else { unlink(disk.file("filler")) }
      }
      for (at, due) in steps where at <= kill {
        if !wasFull, at >= full {
          (isFull, wasFull) = (true, true)
          if isReadOnly { try disk.setReadOnly(true) } else { fill(disk) }
        }
        if isFull, at >= free {
          isFull = false
          try makeRoom()
        }
        told.receive(store.process(due))
        store.confirm { true }
      }
      if isFull { try makeRoom() }
      var second = TraceDrive.store(disk.file("traces"))
      told.receive(second.resume(try TraceDrive.places()))
      second.confirm { true }
      var third = TraceDrive.store(disk.file("traces"))
      #expect(third.resume(try TraceDrive.places()).isEmpty, "\(what)")
      for trace in Set(told.messages.map(\.trace)) where told.newest(trace)?.pieces != nil {
        _ = try told.file(trace)
      }
      #expect(Set(told.messages.map(\.trace)).count <= 1, "\(what)")
    }
  }

  private func fill(_ disk: SmallFileSystem) {
    let descriptor = open(disk.file("filler"), O_WRONLY | O_CREAT, 0o600)
    let block = [UInt8](repeating: 0xFF, count: 4096)
    while write(descriptor, block, block.count) > 0 {}
    close(descriptor)
  }

  /// With a limit of zero, no trace is stored. Later messages about the same trace do not leave files that a
  /// restart would publish.
  @Test func deletedTracesStayDeleted() throws {
    let steps = try TraceDrive.steps(TraceDrive.drive(seed: 8))
    try TraceDrive.withFolder { folder in
      var (store, told) = (TraceDrive.store(folder, count: 0), ToldTraces())
      for (_, due) in steps {
        told.receive(store.process(due))
        store.confirm { true }
      }
      // The last message about the impact follows the trace.
      let whole = try #require(told.messages.firstIndex { $0.state == .complete })
      #expect(whole < told.messages.count - 1)
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["counter"])
      var second = TraceDrive.store(folder, count: 0)
      #expect(second.resume(try TraceDrive.places()).isEmpty)
    }
  }

  /// Pieces are stored while the outbox has them only in memory. A restart publishes them again, unchanged.
  @Test func piecesAreStoredUntilTheOutboxHasThem() throws {
    let steps = try TraceDrive.steps(TraceDrive.drive(seed: 9))
    try TraceDrive.withFolder { folder in
      for (isStored, settlingTime) in [(false, 0.0), (true, 3600)] {
        var (store, told) = (TraceDrive.store(folder, settlingTime: settlingTime), ToldTraces())
        for (_, due) in steps {
          told.receive(store.process(due))
          store.confirm { isStored }
        }
        let trace = try #require(told.messages.first?.trace)
        let before = try told.file(trace)
        var second = TraceDrive.store(folder)
        let again = second.resume(try TraceDrive.places())
        #expect(again.count == 1 + (told.newest(trace)?.pieces ?? 0))
        told.receive(again)
        #expect(try told.file(trace).head == before.head)
        second.confirm { true }
        var third = TraceDrive.store(folder)
        #expect(third.resume(try TraceDrive.places()).isEmpty)
      }
    }
  }

  @Test func remainsOfAPowerLossAreDeleted() throws {
    try TraceDrive.withFolder { folder in
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      for name in [
        "0000000001.trace", "0000000002.packed", "0000000003.sent", "0000000003.trace", "0000000004.json.new",
        "0000000005.json",
      ] {
        try Data("x".utf8).write(to: URL(filePath: "\(folder)/\(name)"))
      }
      var store = TraceDrive.store(folder)
      #expect(store.resume(try TraceDrive.places()).isEmpty)
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["0000000003.sent"])
      // None of the numbers of these files is reused.
      let steps = try TraceDrive.steps(TraceDrive.drive(seed: 3)).flatMap(\.steps)
      guard case .trace(let message)? = store.process(steps).first else {
        Issue.record("no trace")
        return
      }
      #expect(message.trace.number == 4)
    }
  }

  // MARK: Positions

  /// Writes a privacy zone with a radius of 1 km around the start of the drive.
  private func withheld(_ folder: String) throws -> [String] {
    let path = folder + ".geojson"
    let zone = #"""
      {"type": "FeatureCollection", "features": [{"type": "Feature", "id": "home", "properties": {"radius": 1000},
      "geometry": {"type": "Point", "coordinates": [11, 48]}}]}
      """#
    try Data(zone.utf8).write(to: URL(filePath: path))
    return ["privacy.path=\(path)"]
  }

  private func fixes(_ file: TraceFile) -> [PositionFix] {
    file.samples.compactMap { if case .fix(let fix) = $0 { fix } else { nil } }
  }

  @Test(arguments: [62.0, 70, 76]) func newZoneAppliesToStoredTraces(kill: Double) throws {
    let steps = try TraceDrive.steps(TraceDrive.drive(seed: 11))
    try TraceDrive.withFolder { folder in
      let settings = try withheld(folder)
      defer { try? FileManager.default.removeItem(atPath: folder + ".geojson") }
      var (store, told) = (TraceDrive.store(folder), ToldTraces())
      for (at, due) in steps where at <= kill { told.receive(store.process(due)) }
      let trace = try #require(told.messages.first?.trace)
      #expect(told.messages.first?.coordinate != nil)
      var second = TraceDrive.store(folder)
      let places = try TraceDrive.places(settings)
      #expect(!places.areAll && !places.contains(Coordinate(latitude: 48.001, longitude: 11)))
      let again = second.resume(places)
      guard kill < 75 else {
        // The trace may already be published, so it is not published again with other content.
        #expect(again.isEmpty && FileManager.default.fileExists(atPath: folder + "/counter"))
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["counter"])
        return
      }
      told.receive(again)
      let newest = try #require(told.newest(trace))
      #expect(newest.coordinate == nil && newest.impact?.speedBefore == nil && newest.impact?.rest == nil)
      let file = try told.file(trace)
      let seen = fixes(file)
      #expect(seen.count > 10 && seen.allSatisfy { $0.coordinate == nil && $0.speed == nil })
      TraceDrive.expectAll(
        TraceDrive.fed(TraceDrive.drive(seed: 11), from: TraceDrive.blow - 15, to: TraceDrive.blow + 0.1),
        in: TraceDrive.scans(file), "without positions")
    }
  }

  /// At run time, positions are removed from an active recording, and published traces are deleted.
  @Test func newPrivacyAppliesToActiveRecordings() throws {
    let events = TraceDrive.drive(seed: 12)
    try TraceDrive.withFolder { folder in
      var pipeline = AgentPipeline(
        configuration: try TraceDrive.configuration().pipeline, start: Timestamp(seconds: TraceDrive.first),
        time: TraceDrive.start.advanced(bySeconds: TraceDrive.first), version: "1")
      var (store, told) = (TraceDrive.store(folder), ToldTraces())
      // A trace that was published earlier.
      told.receive(store.process(try TraceDrive.steps(events).flatMap(\.steps)))
      store.confirm { true }
      #expect(FileManager.default.fileExists(atPath: folder + "/0000000001.sent"))
      var isReduced = false
      for (at, event) in events {
        pipeline.process(event) { _ in }
        if !isReduced, at >= 66 {
          isReduced = true
          let reduced = try TraceDrive.configuration(["location.desired_accuracy=reduced"]).pipeline
          pipeline.reconfigure(reduced) { _ in }
        }
        told.receive(store.process(pipeline.drainTraceSteps()))
        store.confirm { true }
      }
      #expect(!FileManager.default.fileExists(atPath: folder + "/0000000001.sent"))
      let trace = try #require(told.messages.map(\.trace).max { $0.number < $1.number })
      #expect(trace.number == 2 && told.newest(trace)?.state == .complete)
      #expect(told.newest(trace)?.coordinate == nil)
      let file = try told.file(trace)
      #expect(fixes(file).count > 25 && fixes(file).allSatisfy { $0.coordinate == nil })
      TraceDrive.expectAll(
        TraceDrive.fed(events, from: TraceDrive.blow - 15, to: TraceDrive.blow + 14.9),
        in: TraceDrive.scans(file), "reduced during the drive")
    }
  }
}
