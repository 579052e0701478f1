package import Logging
internal import Navigation
package import Pipeline
internal import Platform
package import Spatial

/// Stores navigation calibration and position, so that a restarted agent can continue in a tunnel, and a
/// parked vehicle in its garage.
///
/// The position of a moving vehicle is valid for seconds, that of a parked one until it moves. It is written
/// each second to a file in a memory file system beside the control socket, which causes no flash wear. It is
/// written to disk when the vehicle has stopped, when it departs, at long intervals, and when the agent
/// stops.
package struct NavigationStore: Sendable {
  private var disk: StateDocument
  /// File in a memory file system; nil if the control socket's folder is on a disk.
  private var memory: StateDocument?
  /// Identity of the machine's boot. Timestamps of different boots are not comparable.
  private let timeline: String
  private var nextLook: Timestamp?
  private var nextSave: Timestamp?
  private var stoppedSince: Timestamp?
  /// True if the state on disk is that of a stopped vehicle.
  private var hasSavedStop = false
  /// Earliest time of the next write to disk after a stop or departure, in case the last write failed.
  private var retry: Timestamp?
  /// The stored calibration, if it contains a position; otherwise nil.
  private var placed: NavigationCalibration?

  /// Interval in s between writes in memory and on disk, and delay of a write after a stop.
  package static let look = 1.0
  package static let pace = 900.0
  package static let stopDelay = 10.0
  /// Minimum age in s that is assumed for a stop before a reboot: the clock may not be set yet, so that the
  /// calculated age is unreliable.
  package static let leastAge = 600.0

  /// - Parameters:
  ///   - path: path on disk.
  ///   - memory: path beside the control socket; used if that folder is in memory.
  ///   - store: the message store; nil for a file on disk.
  package init(path: String, memory: String?, store: StateStore? = nil, log: Logger) {
    disk = StateDocument("navigation", path: path, store: store, log: log)
    self.memory =
      memory.flatMap { AtomicFile.isInMemory($0) ? StateDocument(path: $0, log: log) : nil }
    let boot = (try? AtomicFile.read("/proc/sys/kernel/random/boot_id", limit: 256)) ?? nil
    // If the kernel provides no identity, every start counts as a different boot.
    let identity = boot.map { String(decoding: $0, as: UTF8.self).filter { !$0.isWhitespace } } ?? ""
    timeline = identity.isEmpty ? "unknown-\(UInt64.random(in: 0 ... .max))" : identity
  }

  /// Returns the stored state, with its time as a timestamp of this boot; nil if there is none or it is not
  /// usable.
  /// - Parameters:
  ///   - timestamp: current time on the clock of the sensors' timestamps.
  ///   - now: current civil time according to the machine.
  package mutating func load(at timestamp: Timestamp, now: UTCTime) -> StoredNavigation? {
    let found = [memory, disk].compactMap { file in
      file?.load(now: now, made: \.made, NavigationCalibration.init(text:))
    }
    placed = found.last { $0.lastState != nil }
    hasSavedStop = placed?.lastState?.isStopped == true
    // The newest state that was stored since the machine booted; nil for none.
    let own = found.filter { $0.moment?.timeline == timeline }
      .max { ($0.moment?.timestamp ?? timestamp) < ($1.moment?.timestamp ?? timestamp) }
    guard let calibration = own ?? found.last else { return nil }
    if let own { return StoredNavigation(calibration: own, timestamp: own.moment?.timestamp) }
    // After a reboot the position is valid only for a vehicle that was stopped.
    guard calibration.lastState?.isStopped == true else {
      return StoredNavigation(calibration: calibration, timestamp: nil)
    }
    let age = calibration.made.map { now.seconds(since: $0) } ?? 0
    return StoredNavigation(
      calibration: calibration, timestamp: timestamp.advanced(bySeconds: -max(Self.leastAge, age)))
  }

  /// Stores the state if it is due.
  package mutating func keep(_ pipeline: borrowing AgentPipeline, at timestamp: Timestamp) {
    if let nextLook, timestamp < nextLook { return }
    nextLook = timestamp.advanced(bySeconds: Self.look)
    forgetHidden(pipeline, at: timestamp)
    guard let kept = pipeline.navigationToKeep else { return }
    stoppedSince = kept.isStopped ? stoppedSince ?? timestamp : nil
    let isStanding = stoppedSince.map { timestamp.seconds(since: $0) >= Self.stopDelay } ?? false
    let due = nextSave ?? timestamp.advanced(bySeconds: Self.pace)
    nextSave = due
    // When the vehicle departs, its stop on disk is overwritten, so that it is not restored after a loss of
    // power.
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

  /// Stores the state at a clean stop.
  package mutating func save(_ pipeline: borrowing AgentPipeline, at timestamp: Timestamp) {
    guard let kept = pipeline.navigationToKeep else { return }
    let text = text(kept, pipeline, at: timestamp)
    _ = memory?.save(text, isDurable: false)
    save(text, of: kept)
  }

  private mutating func save(_ text: String, of kept: StoredNavigation) {
    guard disk.save(text) else { return }
    placed = kept.calibration.lastState == nil ? nil : kept.calibration
    hasSavedStop = kept.isStopped
  }

  /// Removes the stored position if a zone was added around it.
  private mutating func forgetHidden(_ pipeline: borrowing AgentPipeline, at timestamp: Timestamp) {
    guard let placed else { return }
    let shown = pipeline.shown(StoredNavigation(calibration: placed, timestamp: timestamp))
    guard shown.calibration.lastState == nil else { return }
    var hidden = shown.calibration
    hidden.moment = nil
    _ = memory?.save(hidden.text, isDurable: false)
    if disk.save(hidden.text) { self.placed = nil }
  }

  private func text(
    _ kept: StoredNavigation, _ pipeline: borrowing AgentPipeline, at timestamp: Timestamp
  ) -> String {
    var calibration = kept.calibration
    calibration.made = pipeline.utc(at: timestamp)
    calibration.moment = kept.timestamp.map {
      NavigationCalibration.Moment(timeline: timeline, timestamp: $0)
    }
    return calibration.text
  }
}
