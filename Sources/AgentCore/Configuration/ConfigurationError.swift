/// Why a configuration cannot be used: where, what and the remedy.
public struct ConfigurationError: Error, Hashable, Sendable, CustomStringConvertible {
  /// A file with its line, an environment variable or a flag.
  public var place: String
  public var problem: String

  public init(place: String, problem: String) {
    self.place = place
    self.problem = problem
  }

  public var description: String { "\(place): \(problem)" }
}
