/// Which configuration keys can be changed while the agent runs, and how.
package enum RemoteKeys {
  /// What may be changed remotely unless configured otherwise: nothing that leads to the broker, no credentials, and not
  /// `location.enabled`, the switch of whoever is in the vehicle. A desired accuracy of `reduced` that the vehicle's own
  /// configuration asks for can be lifted only there.
  package static let usual = [
    "location.desired_accuracy", "location.distance_filter", "location.activity",
    "location.pauses_automatically",
    "location.reporting", "location.error_bound", "location.delay_bound",
    "location.displacement_bound", "location.displacement_time", "location.deferral_distance",
    "location.deferral_timeout", "location.track_error", "heading.enabled", "heading.interval",
    "heading.filter",
    "attitude.enabled", "attitude.interval", "attitude.filter", "attitude.frame", "motion.events",
    "status.interval", "iio.rate", "iio.latency",
  ]

  /// When a change of a key is in force.
  package enum Effect: Sendable, Hashable {
    /// At once: the pipeline is built anew.
    case immediate
    /// After a new connection, so that it is tried before it stands.
    case onReconnection
    case onRestart
  }

  package static func effect(of path: String) -> Effect {
    switch path {
    case "iio.rate", "iio.latency": return .immediate
    case "mqtt.topic_root", "mqtt.profile", "mqtt.window": return .onRestart
    default: break
    }
    switch path.prefix(while: { $0 != "." }) {
    case "location", "heading", "attitude", "altitude", "events", "motion", "navigation", "status", "trips":
      return .immediate
    case "mqtt": return .onReconnection
    default: return .onRestart
    }
  }

  /// Why a key cannot stand in `remote.keys`; nil when it can.
  package static func problem(with path: String) -> String? {
    guard ConfigurationKey.byPath[path] != nil else {
      let hint = ConfigurationKey.nearest(to: path).map { "; did you mean \($0)?" } ?? ""
      return "there is no key \"\(path.prefix(80))\"\(hint)"
    }
    return effect(of: path) == .onRestart ? "\(path) takes a restart and cannot be changed remotely" : nil
  }
}
