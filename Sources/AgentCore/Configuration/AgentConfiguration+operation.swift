internal import MQTT
internal import Platform
internal import Settings
internal import Telemetry

extension AgentConfiguration {
  /// Monitored regions and the file of their states.
  package struct Regions: Sendable, Hashable {
    /// Path of a GeoJSON file; nil for no regions.
    package var path: String?
    /// File in which earlier versions stored the region states.
    package var statePath: String
    /// Paths of the sockets that receive region events.
    package var notified: [String] = []
  }

  /// Local monitoring: control socket and metrics.
  package struct Operation: Sendable, Hashable {
    /// Path of the socket for `odographd status`; nil for the default.
    package var controlSocket: String?
    package var hasControlSocket: Bool
    /// Path of the Prometheus file; nil writes none.
    package var metricsFile: String?
    /// Interval between writes in s.
    package var metricsInterval: Double
  }

  /// Remote management over MQTT.
  package struct Remote: Sendable, Hashable {
    package var isEnabled: Bool
    /// The configuration keys that may be changed.
    package var keys: Set<String>
    /// Time in s within which the broker must be reached with new settings.
    package var rollbackAfter: Double
    /// Folder of remote settings, remote regions and the history of fixes.
    package var path: String
    /// The folder of the files that remote settings may name; nil if they may name none.
    package var filesPath: String?
    /// Filters of the topics to which a command's answer may be sent, in addition to the vehicle's own
    /// response topics.
    package var responses: [String]
    /// Maximum size of the history of fixes in bytes; 0 stores none.
    package var historyLimit: Int
    /// Maximum time in s for which a command may record the accelerometer; 0 disables the command.
    package var recordSeconds: Double
    /// Maximum duration in s and rate in Hz of raw samples that a command may request; a duration of 0
    /// disables the command.
    package var samplesSeconds: Double
    package var samplesRate: Double
  }
}

extension AgentConfiguration.Regions {
  init(_ reader: ConfigurationReader) throws(ConfigurationError) {
    path = reader.optionalText("regions.path")
    statePath = reader.statePath("regions.state", else: "regions.state")
    notified = try reader.texts("regions.notify")
    for path in notified where !path.hasPrefix("/") || path.utf8.count > LocalSocket.pathLimit {
      throw reader.problem(
        "regions.notify",
        "\"\(path.prefix(80))\" is not an absolute path of at most \(LocalSocket.pathLimit) bytes")
    }
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
    responses = try reader.texts("remote.response_topics")
    for filter in responses where !MQTTTopic.isValidFilter(filter) || filter.hasPrefix("$") {
      throw reader.problem(
        "remote.response_topics",
        "\"\(filter.prefix(80))\" is not a topic filter; + matches one level, and # at the end matches all levels below"
      )
    }
    rollbackAfter = try reader.number("remote.rollback_after")
    path = reader.statePath("remote.path", else: "remote")
    filesPath = reader.optionalText("remote.files_path")
    if let filesPath, !filesPath.hasPrefix("/") {
      throw reader.problem("remote.files_path", "\"\(filesPath.prefix(80))\" is not an absolute path")
    }
    historyLimit = try reader.integer("remote.history_mb") * 1_000_000
    recordSeconds = try reader.number("remote.record_seconds")
    samplesSeconds = try reader.number("remote.samples_seconds")
    samplesRate = try reader.number("remote.samples_rate")
  }
}
