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

/// Navigation state stored in memory and on disk, and its use after a restart.
@Suite struct NavigationStoreTests {
  private static let start = UTCTime(nanoseconds: 1_795_248_000_000_000_000)
  /// Device time in seconds at the start of a drive.
  private static let zero = 100.0

  /// Creates a folder on disk and one in memory.
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

  /// Plays a drive. The receiver has no fix from `outage` on; `each` is called after each sample.
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

  /// An agent killed in a tunnel resumes one second later from the state in memory. At least 90 % of its
  /// positions are within 2.5 times their stated accuracy.
  @Test func killedAgentResumesNavigationInATunnel() throws {
    var generator = SeededGenerator.announced()
    let samples = SyntheticDrive(mounting: generator.nextRotation()).samples(&generator)
    // The vehicle is fast at this time. The heading of a slow vehicle could change unobserved.
    let killed = samples.first { $0.truth.time > 210 && $0.truth.speed > 9 }?.truth.time ?? 0
    try withFolders { disk, memory in
      var store = store(disk, memory)
      var first = try pipeline()
      _ = play(&first, samples.prefix { $0.truth.time < killed }, outage: 200) { store.keep($0, at: $1) }
      // Another process after the same boot. The first one did not stop regularly.
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

  /// Start and end of a stop after some minutes.
  private func stop(_ samples: [SyntheticDrive.Sample]) -> (start: Double, end: Double) {
    let moving = samples.lastIndex { $0.truth.speed > 0 && $0.truth.time < 170 } ?? 0
    let start = samples[moving...].first { $0.truth.speed == 0 }?.truth.time ?? 0
    return (start, samples[moving...].first { $0.truth.time > start && $0.truth.speed > 0 }?.truth.time ?? 0)
  }

  /// The file on disk states that the vehicle is stopped only during the stop.
  @Test func stopsAreStoredDuringTheStop() throws {
    var generator = SeededGenerator.announced()
    let samples = SyntheticDrive(length: 260, mounting: generator.nextRotation()).samples(&generator)
    let stop = stop(samples)
    try withFolders { disk, _ in
      func kept() -> NavigationCalibration? {
        (try? String(contentsOfFile: disk, encoding: .utf8)).flatMap { try? NavigationCalibration(text: $0) }
      }
      // There is no folder in memory, so only the state on disk remains.
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

  /// After a reboot, only the position of a stop is used, with an assumed age of at least ten minutes.
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
      // A clock that is not yet set gives no age.
      let unset = store.load(at: now, now: UTCTime(nanoseconds: 0))
      #expect(unset?.timestamp == soon?.timestamp)
    }
  }

  /// If positions are withheld or blurred, none is stored, and stored ones are removed.
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

  /// A new zone around the stored position removes it immediately, before alignment.
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
