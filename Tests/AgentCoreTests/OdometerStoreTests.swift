import AgentCore
import Foundation
import Logging
import Navigation
import Pipeline
import Positioning
import Sensors
import Simulation
import Spatial
import Telemetry
import TestSupport
import Testing

/// The odometer after kills and power losses, and the number of disk writes.
@Suite struct OdometerStoreTests {
  private static let start = UTCTime(nanoseconds: 1_795_248_000_000_000_000)

  /// Creates folders that represent the disk and the memory. Both are in memory; the test deletes the files
  /// that a power loss would destroy.
  private func withFolders(_ body: (_ disk: String, _ memory: String) throws -> Void) throws {
    let name = "odograph-\(UUID().uuidString)"
    let folders = ["-disk", "-memory"].map { URL(filePath: "/dev/shm/" + name + $0) }
    for folder in folders {
      try FileManager.default.createDirectory(
        at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }
    defer { for folder in folders { try? FileManager.default.removeItem(at: folder) } }
    try body(folders[0].path + "/regions.state.odometer", folders[1].path + "/control.odometer")
  }

  private func store(_ disk: String, _ memory: String? = nil) -> OdometerStore {
    OdometerStore(path: disk, memory: memory, log: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
  }

  private func pipeline(_ settings: [String] = [], kept: OdometerState? = nil, at time: Double = 0) throws
    -> AgentPipeline
  {
    let configuration = try AgentConfiguration(
      settings: ["vehicle.id=v", "input.mode=simulation", "location.reporting=distance"] + settings)
    return AgentPipeline(
      configuration: configuration.pipeline, start: Timestamp(seconds: 100 + time),
      time: Self.start.advanced(bySeconds: time), version: "1", odometer: kept)
  }

  /// Position of the vehicle at each second: bends with radii of 30 to 200 m, speeds of 0 to 14 m/s, and stops.
  private struct Way {
    private(set) var states: [(place: SIMD2<Double>, speed: Double, heading: Double, distance: Double)] = []

    init(seconds: Int) {
      var random = SeededGenerator(seed: 5)
      var (place, speed, heading, distance) = (SIMD2(0.0, 0), 0.0, 0.3, 0.0)
      var (wanted, turn) = (12.0, 0.0)
      for second in 0..<seconds {
        if second % 20 == 0 {
          wanted = random.nextUniform() < 0.15 ? 0 : 4 + 10 * random.nextUniform()
          turn = random.nextUniform() < 0.4 ? 0.2 * (random.nextUniform() - 0.5) : 0
        }
        states.append((place, speed, heading, distance))
        for _ in 0..<20 {
          speed += max(-2.5, min(1.5, wanted - speed)) / 20
          heading += (speed > 2 ? turn : 0) / 20
          place += speed / 20 * SIMD2(sin(heading), cos(heading))
          distance += speed / 20
        }
      }
    }

    func event(_ second: Int, _ random: inout SeededGenerator) -> SensorEvent {
      let state = states[second]
      let noise = 0.5 * SIMD2(random.nextNormal(), random.nextNormal())
      var fix = PositionFix(
        timestamp: Timestamp(seconds: 100 + Double(second)),
        time: OdometerStoreTests.start.advanced(bySeconds: Double(second)), mode: .threeDimensional,
        coordinate: LocalFrame(origin: Coordinate(latitude: 48, longitude: 11)).coordinate(
          at: state.place + noise))
      fix.speed = max(0, state.speed + 0.03 * random.nextNormal())
      fix.course = normalizedDegrees(state.heading.degrees)
      fix.horizontalError = 2
      return .position([fix])
    }
  }

  /// Results of a run of the agent with kills.
  private struct Run {
    var odometer = 0.0
    var estimated = 0.0
    var told: [Int] = []
    /// Odometer in the first `status` after each restart; nil if it was missing.
    var first: [Double?] = []
    var (writes, copies) = (0, 0)
    /// Error in metres after each restart.
    var errors: [Double] = []
  }

  /// Drives with a kill at each of the given seconds. The agent restarts after some seconds.
  /// - Parameter isPowerCut: true if the files in memory are lost, too.
  private func drive(
    _ way: Way, kills: Set<Int>, isPowerCut: Bool, _ configure: (inout OdometerStore) -> Void = { _ in }
  ) throws -> Run {
    var run = Run()
    try withFolders { disk, memory in
      var random = SeededGenerator(seed: 9)
      var store = self.store(disk, memory)
      configure(&store)
      var pipeline = try self.pipeline()
      var second = 0
      // A replaced file has another inode number.
      var copy: Int?
      while second < way.states.count {
        let event = way.event(second, &random)
        let timestamp = Timestamp(seconds: 100 + Double(second))
        pipeline.process(event) {
          if case .location(let message) = $0, let metres = message.location.odometer?.distance {
            run.told.append(Int(metres))
          }
        }
        if let outcome = store.keep(pipeline, at: timestamp) {
          run.writes += 1
          #expect(outcome.state != nil)
          pipeline.observe(odometerKept: outcome.state)
        }
        let copied =
          (try? FileManager.default.attributesOfItem(atPath: disk + ".copy"))?[.systemFileNumber] as? Int
        if copied != copy { (copy, run.copies) = (copied, run.copies + 1) }
        if let reading = pipeline.report(.online, at: timestamp).odometer {
          run.told.append(Int(reading.distance))
        }
        guard kills.contains(second) else {
          second += 1
          continue
        }
        let before = try #require(pipeline.odometerToKeep)
        if isPowerCut { try? FileManager.default.removeItem(atPath: memory) }
        // Simulates a file that was being replaced: its name still refers to the synchronized version.
        try Data("torn".utf8).write(to: URL(filePath: disk + ".new"))
        let away = 2 + Int(4 * random.nextUniform())
        second += away
        guard second < way.states.count else { break }
        store = self.store(disk, memory)
        let kept = store.load(now: Self.start.advanced(bySeconds: Double(second)))
        pipeline = try self.pipeline(kept: kept, at: Double(second))
        let reading = pipeline.report(.online, at: timestamp).odometer?.distance
        run.first.append(reading)
        if let reading { run.told.append(Int(reading)) }
        // The first position after the restart closes the gap.
        var copy = pipeline
        var other = random
        copy.process(way.event(second, &other)) { _ in }
        let after = try #require(copy.odometerToKeep)
        let driven = way.states[second].distance - way.states[second - away].distance
        run.errors.append(after.distance - before.distance - driven)
      }
      let last = try #require(pipeline.odometerToKeep)
      (run.odometer, run.estimated) = (last.distance, last.estimated)
    }
    return run
  }

  /// In 200 kills, each restart loses or double-counts at most 10 m, and no published reading decreases.
  @Test(arguments: [false, true]) func twoHundredKillsLoseNoDistance(isPowerCut: Bool) throws {
    let way = Way(seconds: 4000)
    var random = SeededGenerator(seed: 21)
    var kills: Set<Int> = []
    while kills.count < 200 {
      kills.insert(20 * Int(198 * random.nextUniform()) + 5 + Int(10 * random.nextUniform()))
    }
    let truth = try #require(way.states.last).distance
    let run = try drive(way, kills: kills, isPowerCut: isPowerCut)
    #expect(run.errors.count > 150)
    #expect((run.errors.map(abs).max() ?? 0) <= 10, "\(run.errors.map(abs).max() ?? 0)")
    #expect(abs(run.odometer - truth) < 0.01 * truth, "\(run.odometer) of \(truth) m")
    let falls = zip(run.told, run.told.dropFirst()).map { $0 - $1 }.filter { $0 > 0 }
    #expect(falls.isEmpty, "\(falls.count) readings lower, by up to \(falls.max() ?? 0) m")
    let missing = run.first.count { $0 == nil }
    print(
      "power cut \(isPowerCut): \(run.writes) writes, \(missing) of \(run.first.count) first readings missing"
    )
    #expect(isPowerCut || missing == 0)
    #expect(run.estimated > 0 && run.estimated < run.odometer)
  }

  /// A vehicle returns while its agent is not running. The distance already driven is counted, although the gap
  /// is short.
  @Test func returnWithoutTheAgentDoesNotDecreaseTheOdometer() throws {
    try withFolders { disk, memory in
      var store = self.store(disk, memory)
      var pipeline = try self.pipeline()
      func event(_ second: Int, _ metres: Double) -> SensorEvent {
        var fix = PositionFix(
          timestamp: Timestamp(seconds: 100 + Double(second)),
          time: Self.start.advanced(bySeconds: Double(second)), mode: .threeDimensional,
          coordinate: Coordinate(latitude: 48, longitude: 11).destination(distance: metres, bearing: 0))
        (fix.speed, fix.course, fix.horizontalError) = (15, 0, 3)
        return .position([fix])
      }
      for second in 0..<60 {
        pipeline.process(event(second, 15 * Double(second))) { _ in }
        if let outcome = store.keep(pipeline, at: Timestamp(seconds: 100 + Double(second))) {
          pipeline.observe(odometerKept: outcome.state)
        }
      }
      let before = try #require(pipeline.report(.online, at: Timestamp(seconds: 160)).odometer)
      store = self.store(disk, memory)
      let kept = store.load(now: Self.start.advanced(bySeconds: 120))
      pipeline = try self.pipeline(kept: kept, at: 120)
      let first = try #require(pipeline.report(.online, at: Timestamp(seconds: 220)).odometer)
      pipeline.process(event(120, 30)) { _ in }
      let after = try #require(pipeline.report(.online, at: Timestamp(seconds: 221)).odometer)
      #expect(before.distance > 800 && first.distance >= before.distance && after.distance >= first.distance)
    }
  }

  /// A file in shared memory does not restore an odometer whose files on disk were deleted. It is deleted at a
  /// regular stop.
  @Test func sharedMemoryMatchesTheFileOnDisk() throws {
    try withFolders { disk, memory in
      func shared() -> OdometerStore {
        OdometerStore(
          path: disk, memory: memory, isMemoryShared: true,
          log: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
      }
      var store = shared()
      let pipeline = try self.pipeline(kept: OdometerState(distance: 5000))
      _ = store.keep(pipeline, at: Timestamp(seconds: 100))
      store = shared()
      #expect(store.load(now: Self.start)?.distance == 5000)
      try FileManager.default.removeItem(atPath: disk)
      store = shared()
      #expect(store.load(now: Self.start) == nil && FileManager.default.fileExists(atPath: memory))
      _ = store.keep(pipeline, at: Timestamp(seconds: 101))
      store.save(pipeline, at: Timestamp(seconds: 102))
      #expect(!FileManager.default.fileExists(atPath: memory))
      store = shared()
      #expect(store.load(now: Self.start)?.distance == 5000)
    }
  }

  /// Without kills, the complete distance is measured. In a town, the disk is written at most once in several seconds.
  @Test func storingCausesLittleWear() throws {
    let way = Way(seconds: 3600)
    let run = try drive(way, kills: [], isPowerCut: false)
    let truth = try #require(way.states.last).distance
    #expect(abs(run.odometer - truth) < 0.003 * truth)
    #expect(run.estimated == 0)
    let plain = try drive(way, kills: [], isPowerCut: false) { store in
      (store.leavingWay, store.copyInterval) = (.infinity, 1)
    }
    print(
      "\(run.writes) writes, \(run.copies) copies an hour; without the one at leaving and with a copy at each stop \(plain.writes), \(plain.copies)"
    )
    // The write when leaving a stop adds at most 25 % in a town.
    let (total, before) = (run.writes + run.copies, plain.writes + plain.copies)
    #expect(4 * total <= 5 * before)
    #expect(run.writes > 20 && run.writes < 900, "\(run.writes) writes per hour")
  }

  /// At rest, the disk is written only once.
  @Test func parkedVehicleWritesNothing() throws {
    try withFolders { disk, _ in
      var store = self.store(disk)
      var pipeline = try self.pipeline()
      var writes = 0
      for second in 0..<3600 {
        var fix = PositionFix(
          timestamp: Timestamp(seconds: 100 + Double(second)), mode: .threeDimensional,
          coordinate: Coordinate(latitude: 48, longitude: 11))
        (fix.speed, fix.horizontalError) = (0.02, 5)
        pipeline.process(.position([fix])) { _ in }
        if let outcome = store.keep(pipeline, at: fix.timestamp) {
          writes += 1
          pipeline.observe(odometerKept: outcome.state)
        }
      }
      #expect(writes == 1)
    }
  }

  /// A damaged file is set aside, and the distance at the last stop is restored.
  @Test func damagedFileLosesOnlyTheDistanceSinceTheLastStop() throws {
    try withFolders { disk, _ in
      let kept = OdometerState(distance: 5000, estimated: 10, offset: 80_000_000)
      var store = self.store(disk)
      let pipeline = try self.pipeline(kept: kept)
      store.save(pipeline, at: Timestamp(seconds: 100))
      try Data("odograph-odometer 1\ndistance 7\n".utf8).write(to: URL(filePath: disk))
      store = self.store(disk)
      let found = store.load(now: Self.start)
      #expect(found?.distance == 5000 && found?.offset == 80_000_000)
      let names = try FileManager.default.contentsOfDirectory(
        atPath: URL(filePath: disk).deletingLastPathComponent().path)
      #expect(names.contains { $0.contains(".damaged-") })
      // The file is written again at the next opportunity.
      let outcome = store.keep(pipeline, at: Timestamp(seconds: 101))
      #expect(outcome?.state?.distance == 5000)
    }
  }

  /// If the disk cannot be written, only the stored odometer is lost; published readings continue.
  @Test func diskFailureDoesNotStopTheOdometer() throws {
    var store = self.store("/proc/none/odometer")
    var pipeline = try self.pipeline()
    var random = SeededGenerator(seed: 2)
    let way = Way(seconds: 300)
    var failures = 0
    for second in 0..<300 {
      pipeline.process(way.event(second, &random)) { _ in }
      if let outcome = store.keep(pipeline, at: Timestamp(seconds: 100 + Double(second))) {
        failures += 1
        #expect(outcome.state == nil)
        pipeline.observe(odometerKept: outcome.state)
      }
    }
    #expect(failures > 0)
    let told = try #require(pipeline.report(.online, at: Timestamp(seconds: 400)).odometer)
    let kept = try #require(pipeline.odometerToKeep)
    #expect(abs(told.distance - kept.distance) < 1e-6)
  }

  /// A reading set by command is stored immediately.
  @Test func setReadingIsStoredImmediately() throws {
    try withFolders { disk, _ in
      var store = self.store(disk)
      var pipeline = try self.pipeline(kept: OdometerState(distance: 1000))
      let first = store.keep(pipeline, at: Timestamp(seconds: 100))
      #expect(first?.state != nil)
      let before = pipeline.setOdometer(reading: 48_213_400)
      // The stored odometer has no position: the previous reading may be private and is not returned.
      #expect(before == nil)
      let outcome = store.keep(pipeline, at: Timestamp(seconds: 100), isSet: true)
      #expect(outcome?.state?.offset == 48_212_400)
      #expect(pipeline.report(.online, at: Timestamp(seconds: 101)).odometer?.distance == 48_213_400)
      var next = self.store(disk)
      let kept = next.load(now: Self.start)
      #expect(kept.map { $0.distance + $0.offset } == 48_213_400)
    }
  }

  /// A position in a privacy zone is not stored, and one that was stored before is removed.
  @Test func withheldPositionIsNotStored() throws {
    try withFolders { disk, _ in
      let kept = OdometerState(
        distance: 1000, place: .init(coordinate: Coordinate(latitude: 48, longitude: 11), radius: 3))
      var store = self.store(disk)
      var pipeline = try self.pipeline(kept: kept)
      store.save(pipeline, at: Timestamp(seconds: 100))
      let text = try String(contentsOfFile: disk, encoding: .utf8)
      #expect(text.contains("place"))
      pipeline = try self.pipeline(["location.desired_accuracy=reduced"], kept: kept)
      let outcome = store.keep(pipeline, at: Timestamp(seconds: 110))
      #expect(outcome?.state != nil && outcome?.state?.place == nil)
      for file in [disk, disk + ".copy"] {
        let text = try String(contentsOfFile: file, encoding: .utf8)
        #expect(!text.contains("place"))
      }
    }
  }
}
