/// Configuration keys that can be changed at runtime, and the time at which a change takes effect.
package enum RemoteKeys {
  /// Keys that can be changed remotely by default. Excluded are the connection to the broker, credentials,
  /// and `location.enabled`, which only the people in the vehicle may change. A desired accuracy of `reduced`
  /// in the vehicle's own configuration can be raised only in that configuration.
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

  /// The remotely changeable keys whose value is the path of a file.
  package static let files: Set = [
    "mqtt.password_file", "mqtt.ca_file", "mqtt.certificate_file", "mqtt.key_file", "mqtt.psk_file",
  ]

  /// Time at which a change of a key takes effect.
  package enum Effect: Sendable, Hashable {
    /// The change takes effect immediately, because the pipeline is rebuilt.
    case immediate
    /// The change takes effect after a new connection, and is a trial until the broker is reached.
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

  /// Returns why a key is not allowed in `remote.keys`; nil if the key is allowed.
  package static func problem(with path: String) -> String? {
    guard ConfigurationKey.byPath[path] != nil else {
      let hint = ConfigurationKey.nearest(to: path).map { "; did you mean \($0)?" } ?? ""
      return "unknown key \"\(path.prefix(80))\"\(hint)"
    }
    return effect(of: path) == .onRestart ? "\(path) requires a restart and cannot be changed remotely" : nil
  }
}
