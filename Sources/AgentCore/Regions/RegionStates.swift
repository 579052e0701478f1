internal import Glibc
package import Logging
internal import Platform
package import Positioning
package import StoreAndForward

/// The region states, preserved across restarts in the message store, in the same commit as the events that
/// caused them.
///
/// Earlier versions stored them in the file of `regions.state`, too. The file is read if the store contains none,
/// and is then deleted.
package final class RegionStates: Sendable {
  private let path: String
  private let log: Logger
  /// The monitor's revision at the last call of `change`, and whether any region states were preserved up to
  /// then.
  private let preserved = Locked<(revision: Int?, hasStates: Bool)>((nil, false))

  private static let name = "regions"

  /// - Parameter path: file of earlier versions.
  package init(path: String, log: Logger) {
    self.path = path
    self.log = log
  }

  /// Restores the region states of the last run; without any, the monitor remains as at a first start. If they
  /// are damaged, the states are unknown.
  package func restore(_ monitor: inout RegionMonitor, from store: Outbox) {
    do {
      var isStored = true
      if let states = store.document(named: Self.name) {
        try monitor.restore(states)
      } else {
        let states = try AtomicFile.contents(of: path, acceptsDevices: false)
        try monitor.restore(states)
        isStored = store.preserve(PreservedDocument(name: Self.name, bytes: states))
      }
      preserved.withLock { $0.hasStates = true }
      if isStored { try? AtomicFile.remove(path) }
    } catch let error as SystemError where error.code == ENOENT {
      return
    } catch {
      log.warning(.regionStatesLost, "region states lost", metadata: ["reason": "\(error)"])
    }
  }

  /// Returns the states to preserve with the messages that are accepted now; nil if they are unchanged. An
  /// empty set of regions is preserved, too, so that a region added later does not receive the state of a
  /// removed one.
  package func change(of monitor: RegionMonitor) -> PreservedDocument? {
    let hasChanged = preserved.withLock { preserved in
      guard preserved.revision != monitor.revision else { return false }
      preserved.revision = monitor.revision
      preserved.hasStates = preserved.hasStates || monitor.count > 0
      return preserved.hasStates
    }
    return hasChanged ? PreservedDocument(name: Self.name, bytes: monitor.encoded) : nil
  }
}
