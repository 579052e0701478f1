internal import Glibc
internal import Logging
internal import Platform
internal import Positioning

/// The region states, preserved across restarts.
///
/// The message store contains the states, in the same commit as the events that caused them
/// (`MessageDelivery`). The file of `regions.state` is a copy in case the message store is damaged or
/// replaced. Earlier versions stored the states only in this file.
final class RegionStateFile: Sendable {
  private let path: String
  private let log: Logger
  /// The monitor's revision at the last call of `change`, and whether any region states were preserved up to
  /// then.
  private let preserved = Locked<(revision: Int?, hasStates: Bool)>((nil, false))
  /// True if the last write of the file failed.
  private let hasFailed = Locked(false)

  init(path: String, log: Logger) {
    self.path = path
    self.log = log
  }

  /// Restores the region states of the last run; without any, the monitor remains as at a first start.
  /// Damaged states in the message store are reported, and those of the copy are restored. If the copy is
  /// damaged, too, the states are unknown.
  /// - Parameter preserved: states from the message store; nil reads the copy.
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

  /// Returns the states to preserve with the messages that are accepted now; nil if they are unchanged. An
  /// empty set of regions is preserved, too, so that a region added later does not receive the state of a
  /// removed one.
  func change(of monitor: RegionMonitor) -> [UInt8]? {
    let hasChanged = preserved.withLock { preserved in
      guard preserved.revision != monitor.revision else { return false }
      preserved.revision = monitor.revision
      preserved.hasStates = preserved.hasStates || monitor.count > 0
      return preserved.hasStates
    }
    return hasChanged ? monitor.encoded : nil
  }

  /// Writes the copy. Call it after the events that belong to the states are safe.
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
        "the copy of region states cannot be written; if the store is lost, changes since the last copy are lost, too",
        metadata: ["file": "\(path)", "reason": "\(error)"])
    }
  }
}
