/// An error about the CAN bus or its configuration: location, problem and remedy.
public struct CANError: Error, Hashable, Sendable, CustomStringConvertible {
  /// Location: a path with its line, an interface or a setting.
  public var place: String
  /// Problem, as in "signal Speed: 70 bits".
  public var problem: String
  /// Remedy for the user.
  public var remedy: String

  public init(place: String, problem: String, remedy: String) {
    self.place = place
    self.problem = problem
    self.remedy = remedy
  }

  public var description: String { "\(place): \(problem); \(remedy)" }
}
