import Foundation
import LiveSensors
import Motion
import Sensors
import SensorsIIO
import Spatial
import TestSupport
import Testing

/// Samples that pass the kernel, iiod and `IIOSource` yield nearly the same attitude as direct input.
extension SensorRigTests {
  private static let broadSeconds = ProcessInfo.processInfo.environment["ODOGRAPH_BROAD_SECONDS"]
  private static let needsBroadTrial = Need("Deploy/test.sh --full, or ODOGRAPH_BROAD_SECONDS=28") {
    Shared.isFullRun || broadSeconds != nil
  }

  /// A trial with fast rotation, in which timing errors cause attitude errors. It needs the whole processor while it plays and is part of
  /// the full run; ODOGRAPH_BROAD_SECONDS plays a part of it.
  @Test(.timeLimit(.minutes(8)), .needs(needsBroadTrial), .needs(.recordings("broad")))
  func attitudeThroughRealDevices() async throws {
    var trial = try BroadRecording(contentsOf: Shared.file("data/broad/07_undisturbed_fast_rotation_B.f32"))
    if let seconds = Self.broadSeconds.flatMap(Double.init) {
      trial.crop(rest: 6, length: max(10, min(seconds, 180)))
    }

    let events = try await Self.capture(trial)
    let replay = CapturedReplay(of: trial, events)
    let direct = trial.error(of: Self.directReplay(of: trial))
    let captured = trial.error(of: replay.attitudes)
    print(
      String(
        format: "attitude through the rig: %.3f° RMS, replayed directly: %.3f°; ", captured, direct)
        + replay.summary)
    #expect(replay.missing == [:], "rows that did not arrive with their value, by sensor")
    #expect(captured <= direct + 0.5)
    // Otherwise, two large errors would be equal as well.
    #expect(direct < 3)
  }

  /// Plays the trial in real time and returns the events of the source.
  private static func capture(_ trial: BroadRecording) async throws -> [SensorEvent] {
    let rig = try rig()
    let recorder = EventRecorder()
    let source = try IIOSource(IIOConfiguration(uri: rig.uri))
    for kind in [SensorKind.accelerometer, .gyroscope, .magnetometer] {
      source.setDemand(.rate(hertz: BroadRecording.hertz, latency: .milliseconds(100)), for: kind)
    }
    func counts() -> [Int] {
      [recorder.accelerometer.count, recorder.gyroscope.count, recorder.magnetometer.count]
    }
    try source.start { recorder.receive($0) }
    defer { source.stop() }
    try await eventually { counts().allSatisfy { $0 > 100 } }
    try rig.play(trial.csv)
    // No commands to the guest meanwhile: its only processor plays the trial.
    try await Task.sleep(for: .seconds(trial.duration))
    try await eventually { try !rig.isPlaying }
    // Samples at rest fill the last blocks.
    let played = counts()
    try await eventually { zip(counts(), played).allSatisfy { $0 > $1 + 100 } }
    return recorder.events
  }

  private static func directReplay(of trial: BroadRecording) -> [Quaternion?] {
    var (screen, filter) = (ScanScreen(), AttitudeFilter())
    return trial.rows.enumerated().map { index, row in
      let time = Timestamp(seconds: 1 + Double(index) / BroadRecording.hertz)
      var scan = InertialScan(
        timestamp: time, specificForce: row.force, rotationRate: row.rate, magneticField: row.field)
      let doubts = screen.admit(&scan)
      filter.process(scan, doubts: doubts)
      return filter.quaternion9D
    }
  }
}

/// Feeds the fusion with the captured events of a trial in order of arrival, like the agent. Samples at rest before and after the trial
/// are skipped.
private struct CapturedReplay {
  /// Attitudes by gyroscope sample.
  private(set) var attitudes: [Quaternion?]
  private var next: [SensorKind: Int] = [:]
  private var wrong: [SensorKind: Int] = [:]
  private var first: [SensorKind: Timestamp] = [:]
  private var last: [SensorKind: Timestamp] = [:]
  private let trial: BroadRecording

  // Half a raw step per axis; the raw step of the magnetometer is 0.0001 µT.
  private static let tolerance = 0.87e-6
  private static let fieldTolerance = 0.87e-4

  init(of trial: BroadRecording, _ events: [SensorEvent]) {
    self.trial = trial
    attitudes = [Quaternion?](repeating: nil, count: trial.rows.count)
    let live = LiveMotion(manager: MotionManager(frame: .xArbitraryCorrectedZVertical)) { _ in }
    let motions = live.deviceMotionStream(capacity: trial.rows.count)
    var rows: [Timestamp: Int] = [:]
    for event in events {
      let played = event.scans.filter { scan in
        guard isPlayed(scan) else { return false }
        if scan.rotationRate != nil { rows[scan.timestamp] = next[.gyroscope, default: 0] - 1 }
        return true
      }
      live.process(.inertial(played))
    }
    motions.stop()
    while let motion = motions.next() {
      if let row = rows[motion.timestamp] { attitudes[row] = motion.attitude?.quaternion }
    }
  }

  /// Number of rows per sensor that are missing or have a wrong value; sensors without such rows are omitted.
  var missing: [SensorKind: Int] {
    [SensorKind.accelerometer, .gyroscope, .magnetometer].reduce(into: [:]) { missing, kind in
      let count = trial.rows.count - next[kind, default: 0] + wrong[kind, default: 0]
      if count != 0 { missing[kind] = count }
    }
  }

  /// Number of rows, their duration, and the time difference between the sensors' first rows.
  var summary: String {
    let starts = first.values.map(\.seconds)
    let skew = ((starts.max() ?? 0) - (starts.min() ?? 0)) * 1e3
    let lengths = last.compactMap { kind, time in first[kind].map { time.seconds(since: $0) } }
    return String(
      format: "%d rows in %.4f to %.4f s; the sensors' first rows are %.1f ms apart", trial.rows.count,
      lengths.min() ?? 0, lengths.max() ?? 0, skew)
  }

  /// Each sensor of the rig is a separate device.
  private mutating func isPlayed(_ scan: InertialScan) -> Bool {
    if let rate = scan.rotationRate {
      return isPlayed(rate, \.rate, Self.tolerance, .gyroscope, scan.timestamp)
    }
    if let force = scan.specificForce {
      return isPlayed(force, \.force, Self.tolerance, .accelerometer, scan.timestamp)
    }
    guard let field = scan.magneticField else { return false }
    return isPlayed(field, \.field, Self.fieldTolerance, .magnetometer, scan.timestamp)
  }

  /// Returns whether a sample is the next row of the trial. The first row is recognized by its value; the following rows are counted.
  private mutating func isPlayed(
    _ value: Vector3, _ column: KeyPath<BroadRecording.Row, Vector3>, _ tolerance: Double, _ kind: SensorKind,
    _ time: Timestamp
  ) -> Bool {
    let row = next[kind, default: 0]
    guard row < trial.rows.count else { return false }
    let isRight = (value - trial.rows[row][keyPath: column]).length < tolerance
    if row == 0 && !isRight { return false }
    if !isRight { wrong[kind, default: 0] += 1 }
    if row == 0 { first[kind] = time }
    last[kind] = time
    next[kind] = row + 1
    return true
  }
}
