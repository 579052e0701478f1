/// What keeps a radio from being asked what it hears: the place, the fault and what helps.
public struct RadioError: Error, Hashable, Sendable, CustomStringConvertible {
  /// An interface, "modem" or a setting.
  public var place: String
  /// What was found, as in "is down".
  public var problem: String
  /// What the reader of the message can do.
  public var remedy: String

  public init(place: String, problem: String, remedy: String) {
    self.place = place
    self.problem = problem
    self.remedy = remedy
  }

  public var description: String { "\(place): \(problem); \(remedy)" }
}
