package import Logging
package import Navigation
package import Pipeline
internal import Platform
package import Spatial

/// Stores the odometer so that neither a kill nor a loss of power loses metres.
///
/// After a restart, the distance from the stored position to the first new one is added. The error of that
/// estimate is tracked continuously: the state on disk is rewritten when the error would exceed three metres.
/// On a straight road that is once per kilometre, in a town every few seconds, at rest never. A file in a
/// memory file system beside the control socket is rewritten with each position, because this causes no flash
/// wear.
///
/// A file contains the metres of the last stop without the position, in case the store is lost.
package struct OdometerStore: Sendable {
  private var disk: StateDocument
  private var copy: StateDocument
  /// File in a memory file system; nil if the control socket's folder is on a disk.
  private var memory: StateDocument?
  /// The states in the three files: on disk, in the memory file system, and in the second file on disk.
  private var onDisk, inMemory, copied: OdometerState?
  /// State that `load` returned; nil as soon as a different state was stored.
  private var loaded: OdometerState?
  private var nextSave: Timestamp?
  private var isDiskFailing = false
  /// True if the memory file is in a folder that no service manager removes. It is then used only if a file
  /// on disk exists, too, and is deleted at a clean stop.
  private let isMemoryShared: Bool
  private var standingSince: Timestamp?

  /// Limits in m above which the file on disk is rewritten: the error that a restart would cause, and the
  /// distance from the stored position.
  static let (greatestRisk, longestWay) = (3.0, 1000.0)
  /// Distance in m after a stop at which the departure is stored on disk. Published readings lag behind the
  /// distance by ten metres (`OdometerReports`).
  package var leavingWay = 5.0
  /// Distance in m since the last write of the second file after which a standstill writes it again. About
  /// this distance is lost if the first file is damaged.
  package var copyInterval = 3000.0
  /// Interval in s between two writes to the disk, and time in s from a stop to the write of the second file.
  static let (pace, stopDelay) = (3.0, 10.0)
  /// Interval in s between writes if privacy forbids storing the position and only the distance is stored. A loss
  /// of power loses the distance of this time.
  static let hiddenPace = 30.0

  private let keepsPlace: Bool

  /// - Parameters:
  ///   - path: the file on disk, or of earlier versions.
  ///   - memory: the file beside the control socket; used if its folder is in a memory file system.
  ///   - isMemoryShared: true if that folder remains when the store on disk is deleted.
  ///   - keepsPlace: false if the position must not be stored.
  ///   - store: the message store; nil for a file on disk.
  package init(
    path: String, memory: String?, isMemoryShared: Bool = false, keepsPlace: Bool = true,
    store: StateStore? = nil, log: Logger
  ) {
    self.isMemoryShared = isMemoryShared
    self.keepsPlace = keepsPlace
    disk = StateDocument("odometer", path: path, store: store, log: log)
    copy = StateDocument(path: path + ".copy", log: log)
    self.memory =
      memory.flatMap { AtomicFile.isInMemory($0) ? StateDocument(path: $0, log: log) : nil }
  }

  /// Returns the stored state; nil if there is none or it is not usable.
  /// - Parameter now: current civil time according to the machine.
  package mutating func load(now: UTCTime) -> OdometerState? {
    func read(_ file: StateDocument?) -> OdometerState? {
      file?.load(now: now, made: \.time, OdometerState.init(text:))
    }
    (onDisk, copied) = (read(disk), read(copy))
    inMemory = !isMemoryShared || onDisk != nil || copied != nil ? read(memory) : nil
    // The distance never decreases, so the state with the greatest distance is the newest. Of equal
    // distances, the memory file has the newest position.
    let newest = [inMemory, onDisk, copied].compactMap { $0 }.max { $0.distance < $1.distance }
    // If the file on disk is not the newest, it is treated as missing, so that the next call of `keep`
    // rewrites it.
    if newest != onDisk { onDisk = nil }
    loaded = newest
    return newest
  }

  /// The outcome of a write to disk.
  package struct Outcome {
    /// The stored state; nil if the disk is not writable.
    package var state: OdometerState?
  }

  /// Stores the state if it is due.
  /// - Parameter isSet: true if a command has just set it, which is stored immediately.
  /// - Returns: nil if no write was due.
  package mutating func keep(
    _ pipeline: borrowing AgentPipeline, at timestamp: Timestamp, isSet: Bool = false
  ) -> Outcome? {
    guard let state = state(of: pipeline) else { return nil }
    if state != inMemory, memory != nil {
      _ = memory?.save(state.text, isDurable: false)
      inMemory = state
    }
    // The first state that differs from the loaded one is stored before its reading is published.
    let isFirst = loaded.map { $0.withoutReading != state.withoutReading } ?? false
    // The state of a stop is stored with its reading. It must be replaced on disk before a higher reading is
    // published.
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
  package mutating func save(_ pipeline: borrowing AgentPipeline, at timestamp: Timestamp) {
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
    // At standstill, the reading does not change until the next state is stored, so it is stored, too.
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
  /// The state to store in motion. It has no reading, because higher readings will be published before the
  /// next state is stored.
  fileprivate var withoutReading: OdometerState {
    var state = self
    state.reported = nil
    return state
  }
}
