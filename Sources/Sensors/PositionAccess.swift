/// The access to positions that an agent permits to this program.
public enum PositionAccess: String, Hashable, Sendable, CaseIterable {
  /// Unknown, because there is no connection to the agent.
  case undetermined
  /// No positions.
  case denied = "none"
  /// The centre of a cell of some kilometres.
  case reduced
  case exact
}
