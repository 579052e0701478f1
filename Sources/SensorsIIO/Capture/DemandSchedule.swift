internal import Platform
package import Sensors
package import Spatial

/// The demands for the kinds of a device, and the resulting capture settings.
///
/// A chip that captures several kinds in one buffer has a single rate: that of the highest demand. All kinds
/// are delivered at this rate, because decimation without a filter would alias vibration into the signal.
package struct DemandSchedule: Hashable, Sendable {
  /// The capture settings for a period of time.
  package struct Phase: Hashable, Sendable {
    /// The active kinds; empty for sleep.
    package var kinds: Set<SensorKind>
    /// The rate of the fastest demand in Hz.
    package var hertz: Double
    /// The shortest latency of all demands in s.
    package var latency: Double
    /// The end of this phase; nil if only a new demand ends it.
    package var until: Timestamp?
  }

  private struct Entry: Hashable, Sendable {
    var demand: SensorDemand
    var since: Timestamp
  }
  private var entries: [SensorKind: Entry] = [:]

  package init() {}

  /// Sets a demand at a time. A duty cycle starts with its on-time.
  package mutating func set(_ demand: SensorDemand, for kind: SensorKind, at time: Timestamp) {
    guard entries[kind]?.demand != demand else { return }
    entries[kind] = Entry(demand: demand, since: time)
  }

  /// The kinds with a demand.
  package var wanted: Set<SensorKind> { Set(entries.filter { $0.value.demand.isOn }.keys) }

  /// Returns the settings at a time for a device with these kinds.
  ///
  /// - Parameter naturalHertz: the rate during the on-time of a duty cycle.
  package func phase(at time: Timestamp, kinds: Set<SensorKind>, naturalHertz: Double) -> Phase {
    var phase = Phase(kinds: [], hertz: 0, latency: .infinity, until: nil)
    for (kind, entry) in entries where kinds.contains(kind) {
      switch entry.demand {
      case .off: continue
      case .rate(let hertz, let latency):
        guard hertz > 0, hertz.isFinite else { continue }
        phase.kinds.insert(kind)
        // Temperature drifts slowly and must not determine the rate of the chip.
        if kind != .thermometer {
          phase.hertz = max(phase.hertz, hertz)
          phase.latency = min(phase.latency, max(0, latency / .seconds(1)))
        }
      case .dutyCycle(let on, let period):
        let (cycle, elapsed) = (
          DutyCycle(on: on, period: period), max(0, time.nanoseconds - entry.since.nanoseconds)
        )
        guard cycle.on > 0 else { continue }
        if let end = cycle.endOfPhase(nanosecondsSinceStart: elapsed) {
          let next = Timestamp(nanoseconds: time.nanoseconds + end - elapsed)
          phase.until = min(phase.until ?? next, next)
          guard cycle.isOn(nanosecondsSinceStart: elapsed) else { continue }
        }
        phase.kinds.insert(kind)
        if kind != .thermometer {
          phase.hertz = max(phase.hertz, naturalHertz)
          phase.latency = min(phase.latency, 0.1)
        }
      }
    }
    if phase.hertz == 0 { phase.hertz = min(1, naturalHertz) }
    if !phase.latency.isFinite { phase.latency = 1 }
    return phase
  }
}

/// The demands on a source, shared between the callers of `setDemand` and the device threads.
final class DemandBoard: Sendable {
  private let schedule = Locked(DemandSchedule())
  private let listeners = Locked<[EventDescriptor]>([])

  func set(_ demand: SensorDemand, for kind: SensorKind) {
    let now = Timestamp.now
    schedule.withLock { $0.set(demand, for: kind, at: now) }
    notify()
  }

  func phase(kinds: Set<SensorKind>, naturalHertz: Double) -> DemandSchedule.Phase {
    let now = Timestamp.now
    return schedule.withLock { $0.phase(at: now, kinds: kinds, naturalHertz: naturalHertz) }
  }

  var wanted: Set<SensorKind> { schedule.withLock(\.wanted) }

  /// Adds a descriptor that is signalled at each change of a demand.
  func addListener(_ event: EventDescriptor) { listeners.withLock { $0.append(event) } }

  func removeListener(_ event: EventDescriptor) {
    listeners.withLock { $0.removeAll { $0 === event } }
  }

  func notify() {
    for event in listeners.withLock({ $0 }) { event.signal() }
  }
}
