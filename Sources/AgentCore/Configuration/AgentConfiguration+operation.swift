extension AgentConfiguration {
  /// How the agent tells those on its own machine how it is.
  public struct Operation: Sendable, Hashable {
    /// The path of the socket for `odographd status`; nil takes the usual one.
    public var controlSocket: String?
    public var hasControlSocket: Bool
    /// The file for Prometheus; nil writes none.
    public var metricsFile: String?
    /// Seconds.
    public var metricsInterval: Double
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
