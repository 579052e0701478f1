internal import Platform

/// The version of this program.
public enum AgentVersion {
  /// As `status` tells it.
  public static let current = BuildInformation.current.version
  /// With commit and day of the build, where they are known.
  public static let description = BuildInformation.current.description
}
