internal import Glibc
internal import Logging
internal import Platform
internal import Positioning

/// The file of `regions.state`: which regions the vehicle is in, across restarts.
final class RegionStateFile: Sendable {
  private let path: String
  private let log: Logger
  /// The revision that the file holds, and whether its last writing failed.
  private let kept = Locked<(revision: Int?, hasFailed: Bool)>((nil, false))

  init(path: String, log: Logger) {
    self.path = path
    self.log = log
  }

  /// Gives a monitor the states of the last run. A file that is not there is a first start; one that is damaged is
  /// reported, and its states are unknown.
  func restore(_ monitor: inout RegionMonitor) {
    do {
      try monitor.restore(AtomicFile.contents(of: path))
    } catch let error as SystemError where error.code == ENOENT {
      return
    } catch {
      log.warning(
        .regionStatesLost, "region states lost", metadata: ["file": "\(path)", "reason": "\(error)"])
    }
  }

  /// Writes the states when they have changed. Call it after the events that go with them are safe: a crash between the
  /// two tells an event twice, never none.
  func keep(_ monitor: RegionMonitor) {
    guard monitor.count > 0, kept.withLock({ $0.revision != monitor.revision }) else { return }
    do throws(SystemError) {
      try AtomicFile.write(monitor.encoded, to: path)
      kept.withLock { $0 = (monitor.revision, false) }
    } catch {
      let isNew = kept.withLock { kept in
        defer { kept = (monitor.revision, true) }
        return !kept.hasFailed
      }
      guard isNew else { return }
      log.warning(
        .regionStatesNotKept,
        "region states cannot be kept; after a restart what happened meanwhile stays unknown",
        metadata: ["file": "\(path)", "reason": "\(error)"])
    }
  }
}
