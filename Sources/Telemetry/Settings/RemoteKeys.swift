/// Which configuration keys can be changed while the agent runs, and how.
package enum RemoteKeys {
  /// What may be changed remotely unless configured otherwise: nothing that leads to the broker, no credentials, and not
  /// `location.enabled` and `location.desired_accuracy`, the switches of whoever is in the vehicle.
  package static let usual = [
    "location.distance_filter", "location.activity",
    "location.pauses_automatically",
    "location.reporting", "location.error_bound", "location.delay_bound", "location.deferral_distance",
    "location.deferral_timeout", "location.track_error", "heading.enabled", "heading.interval",
    "heading.filter",
    "attitude.enabled", "attitude.interval", "attitude.frame", "motion.events", "status.interval", "iio.rate",
    "iio.latency",
  ]

  /// Take a new connection. They may be listed as remotely changeable, and are tried before they stand.
  package static let ofConnection: Set<String> = [
    "mqtt.broker", "mqtt.client_id", "mqtt.protocol", "mqtt.keepalive", "mqtt.keepalive_at_rest", "mqtt.user",
    "mqtt.password_file", "mqtt.ca_file", "mqtt.certificate_file", "mqtt.key_file", "mqtt.tls_minimum",
    "mqtt.alpn",
    "mqtt.psk_identity", "mqtt.psk_file", "mqtt.link", "mqtt.burst_interval", "mqtt.burst_linger",
    "mqtt.connect_timeout", "mqtt.backoff_base", "mqtt.backoff_limit", "mqtt.session_expiry",
    "mqtt.message_expiry",
  ]

  /// Sections of which every key is applied by building the pipeline anew.
  private static let pipelineSections = ["location.", "heading.", "attitude.", "motion.", "status."]

  /// Whether a change is in force at once.
  package static func isApplicable(_ path: String) -> Bool {
    ofConnection.contains(path) || path == "iio.rate" || path == "iio.latency"
      || pipelineSections.contains { path.hasPrefix($0) }
  }

  /// Why a key cannot stand in `remote.keys`; nil when it can.
  package static func problem(with path: String) -> String? {
    guard ConfigurationKey.byPath[path] != nil else {
      let hint = ConfigurationKey.nearest(to: path).map { "; did you mean \($0)?" } ?? ""
      return "there is no key \"\(path.prefix(80))\"\(hint)"
    }
    return isApplicable(path) ? nil : "\(path) takes a restart and cannot be changed remotely"
  }
}
