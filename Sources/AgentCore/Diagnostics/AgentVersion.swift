/// The version of this program.
public enum AgentVersion {
  public static let current = "0.1.0"
}
