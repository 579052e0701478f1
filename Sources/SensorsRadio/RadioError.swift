/// The reason why a radio cannot scan: its name, the problem and the remedy.
public struct RadioError: Error, Hashable, Sendable, CustomStringConvertible {
  /// An interface, "modem" or a setting.
  public var place: String
  /// The problem, such as "is down".
  public var problem: String
  /// The remedy for the operator.
  public var remedy: String

  public init(place: String, problem: String, remedy: String) {
    self.place = place
    self.problem = problem
    self.remedy = remedy
  }

  public var description: String { "\(place): \(problem); \(remedy)" }
}
