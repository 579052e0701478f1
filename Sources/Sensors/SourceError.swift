/// An invalid setting, file or device of a sensor source: location, problem and remedy.
public struct SourceError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The location: a path with its line, an interface, a setting or an argument.
  public var place: String
  /// The problem, such as "signal Speed: 70 bits".
  public var problem: String
  /// The remedy for the user.
  public var remedy: String

  public init(place: String, problem: String, remedy: String) {
    (self.place, self.problem, self.remedy) = (place, problem, remedy)
  }

  public var description: String { "\(place): \(problem); \(remedy)" }
}
