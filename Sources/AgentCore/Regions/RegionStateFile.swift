internal import Glibc
internal import Logging
internal import Platform
internal import Positioning

/// Which regions the vehicle is in, across restarts.
///
/// The store of messages has the states, in the same commit as the events that led to them (`MessageDelivery`). The file of
/// `regions.state` is a copy for a store that was damaged or replaced, and has the states of former versions.
final class RegionStateFile: Sendable {
  private let path: String
  private let log: Logger
  /// The revision that was handed out to be preserved, and whether there are states of regions from then or from before.
  private let preserved = Locked<(revision: Int?, hasStates: Bool)>((nil, false))
  /// Whether the last writing of the file failed.
  private let hasFailed = Locked(false)

  init(path: String, log: Logger) {
    self.path = path
    self.log = log
  }

  /// Gives a monitor the states of the last run. Where there are none, this is a first start; those that are damaged are
  /// reported, and are unknown where the copy is damaged too.
  /// - Parameter preserved: what the store of messages has; nil reads the file.
  func restore(_ monitor: inout RegionMonitor, preserved: [UInt8]? = nil) {
    if let preserved {
      do throws(RegionMemoryError) {
        try monitor.restore(preserved)
        return self.preserved.withLock { $0.hasStates = true }
      } catch {
        log.warning(
          .regionStatesLost, "region states lost", metadata: ["file": "the store", "reason": "\(error)"])
      }
    }
    do {
      try monitor.restore(AtomicFile.contents(of: path, acceptsDevices: false))
      self.preserved.withLock { $0.hasStates = true }
    } catch let error as SystemError where error.code == ENOENT {
      return
    } catch {
      log.warning(
        .regionStatesLost, "region states lost", metadata: ["file": "\(path)", "reason": "\(error)"])
    }
  }

  /// The states to preserve with the messages that are accepted now; nil while they are as they were. That no region is watched
  /// any more is one too: one that comes back later is another.
  func change(of monitor: RegionMonitor) -> [UInt8]? {
    let hasChanged = preserved.withLock { preserved in
      guard preserved.revision != monitor.revision else { return false }
      preserved.revision = monitor.revision
      preserved.hasStates = preserved.hasStates || monitor.count > 0
      return preserved.hasStates
    }
    return hasChanged ? monitor.encoded : nil
  }

  /// Writes the copy. Call it after the events that go with the states are safe.
  func keep(_ states: [UInt8]) {
    do throws(SystemError) {
      try AtomicFile.write(states, to: path)
      hasFailed.withLock { $0 = false }
    } catch {
      let isNew = hasFailed.withLock { hasFailed in
        defer { hasFailed = true }
        return !hasFailed
      }
      guard isNew else { return }
      log.warning(
        .regionStatesNotKept,
        "the copy of region states cannot be written; should the store be lost, what happens meanwhile stays unknown",
        metadata: ["file": "\(path)", "reason": "\(error)"])
    }
  }
}
