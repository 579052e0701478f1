internal import MQTT
internal import Pipeline
internal import Positioning
internal import Sensors
internal import Simulation
internal import Spatial
internal import Telemetry

/// What a day uses: the agent's own pipeline, run over a simulated vehicle that is on the way and then parked.
///
/// The way is the simulation's demonstration route at the pace of the configured activity; what its second lap uses is
/// repeated for the rest of the time. Parked, inertial sensors are heard until all has settled; after that they would repeat
/// themselves, so that time passes with the receiver alone, or an hour is repeated where they are published. Weather, hills and networks are not in
/// it.
struct SimulatedDay {
  /// What is used, in total or from one moment to another.
  struct Use {
    /// Joules.
    var joules: [EnergyComponent: Double] = [:]
    /// Bytes by kind of message, with topic, headers and acknowledgement.
    var messages: [String: Double] = [:]
    /// Bytes of connections and pings.
    var linkBytes = 0.0

    var bytes: Double { messages.values.reduce(linkBytes, +) }

    /// This, with so many times what was used since an earlier moment.
    func repeating(since earlier: Use, _ times: Double) -> Use {
      func extended<Key>(_ now: [Key: Double], _ before: [Key: Double]) -> [Key: Double] {
        now.reduce(into: [:]) { $0[$1.key] = $1.value + times * ($1.value - (before[$1.key] ?? 0)) }
      }
      return Use(
        joules: extended(joules, earlier.joules), messages: extended(messages, earlier.messages),
        linkBytes: linkBytes + times * (linkBytes - earlier.linkBytes))
    }

    static func + (a: Use, b: Use) -> Use {
      Use(
        joules: a.joules.merging(b.joules, uniquingKeysWith: +),
        messages: a.messages.merging(b.messages, uniquingKeysWith: +), linkBytes: a.linkBytes + b.linkBytes)
    }
  }

  /// - Parameter hours: of the day between setting off and parking, 0 ... 24.
  /// - Throws: `SimulationError`; `TopicError`.
  static func use(_ configuration: AgentConfiguration, drivingHours hours: Double) throws -> Use {
    let way = min(max(hours, 0), 24) * 3600
    return try driving(configuration, seconds: way) + parked(configuration, seconds: 86_400 - way)
  }

  private static func driving(_ configuration: AgentConfiguration, seconds: Double) throws -> Use {
    guard seconds > 0 else { return Use() }
    let stretch = try SimulatedStretch(configuration, .drive)
    let lap = stretch.lapDuration
    let first = stretch.advance(to: min(lap, seconds))
    guard seconds > lap else { return first }
    let second = stretch.advance(to: min(2 * lap, seconds))
    return second.repeating(since: first, max(0, seconds / lap - 2))
  }

  private static func parked(_ configuration: AgentConfiguration, seconds: Double) throws -> Use {
    guard seconds > 0 else { return Use() }
    let stretch = try SimulatedStretch(configuration, .parked)
    // Rest is known after seconds, and the link follows after `LinkPlan.patience`.
    let settled = LinkPlan.patience + 300
    let before = stretch.advance(to: min(settled - 60, seconds))
    let after = stretch.advance(to: min(settled, seconds))
    guard seconds > settled else { return after }
    let live = [MessageKind.attitude.rawValue, MessageKind.heading.rawValue]
    guard live.contains(where: { after.messages[$0] != before.messages[$0] }) else {
      stretch.silenceInertialSensors()
      return stretch.advance(to: seconds)
    }
    // What each sample has said goes on.
    let hour = stretch.advance(to: min(settled + 3600, seconds))
    return hour.repeating(since: after, max(0, (seconds - settled) / 3600 - 1))
  }
}
