internal import Logging
internal import Navigation
internal import Pipeline
internal import Platform
internal import Spatial

/// Keeps what navigation has learned and where the vehicle is, so that a restarted agent goes on in the middle of a tunnel,
/// and a parked vehicle starts in its garage.
///
/// The place is worth something for seconds while the vehicle moves, and until it moves while it stands. So it is written
/// each second where that wears nothing, beside the control socket in memory, and on the disk when the vehicle has stopped and
/// when it drives off again, at a calm pace, and at the end.
struct NavigationStore: Sendable {
  private var disk: LearnedFile
  /// Nil where there is no folder in memory.
  private var memory: LearnedFile?
  /// Whose timestamps the device's are: one start of the machine.
  private let timeline: String
  private var nextLook: Timestamp?
  private var nextSave: Timestamp?
  private var stoppedSince: Timestamp?
  /// Whether it is on the disk that the vehicle stands.
  private var hasSavedStop = false
  /// Not before this is a disk that failed tried again.
  private var retry: Timestamp?
  /// What is on the disk, as far as it has a place.
  private var placed: NavigationCalibration?

  /// Seconds between two writings in memory, between two on the disk, and of a stop before that is written.
  static let look = 1.0
  static let pace = 900.0
  static let stopDelay = 10.0
  /// Seconds that a stop before another start of the machine is taken to be ago at least: its clock may not be set yet.
  static let leastAge = 600.0

  /// - Parameters:
  ///   - path: on the disk.
  ///   - memory: beside the control socket; it is used where that is in memory.
  init(path: String, memory: String?, log: Logger) {
    disk = LearnedFile(path: path, log: log)
    self.memory =
      memory.flatMap { AtomicFile.isInMemory($0) ? LearnedFile(path: $0, log: log) : nil }
    let boot = (try? AtomicFile.read("/proc/sys/kernel/random/boot_id", limit: 256)) ?? nil
    // Where the kernel does not say, no other start is this one.
    let identity = boot.map { String(decoding: $0, as: UTF8.self).filter { !$0.isWhitespace } } ?? ""
    timeline = identity.isEmpty ? "unknown-\(UInt64.random(in: 0 ... .max))" : identity
  }

  /// What was kept, and when on the device's time line; nil when there is nothing that can be used.
  /// - Parameters:
  ///   - timestamp: now, on the device's time line.
  ///   - now: civil time, as far as the machine knows.
  mutating func load(at timestamp: Timestamp, now: UTCTime) -> KeptNavigation? {
    let found = [memory, disk].compactMap { file in
      file?.load(now: now, made: \.made, NavigationCalibration.init(text:))
    }
    placed = found.last { $0.lastState != nil }
    hasSavedStop = placed?.lastState?.isStopped == true
    // What was kept last of this start of the machine, where there is something of it.
    let own = found.filter { $0.moment?.timeline == timeline }
      .max { ($0.moment?.timestamp ?? timestamp) < ($1.moment?.timestamp ?? timestamp) }
    guard let calibration = own ?? found.last else { return nil }
    if let own { return KeptNavigation(calibration: own, timestamp: own.moment?.timestamp) }
    // After another start the place holds only for a vehicle that stood.
    guard calibration.lastState?.isStopped == true else {
      return KeptNavigation(calibration: calibration, timestamp: nil)
    }
    let age = calibration.made.map { now.seconds(since: $0) } ?? 0
    return KeptNavigation(
      calibration: calibration, timestamp: timestamp.advanced(bySeconds: -max(Self.leastAge, age)))
  }

  /// Keeps what is due.
  mutating func keep(_ pipeline: borrowing AgentPipeline, at timestamp: Timestamp) {
    if let nextLook, timestamp < nextLook { return }
    nextLook = timestamp.advanced(bySeconds: Self.look)
    forgetHidden(pipeline, at: timestamp)
    guard let kept = pipeline.navigationToKeep else { return }
    stoppedSince = kept.isStopped ? stoppedSince ?? timestamp : nil
    let isStanding = stoppedSince.map { timestamp.seconds(since: $0) >= Self.stopDelay } ?? false
    let due = nextSave ?? timestamp.advanced(bySeconds: Self.pace)
    nextSave = due
    // A stop that is over must not be found after a loss of power.
    let hasChanged = isStanding && !hasSavedStop || !kept.isStopped && hasSavedStop
    let isDue = timestamp >= due || hasChanged && timestamp >= (retry ?? timestamp)
    if isDue { retry = timestamp.advanced(bySeconds: Self.stopDelay) }
    guard memory != nil || isDue else { return }
    let text = text(kept, pipeline, at: timestamp)
    _ = memory?.save(text, isDurable: false)
    guard isDue else { return }
    nextSave = timestamp.advanced(bySeconds: Self.pace)
    save(text, of: kept)
  }

  /// The last moment of a clean stop.
  mutating func save(_ pipeline: borrowing AgentPipeline, at timestamp: Timestamp) {
    guard let kept = pipeline.navigationToKeep else { return }
    let text = text(kept, pipeline, at: timestamp)
    _ = memory?.save(text, isDurable: false)
    save(text, of: kept)
  }

  private mutating func save(_ text: String, of kept: KeptNavigation) {
    guard disk.save(text) else { return }
    placed = kept.calibration.lastState == nil ? nil : kept.calibration
    hasSavedStop = kept.isStopped
  }

  /// A zone may have been made since around what is on the disk.
  private mutating func forgetHidden(_ pipeline: borrowing AgentPipeline, at timestamp: Timestamp) {
    guard let placed else { return }
    let shown = pipeline.shown(KeptNavigation(calibration: placed, timestamp: timestamp))
    guard shown.calibration.lastState == nil else { return }
    var hidden = shown.calibration
    hidden.moment = nil
    _ = memory?.save(hidden.text, isDurable: false)
    if disk.save(hidden.text) { self.placed = nil }
  }

  private func text(
    _ kept: KeptNavigation, _ pipeline: borrowing AgentPipeline, at timestamp: Timestamp
  ) -> String {
    var calibration = kept.calibration
    calibration.made = pipeline.utc(at: timestamp)
    calibration.moment = kept.timestamp.map {
      NavigationCalibration.Moment(timeline: timeline, timestamp: $0)
    }
    return calibration.text
  }
}
