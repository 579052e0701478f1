/// A mistake in what the caller asked for, or a thing the machine could not give: what was tried, on what,
/// and how to put it right. What the network and the broker do is never thrown: it is reported as an
/// `MQTTDisconnection`, because the session goes on.
public struct MQTTError: Error, Hashable, Sendable, CustomStringConvertible {
  /// What was being done, as in "configure".
  public var operation: String
  /// What it was done to: a setting, a topic, a file.
  public var object: String
  /// The cause, and where there is one the remedy, in a sentence.
  public var cause: String

  public init(operation: String, object: String, cause: String) {
    self.operation = operation
    self.object = object
    self.cause = cause
  }

  public var description: String { "MQTT: \(sentence)" }

  /// The description for a message that already names the broker.
  var sentence: String { "cannot \(operation) \(object): \(cause)" }
}
