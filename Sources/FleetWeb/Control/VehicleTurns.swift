package import Fleet
internal import Platform

/// Lets one change of a vehicle's documents end before the next begins. Who changes several vehicles takes their turns in order,
/// so that nobody waits for each other.
package final class VehicleTurns: Sendable {
  /// Who waits for each vehicle that is being changed, first come first.
  private let waiting = Locked<[VehicleKey: [CheckedContinuation<Void, Never>]]>([:])

  /// Nanoseconds: as long as one change waits for the broker.
  private static let patience: Int64 = 10_000_000_000

  package init() {}

  /// Waits for the turn with each of some vehicles, each named once; `end` gives them back.
  /// - Throws: 503 when it took long: what was asked for then is not what somebody waits for now. No turn is left to be given back.
  package func begin(_ keys: [VehicleKey]) async throws(WebError) {
    let limit = SystemClock.monotonic + Self.patience
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
    guard SystemClock.monotonic > limit else { return }
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
