package import Fleet
internal import Platform

/// A lock that serializes changes of a vehicle's documents. Changes of several vehicles lock them in order,
/// so that there is no deadlock.
package final class VehicleTurns: Sendable {
  /// The waiting changes of each locked vehicle, in order.
  private let waiting = Locked<[VehicleKey: [CheckedContinuation<Void, Never>]]>([:])

  /// The maximum time in s to wait for locks: as long as one change waits for the broker.
  private static let timeout = 10.0

  package init() {}

  /// Locks some vehicles, each named once; `end` unlocks them.
  /// - Throws: 503 after the time limit; nothing is locked then.
  package func begin(_ keys: [VehicleKey]) async throws(WebError) {
    let limit = MonotonicTime.after(Self.timeout)
    for key in keys.sorted() {
      await withCheckedContinuation { continuation in
        let isFree = waiting.withLock { waiting in
          guard waiting[key] == nil else {
            waiting[key]?.append(continuation)
            return false
          }
          waiting[key] = []
          return true
        }
        if isFree { continuation.resume() }
      }
    }
    guard limit.hasPassed else { return }
    end(keys)
    throw .busy("Others are changing this vehicle, and the broker is slow.")
  }

  package func end(_ keys: [VehicleKey]) {
    let next = waiting.withLock { waiting in
      keys.compactMap { key -> CheckedContinuation<Void, Never>? in
        guard waiting[key]?.isEmpty == false else {
          waiting[key] = nil
          return nil
        }
        return waiting[key]?.removeFirst()
      }
    }
    for continuation in next { continuation.resume() }
  }
}
