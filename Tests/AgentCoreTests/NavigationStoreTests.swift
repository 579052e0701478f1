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

/// What the agent keeps of navigation, in memory and on the disk, and what it makes of it after a restart.
@Suite struct NavigationStoreTests {
  private static let start = UTCTime(nanoseconds: 1_795_248_000_000_000_000)
  /// Where the device's time line stands when a drive begins.
  private static let zero = 100.0

  /// A folder on a disk and one in memory.
  private func withFolders(_ body: (_ disk: String, _ memory: String) throws -> Void) throws {
    let name = "odograph-\(UUID().uuidString)"
    let folders = ["/var/tmp/", "/dev/shm/"].map { URL(filePath: $0 + name) }
    for folder in folders {
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }
    defer { for folder in folders { try? FileManager.default.removeItem(at: folder) } }
    try body(folders[0].path + "/calibration.navigation", folders[1].path + "/control.navigation")
  }

  private func store(_ disk: String, _ memory: String?) -> NavigationStore {
    NavigationStore(path: disk, memory: memory, log: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
  }

  private func pipeline(_ settings: [String] = [], from time: Double = 0, kept: StoredNavigation? = nil)
    throws
    -> AgentPipeline
  {
    let configuration = try AgentConfiguration(
      settings: ["vehicle.id=v", "input.mode=simulation", "location.reporting=distance"] + settings)
    return AgentPipeline(
      configuration: configuration.pipeline, start: Timestamp(seconds: Self.zero + time),
      time: Self.start.advanced(bySeconds: time), version: "1", navigation: kept)
  }

  /// Plays a drive without a receiver from `outage` on; `each` is called after each sample.
  private func play(
    _ pipeline: inout AgentPipeline, _ samples: some Sequence<SyntheticDrive.Sample>,
    outage: Double = .infinity,
    each: (borrowing AgentPipeline, Timestamp) -> Void = { _, _ in }
  ) -> [LocationMessage] {
    var told: [LocationMessage] = []
    for sample in samples {
      let time = sample.truth.time
      if var fix = sample.fix, time == time.rounded() {
        fix.time = Self.start.advanced(bySeconds: time)
        if time >= outage { fix = PositionFix(timestamp: fix.timestamp, time: fix.time, mode: .noFix) }
        pipeline.process(.position([fix])) { if case .location(let message) = $0 { told.append(message) } }
      }
      pipeline.process(.inertial([sample.scan])) {
        if case .location(let message) = $0 { told.append(message) }
      }
      each(pipeline, sample.scan.timestamp)
    }
    return told
  }

  /// Killed in the middle of a tunnel, it goes on a second later from what was in memory, within what it states.
  @Test func killedAgentResumesNavigationInATunnel() throws {
    var generator = SeededGenerator.announced()
    let samples = SyntheticDrive(mounting: generator.nextRotation()).samples(&generator)
    // Where it is fast: nobody knows how a slow vehicle turns meanwhile.
    let killed = samples.first { $0.truth.time > 210 && $0.truth.speed > 9 }?.truth.time ?? 0
    try withFolders { disk, memory in
      var store = store(disk, memory)
      var first = try pipeline()
      _ = play(&first, samples.prefix { $0.truth.time < killed }, outage: 200) { store.keep($0, at: $1) }
      // Another process, the same start of the machine; nothing was said at the end of the first.
      let back = killed + 1
      var next = self.store(disk, memory)
      let kept = next.load(
        at: Timestamp(seconds: Self.zero + back), now: Self.start.advanced(bySeconds: back))
      #expect(abs(try #require(kept?.timestamp).seconds - Self.zero - killed) < 1.1)
      var second = try pipeline(from: back, kept: kept)
      let rest = samples.drop { $0.truth.time < back }.prefix { $0.truth.time < back + 29 }
      let told = play(&second, rest, outage: 200)
      #expect(told.count > 20 && told.allSatisfy { $0.location.positionSource == .inertial })
      let frame = LocalFrame(origin: SyntheticDrive.origin, altitude: SyntheticDrive.altitude)
      let inside = told.filter { message in
        let truth = samples[Int((message.time.seconds(since: Self.start) * 50).rounded())].truth.position
        let offset = frame.offset(of: message.location.coordinate)
        return hypot(offset.x - truth.x, offset.y - truth.y)
          <= 2.5 * (message.location.horizontalAccuracy ?? 0)
      }
      #expect(inside.count * 10 >= told.count * 9, "\(inside.count) of \(told.count)")
    }
  }

  /// The middle of a stop after some minutes, and the moment when it drives off.
  private func stop(_ samples: [SyntheticDrive.Sample]) -> (start: Double, end: Double) {
    let moving = samples.lastIndex { $0.truth.speed > 0 && $0.truth.time < 170 } ?? 0
    let start = samples[moving...].first { $0.truth.speed == 0 }?.truth.time ?? 0
    return (start, samples[moving...].first { $0.truth.time > start && $0.truth.speed > 0 }?.truth.time ?? 0)
  }

  /// On the disk it says that the vehicle stands only while it does.
  @Test func stopsAreStoredDuringTheStop() throws {
    var generator = SeededGenerator.announced()
    let samples = SyntheticDrive(length: 260, mounting: generator.nextRotation()).samples(&generator)
    let stop = stop(samples)
    try withFolders { disk, _ in
      func kept() -> NavigationCalibration? {
        (try? String(contentsOfFile: disk, encoding: .utf8)).flatMap { try? NavigationCalibration(text: $0) }
      }
      // No folder in memory: what is not on the disk is lost.
      var store = store(disk, "/var/tmp/control.navigation")
      var pipeline = try pipeline()
      var (whileStanding, writings, last): (NavigationCalibration?, Int, NavigationCalibration?)
      (whileStanding, writings, last) = (nil, 0, nil)
      var next = 0.0
      _ = play(&pipeline, samples.prefix { $0.truth.time < stop.end + 8 }) {
        store.keep($0, at: $1)
        let time = $1.seconds - Self.zero
        guard time > max(next, stop.start - 20) else { return }
        next = time + 0.5
        let now = kept()
        if now != last { writings += 1 }
        last = now
        if time < stop.end - 0.5 { whileStanding = now }
      }
      #expect(stop.end - stop.start > NavigationStore.stopDelay + 3)
      #expect(whileStanding?.lastState?.isStopped == true)
      #expect(last?.lastState?.isStopped == false && writings <= 3)
      #expect(!FileManager.default.fileExists(atPath: "/var/tmp/control.navigation"))
    }
  }

  /// After another start of the machine only a place where it stood is worth something, and it is ten minutes ago at least.
  @Test(arguments: [true, false]) func afterARebootOnlyStopsAreResumed(isStopped: Bool) throws {
    var generator = SeededGenerator.announced()
    let samples = SyntheticDrive(length: 200, mounting: generator.nextRotation()).samples(&generator)
    try withFolders { disk, memory in
      var pipeline = try pipeline()
      _ = play(&pipeline, samples)
      var calibration = try #require(pipeline.navigationToKeep).calibration
      calibration.lastState?.isStopped = isStopped
      calibration.made = Self.start
      calibration.moment = .init(timeline: "another", timestamp: Timestamp(seconds: 1))
      try Data(calibration.text.utf8).write(to: URL(filePath: disk))
      let now = Timestamp(seconds: 5000)
      var store = store(disk, memory)
      let soon = store.load(at: now, now: Self.start.advanced(bySeconds: 30))
      let late = store.load(at: now, now: Self.start.advanced(bySeconds: 3600))
      #expect(soon?.calibration == calibration && late?.calibration == calibration)
      #expect(soon?.timestamp == (isStopped ? now.advanced(bySeconds: -NavigationStore.leastAge) : nil))
      #expect(late?.timestamp == (isStopped ? now.advanced(bySeconds: -3600) : nil))
      // A clock that is not set yet says nothing.
      let unset = store.load(at: now, now: UTCTime(nanoseconds: 0))
      #expect(unset?.timestamp == soon?.timestamp)
    }
  }

  /// Where a place is withheld or blurred, none is written, and what was written of others before is gone.
  @Test(arguments: [
    "privacy.accuracy=1000",
    "privacy.zones=\(SyntheticDrive.origin.latitude) \(SyntheticDrive.origin.longitude) 100000 withhold",
    "privacy.zones=\(SyntheticDrive.origin.latitude) \(SyntheticDrive.origin.longitude) 100000 blur",
  ])
  func withheldPositionsAreNotStored(setting: String) throws {
    var generator = SeededGenerator.announced()
    let samples = SyntheticDrive(length: 200, mounting: generator.nextRotation()).samples(&generator)
    try withFolders { disk, memory in
      var store = store(disk, memory)
      var pipeline = try pipeline([setting])
      _ = play(&pipeline, samples) { store.keep($0, at: $1) }
      store.save(pipeline, at: samples[samples.count - 1].scan.timestamp)
      for path in [disk, memory] {
        let text = try String(contentsOfFile: path, encoding: .utf8)
        let kept = try NavigationCalibration(text: text)
        #expect(kept.lastState == nil && kept.moment == nil && kept.made != nil)
        #expect(!text.contains("coordinate") && !text.contains("\(Int(SyntheticDrive.origin.latitude))."))
      }
      var next = self.store(disk, memory)
      let loaded = next.load(at: Timestamp(seconds: 1000), now: Self.start)
      #expect(loaded != nil && loaded?.timestamp == nil)
    }
  }

  /// A zone that is made around the place forgets it at once, before anything is aligned.
  @Test func newZoneRemovesTheStoredPosition() throws {
    var generator = SeededGenerator.announced()
    let samples = SyntheticDrive(length: 200, mounting: generator.nextRotation()).samples(&generator)
    try withFolders { disk, memory in
      var first = store(disk, memory)
      var open = try pipeline()
      _ = play(&open, samples)
      first.save(open, at: samples[samples.count - 1].scan.timestamp)
      #expect(try String(contentsOfFile: disk, encoding: .utf8).contains("coordinate"))
      let (latitude, longitude) = (SyntheticDrive.origin.latitude, SyntheticDrive.origin.longitude)
      var second = store(disk, memory)
      let loaded = second.load(at: Timestamp(seconds: 1000), now: Self.start)
      var hidden = try pipeline(["privacy.zones=\(latitude) \(longitude) 100000 withhold"])
      _ = play(&hidden, samples.prefix(1)) { second.keep($0, at: $1) }
      #expect(loaded?.calibration.lastState != nil)
      for path in [disk, memory] {
        #expect(try !String(contentsOfFile: path, encoding: .utf8).contains("coordinate"))
      }
      #expect(try NavigationCalibration(text: String(contentsOfFile: disk, encoding: .utf8)).isValid)
    }
  }
}
