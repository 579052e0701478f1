internal import Logging
internal import Navigation
internal import Pipeline
internal import Platform
internal import Spatial

/// Stores the odometer so that neither a kill nor a loss of power loses metres.
///
/// After a restart, the distance from the stored position to the first new one is added. The error of that
/// estimate is tracked continuously: the file on disk is rewritten when it would exceed three metres. On a
/// straight road that is once per kilometre, in a town every few seconds, at rest never. In memory beside the
/// control socket, where nothing wears, it is stored with each position.
///
/// A second file contains the metres of the last stop without the position, in case the first is damaged.
struct OdometerStore: Sendable {
  private var disk: LearnedFile
  private var copy: LearnedFile
  /// File in memory; nil without such a folder.
  private var memory: LearnedFile?
  /// The states on disk, in memory and in the copy.
  private var onDisk, inMemory, copied: OdometerState?
  /// Initial state of this run, until it has been continued.
  private var loaded: OdometerState?
  private var nextSave: Timestamp?
  private var isDiskFailing = false
  /// True if the folder in memory belongs to no service: its file is used only together with one on the disk,
  /// and is deleted at a clean stop.
  private let isMemoryShared: Bool
  private var standingSince: Timestamp?

  /// Largest error in m of a restart, and largest distance in m from the stored position.
  static let (greatestRisk, longestWay) = (3.0, 1000.0)
  /// Metres after a stop at which the departure is stored on disk. Published readings lag behind by ten
  /// metres (`OdometerReports`).
  var leavingWay = 5.0
  /// Metres since the last copy without a clean stop: the maximum loss from a damaged file.
  var copyInterval = 3000.0
  /// Seconds between two writes to the disk, and from a stop to its write.
  static let (pace, stopDelay) = (3.0, 10.0)
  /// Interval in s between writes if privacy forbids storing the position and only the distance is stored. A loss
  /// of power loses the distance of this time.
  static let hiddenPace = 30.0

  private let keepsPlace: Bool

  /// - Parameters:
  ///   - path: the file on disk.
  ///   - memory: the file beside the control socket; used if that is in memory.
  ///   - isMemoryShared: true if that folder outlives the removal of the store.
  ///   - keepsPlace: false if the position must not be stored.
  init(path: String, memory: String?, isMemoryShared: Bool = false, keepsPlace: Bool = true, log: Logger) {
    self.isMemoryShared = isMemoryShared
    self.keepsPlace = keepsPlace
    disk = LearnedFile(path: path, log: log)
    copy = LearnedFile(path: path + ".copy", log: log)
    self.memory =
      memory.flatMap { AtomicFile.isInMemory($0) ? LearnedFile(path: $0, log: log) : nil }
  }

  /// Returns the stored state; nil if there is none or it is not usable.
  /// - Parameter now: current civil time according to the machine.
  mutating func load(now: UTCTime) -> OdometerState? {
    func read(_ file: LearnedFile?) -> OdometerState? {
      file?.load(now: now, made: \.time, OdometerState.init(text:))
    }
    (onDisk, copied) = (read(disk), read(copy))
    inMemory = !isMemoryShared || onDisk != nil || copied != nil ? read(memory) : nil
    // The distance never decreases, so the greatest is the newest; of equal ones, the one in memory has the
    // newest position.
    let newest = [inMemory, onDisk, copied].compactMap { $0 }.max { $0.distance < $1.distance }
    // All other files are rewritten.
    if newest != onDisk { onDisk = nil }
    loaded = newest
    return newest
  }

  /// The outcome of a write to disk.
  struct Outcome {
    /// The stored state; nil if the disk is not writable.
    var state: OdometerState?
  }

  /// Stores the state if it is due.
  /// - Parameter isSet: true if a command has just set it, which is stored immediately.
  /// - Returns: nil if no write was due.
  mutating func keep(
    _ pipeline: borrowing AgentPipeline, at timestamp: Timestamp, isSet: Bool = false
  ) -> Outcome? {
    guard let state = state(of: pipeline) else { return nil }
    if state != inMemory, memory != nil {
      _ = memory?.save(state.text, isDurable: false)
      inMemory = state
    }
    // The state found at the restart must be stored before it is published.
    let isFirst = loaded.map { $0.withoutReading != state.withoutReading } ?? false
    // A state at standstill on disk has its reading. Higher readings are published only after this.
    let isLeaving =
      onDisk.map { $0.velocity == .zero && state.distance - $0.distance > leavingWay } ?? false
    let isPaced = isDiskFailing && timestamp < nextSave ?? timestamp
    if isSet || isFirst || (isLeaving && !isPaced) { return save(state, at: timestamp) }
    guard timestamp >= nextSave ?? timestamp else { return nil }
    guard let onDisk else { return save(state, at: timestamp) }
    let isStanding = state.distance == onDisk.distance
    standingSince = isStanding ? standingSince ?? timestamp : nil
    if let standingSince, timestamp.seconds(since: standingSince) >= Self.stopDelay,
      abs(state.distance + state.offset - (copied.map { $0.distance + $0.offset } ?? -.infinity))
        >= copyInterval
    {
      saveCopy(state)
    }
    let isRisky = (pipeline.odometerRisk ?? .infinity) > Self.greatestRisk
    let isFar =
      state.distance - onDisk.distance > Self.longestWay
      || abs(state.offset - onDisk.offset) > Self.greatestRisk
    let hasStopped = !isStanding && state.velocity == .zero
    // A privacy zone may have been added around the stored position.
    let isHidden = state.place == nil && onDisk.place != nil
    return isRisky || isFar || hasStopped || isHidden ? save(state, at: timestamp) : nil
  }

  /// Stores the state at a clean stop.
  mutating func save(_ pipeline: borrowing AgentPipeline, at timestamp: Timestamp) {
    guard let state = state(of: pipeline) else { return }
    if !isMemoryShared { _ = memory?.save(state.text, isDurable: false) }
    if save(state, at: timestamp, isLast: true).state != nil, isMemoryShared { memory?.remove() }
    saveCopy(state)
  }

  private func state(of pipeline: borrowing AgentPipeline) -> OdometerState? {
    guard var state = pipeline.odometerToKeep else { return nil }
    if !keepsPlace { (state.place, state.velocity) = (nil, nil) }
    return state
  }

  /// - Parameter isLast: true if no message follows.
  private mutating func save(_ state: OdometerState, at timestamp: Timestamp, isLast: Bool = false) -> Outcome
  {
    nextSave = timestamp.advanced(bySeconds: state.place == nil ? Self.hiddenPace : Self.pace)
    if loaded?.withoutReading != state.withoutReading { loaded = nil }
    // At standstill, readings do not grow before the next one is stored.
    let stored = isLast || state.velocity == .zero ? state : state.withoutReading
    isDiskFailing = !disk.save(stored.text)
    guard !isDiskFailing else { return Outcome(state: nil) }
    onDisk = state
    return Outcome(state: state)
  }

  private mutating func saveCopy(_ state: OdometerState) {
    guard state.distance != copied?.distance || state.offset != copied?.offset else { return }
    var bare = state
    (bare.place, bare.velocity, bare.reported) = (nil, nil, nil)
    if copy.save(bare.text) { copied = bare }
  }
}

extension OdometerState {
  /// The state to store in motion, without the reading: later readings are published before the next one is
  /// stored.
  fileprivate var withoutReading: OdometerState {
    var state = self
    state.reported = nil
    return state
  }
}
