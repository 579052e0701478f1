internal import Platform
internal import Sensors

/// The demands on a source, shared between the callers of `setDemand` and the threads that obey.
final class DemandBoard: Sendable {
  private let schedule = Locked(DemandSchedule())
  private let listeners = Locked<[EventDescriptor]>([])

  func set(_ demand: SensorDemand, for kind: SensorKind) {
    let now = SystemClock.boottime
    schedule.withLock { $0.set(demand, for: kind, at: now) }
    notify()
  }

  func phase(kinds: Set<SensorKind>, naturalHertz: Double) -> DemandSchedule.Phase {
    let now = SystemClock.boottime
    return schedule.withLock { $0.phase(at: now, kinds: kinds, naturalHertz: naturalHertz) }
  }

  var wanted: Set<SensorKind> { schedule.withLock(\.wanted) }

  /// Signals the descriptor whenever a demand changes.
  func addListener(_ event: EventDescriptor) { listeners.withLock { $0.append(event) } }

  func removeListener(_ event: EventDescriptor) {
    listeners.withLock { $0.removeAll { $0 === event } }
  }

  func notify() {
    for event in listeners.withLock({ $0 }) { event.signal() }
  }
}
