/// Why a configuration cannot be used: where, what and the remedy.
public struct ConfigurationError: Error, Hashable, Sendable, CustomStringConvertible {
  public enum Kind: Hashable, Sendable {
    /// A file that cannot be read, or that is no text.
    case unreadable
    /// A file that is not TOML, or a flag that is not `key=value`.
    case syntax
    case unknownKey
    case missingKey
    /// A value of the wrong type, out of range, or of a form that its key does not accept.
    case invalidValue
    /// Values that are fine by themselves and not together.
    case conflict
  }

  public var kind: Kind
  /// A file with line and column, an environment variable or a flag.
  public var place: String
  public var problem: String

  public init(_ kind: Kind, place: String, problem: String) {
    self.kind = kind
    self.place = place
    self.problem = problem
  }

  public var description: String { "\(place): \(problem)" }
}
