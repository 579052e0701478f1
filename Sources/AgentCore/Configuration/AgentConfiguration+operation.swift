internal import Telemetry

extension AgentConfiguration {
  /// Which regions are watched, and where their states are kept.
  package struct Regions: Sendable, Hashable {
    /// A GeoJSON file; nil watches none.
    package var path: String?
    /// The file that keeps across a restart which regions the vehicle is in.
    package var statePath: String
  }

  /// How the agent shows those on its own machine how it is.
  package struct Operation: Sendable, Hashable {
    /// The path of the socket for `odographd status`; nil takes the usual one.
    package var controlSocket: String?
    package var hasControlSocket: Bool
    /// The file for Prometheus; nil writes none.
    package var metricsFile: String?
    /// Seconds.
    package var metricsInterval: Double
  }

  /// What may be done to the vehicle over MQTT.
  package struct Remote: Sendable, Hashable {
    package var isEnabled: Bool
    /// The configuration keys that may be changed.
    package var keys: Set<String>
    /// Seconds within which the broker must have been reached under new settings.
    package var rollbackAfter: Double
    /// The folder of what is remembered.
    package var path: String
    /// Bytes of recorded fixes at most; 0 keeps none.
    package var historyLimit: Int
    /// Seconds and Hz of raw samples that may be asked for at the most; no seconds tell none.
    package var samplesSeconds: Double
    package var samplesRate: Double
  }
}

extension AgentConfiguration.Regions {
  init(_ reader: ConfigurationReader) throws(ConfigurationError) {
    path = reader.optionalText("regions.path")
    statePath = reader.statePath("regions.state", else: "regions.state")
  }
}

extension AgentConfiguration.Operation {
  init(_ reader: ConfigurationReader) throws(ConfigurationError) {
    let socket = reader.optionalText("control.socket")
    hasControlSocket = socket != "none"
    controlSocket = hasControlSocket ? socket : nil
    metricsFile = reader.optionalText("metrics.file")
    if let file = metricsFile, !file.hasSuffix(".prom") {
      throw reader.problem("metrics.file", "node_exporter reads only names that end in .prom; add it")
    }
    metricsInterval = try reader.number("metrics.interval")
  }
}

extension AgentConfiguration.Remote {
  init(_ reader: ConfigurationReader) throws(ConfigurationError) {
    isEnabled = try reader.flag("remote.enabled")
    keys = Set(try reader.texts("remote.keys"))
    for key in try reader.texts("remote.keys") {
      if let problem = RemoteKeys.problem(with: key) { throw reader.problem("remote.keys", problem) }
    }
    rollbackAfter = try reader.number("remote.rollback_after")
    path = reader.statePath("remote.path", else: "remote")
    historyLimit = try reader.integer("remote.history_mb") * 1_000_000
    samplesSeconds = try reader.number("remote.samples_seconds")
    samplesRate = try reader.number("remote.samples_rate")
  }
}
