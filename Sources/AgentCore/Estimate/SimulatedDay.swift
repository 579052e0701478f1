internal import Pipeline
package import Positioning
internal import Simulation
internal import Telemetry

/// Simulated use of a day: the agent's own loop, run over a vehicle that drives and is then parked.
///
/// The vehicle drives the simulation's demonstration route at the pace of the configured activity; the use of
/// its second lap is repeated for the rest of the time. When the vehicle is parked, inertial sensors are
/// simulated until all states have settled. After that their samples would only repeat, so the rest of the
/// time is simulated with the receiver alone. If attitude or heading are published at intervals, the use of
/// one hour is repeated instead. Weather, hills and networks are not simulated.
package struct SimulatedDay {
  /// Use of energy and of the link over a period of time.
  package struct Use {
    /// Joules.
    package var joules: [EnergyComponent: Double] = [:]
    /// Bytes by kind of message, with topic, headers and acknowledgement.
    package var messages: [String: Double] = [:]
    /// Messages by kind.
    package var counts: [String: Double] = [:]
    /// Bytes of connections and pings.
    package var linkBytes = 0.0

    package var bytes: Double { messages.values.reduce(linkBytes, +) }

    /// Returns this use plus `times` times its increase since `earlier`.
    package func repeating(since earlier: Use, _ times: Double) -> Use {
      func extended<Key>(_ now: [Key: Double], _ before: [Key: Double]) -> [Key: Double] {
        now.reduce(into: [:]) { $0[$1.key] = $1.value + times * ($1.value - (before[$1.key] ?? 0)) }
      }
      return Use(
        joules: extended(joules, earlier.joules), messages: extended(messages, earlier.messages),
        counts: extended(counts, earlier.counts),
        linkBytes: linkBytes + times * (linkBytes - earlier.linkBytes))
    }

    package static func + (a: Use, b: Use) -> Use {
      Use(
        joules: a.joules.merging(b.joules, uniquingKeysWith: +),
        messages: a.messages.merging(b.messages, uniquingKeysWith: +),
        counts: a.counts.merging(b.counts, uniquingKeysWith: +), linkBytes: a.linkBytes + b.linkBytes)
    }
  }

  /// Maximum number of simulated laps of the route.
  private static let laps = 4.0

  /// Simulates a day.
  /// - Parameter hours: hours of driving, 0 ... 24.
  /// - Throws: `SimulationError`; `TopicError`.
  package static func use(_ configuration: AgentConfiguration, drivingHours hours: Double) throws -> Use {
    let way = min(max(hours, 0), 24) * 3600
    return try driving(configuration, seconds: way) + parked(configuration, seconds: 86_400 - way)
  }

  package static func driving(_ configuration: AgentConfiguration, seconds: Double) throws -> Use {
    guard seconds > 0 else { return Use() }
    let stretch = try SimulatedStretch(configuration, .drive)
    let lap = stretch.lapDuration
    guard seconds > lap * laps else { return try stretch.advance(to: seconds) }
    let first = try stretch.advance(to: lap)
    let all = try stretch.advance(to: lap * laps)
    return all.repeating(since: first, (seconds / lap - laps) / (laps - 1))
  }

  private static func parked(_ configuration: AgentConfiguration, seconds: Double) throws -> Use {
    guard seconds > 0 else { return Use() }
    // Standstill is detected within seconds, and the link changes after `LinkPlan.settlingTime`.
    let settled = LinkPlan.settlingTime + 300
    guard publishesAtRest(configuration), seconds > settled else {
      return try SimulatedStretch(configuration, .parked, silentFrom: settled).advance(to: seconds)
    }
    let stretch = try SimulatedStretch(configuration, .parked)
    let before = try stretch.advance(to: settled)
    let hour = try stretch.advance(to: min(settled + 3600, seconds))
    return hour.repeating(since: before, max(0, (seconds - settled) / 3600 - 1))
  }

  /// Returns whether attitude or heading are published at intervals even if they do not change.
  package static func publishesAtRest(_ configuration: AgentConfiguration) -> Bool {
    let (attitude, heading) = (configuration.pipeline.attitude, configuration.pipeline.heading)
    return attitude.isEnabled && attitude.filter == 0 || heading.isEnabled && heading.filter == 0
  }
}
