/// Why an outbox cannot be opened at all. What happens to it later (a full disk, a damaged file) is not
/// thrown: the outbox goes on and says so in an `OutboxNotice` and in its status.
public struct OutboxError: Error, Hashable, Sendable, CustomStringConvertible {
  /// What was being done, as in "open".
  public var operation: String
  /// What it was done to: a file, a setting.
  public var object: String
  /// The cause, and where there is one the remedy, in a sentence.
  public var cause: String

  public init(operation: String, object: String, cause: String) {
    self.operation = operation
    self.object = object
    self.cause = cause
  }

  public var description: String { "outbox: cannot \(operation) \(object): \(cause)" }
}
