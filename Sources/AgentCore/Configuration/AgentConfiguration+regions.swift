extension AgentConfiguration {
  /// Which regions are watched, and where their states are kept.
  public struct Regions: Sendable, Hashable {
    /// A GeoJSON file; nil watches none.
    public var path: String?
    /// The file that keeps across a restart which regions the vehicle is in.
    public var statePath: String
  }
}

extension AgentConfiguration.Regions {
  init(_ reader: ConfigurationReader) throws(ConfigurationError) {
    path = reader.optionalText("regions.path")
    statePath = try reader.text("regions.state")
  }
}
