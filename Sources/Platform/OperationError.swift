/// A failed operation: operation, object and cause.
public struct OperationError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The component that failed, such as "MQTT".
  public var component: String
  /// The operation, such as "read".
  public var operation: String
  /// The object of the operation: a setting, a topic, a file.
  public var object: String
  /// The cause, and the remedy if there is one, as a clause.
  public var cause: String

  package init(_ component: String, operation: String, object: String, cause: String) {
    (self.component, self.operation, self.object, self.cause) = (component, operation, object, cause)
  }

  public var description: String { "\(component): \(sentence)" }

  /// The description without the component.
  package var sentence: String { "cannot \(operation) \(object): \(cause)" }
}
