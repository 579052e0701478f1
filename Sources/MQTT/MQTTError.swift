/// An error in a request, or in a resource of the machine, with operation, object and remedy. Failures of
/// network and broker are never thrown. They are reported as `MQTTDisconnection`, because the session
/// continues.
public struct MQTTError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The failed operation, as in "configure".
  public var operation: String
  /// Object of the operation: a setting, a topic, a file.
  public var object: String
  /// The cause as a sentence, with the remedy if there is one.
  public var cause: String

  public init(operation: String, object: String, cause: String) {
    self.operation = operation
    self.object = object
    self.cause = cause
  }

  public var description: String { "MQTT: cannot \(operation) \(object): \(cause)" }
}
