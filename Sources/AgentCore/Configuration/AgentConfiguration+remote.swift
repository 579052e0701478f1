internal import Telemetry

extension AgentConfiguration {
  /// What may be done to the vehicle over MQTT.
  public struct Remote: Sendable, Hashable {
    public var isEnabled: Bool
    /// The configuration keys that may be changed.
    public var keys: Set<String>
    /// Seconds within which the broker must have been reached under new settings.
    public var rollbackAfter: Double
    /// The folder of what is remembered.
    public var path: String
    /// Bytes of recorded fixes at most; 0 keeps none.
    public var historyLimit: Int
  }
}

extension AgentConfiguration.Remote {
  init(_ reader: ConfigurationReader) throws(ConfigurationError) {
    isEnabled = try reader.flag("remote.enabled")
    keys = []
    for path in try reader.texts("remote.keys") {
      if let problem = RemoteKeys.problem(with: path) {
        throw reader.problem("remote.keys", problem)
      }
      keys.insert(path)
    }
    rollbackAfter = try reader.number("remote.rollback_after")
    path = try reader.text("remote.path")
    historyLimit = try reader.integer("remote.history_mb") * 1_000_000
  }
}
