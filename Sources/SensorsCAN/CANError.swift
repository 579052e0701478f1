/// What is wrong with what was to be read of a bus: the place, the fault and what helps.
public struct CANError: Error, Hashable, Sendable, CustomStringConvertible {
  /// A path with its line, an interface or a setting.
  public var place: String
  /// What was found, as in "signal Speed: 70 bits".
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
