/// Why gpsd cannot be asked: what was tried, where, and the cause with its remedy.
public struct GPSDError: Error, Hashable, Sendable, CustomStringConvertible {
  public enum Kind: Hashable, Sendable {
    /// The host's name has no address.
    case unknownHost
    /// Nobody listens there, or nothing answers.
    case unreachable
    /// The connection was closed or failed.
    case connectionLost
    /// What answers is not a gpsd that can be understood.
    case protocolViolation
    /// The caller asked to stop waiting.
    case interrupted
  }

  public var kind: Kind
  /// What was being done, as in "connect to".
  public var operation: String
  /// The address, as in "gpsd://127.0.0.1:2947".
  public var object: String
  /// The cause, and the remedy where there is one.
  public var cause: String

  public init(kind: Kind, operation: String, object: String, cause: String) {
    self.kind = kind
    self.operation = operation
    self.object = object
    self.cause = cause
  }

  public var description: String { "\(operation) \(object): \(cause)" }
}
