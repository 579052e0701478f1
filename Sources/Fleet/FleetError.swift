package import MQTT
package import Platform

/// The reason why an operation failed: operation, object, cause, and, after the cause, the remedy if there is
/// one. `description` is a sentence of these parts.
public struct FleetError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The operation, such as "reach".
  public var operation: String
  /// The object of the operation, such as a broker or a file.
  public var object: String
  public var cause: String
  public var kind: Kind
  /// The kind of failure to connect to the broker; nil for errors of other operations.
  package var link: LinkFailure?
  /// The name of the invalid setting, with which `object` starts; nil for other errors. On a command line, the
  /// setting is an option.
  package var setting: String?

  /// The kinds of errors.
  public enum Kind: Hashable, Sendable {
    /// An option, a setting, or a file with settings or data is invalid.
    case invalidInput
    /// The broker, a vehicle or another service is unreachable, or rejected the request.
    case unavailable
    /// The output, or the resource of the machine that it requires, cannot be written.
    case outputFailed
    /// A signal stopped the operation.
    case stopped(signal: Int32)
  }

  /// A kind of failure to connect to the broker.
  package enum LinkFailure: Hashable, Sendable {
    /// No broker answers at the address.
    case unreachable
    /// A program answers at the address, but it rejects the session or is no broker.
    case unusable
  }

  public init(operation: String, object: String, cause: String, kind: Kind) {
    self.operation = operation
    self.object = object
    self.cause = cause
    self.kind = kind
  }

  public var description: String { "cannot \(operation) \(object): \(cause)" }
}

extension FleetError {
  /// Creates an error for an invalid command line, or for an invalid file that the command line names.
  package static func usage(_ operation: String, _ object: String, _ cause: String) -> FleetError {
    FleetError(operation: operation, object: object, cause: cause, kind: .invalidInput)
  }

  /// Creates an error for an invalid value of a setting.
  ///
  /// - Parameter setting: the name in words, such as "live rate" for the option `--live-rate`.
  package static func invalid(
    _ setting: String, _ value: String, _ cause: String, operation: String = "use"
  ) -> FleetError {
    var error = usage(operation, "\(setting) \(value)", cause)
    error.setting = setting
    return error
  }

  /// Creates an error for a subscription that the broker rejected.
  package static func refused(filter: String, reason: String) -> FleetError {
    FleetError(
      operation: "subscribe to", object: "\"\(filter)\"",
      cause: filter.hasPrefix("$share/")
        ? "\(reason); leave out --share, or check the broker's access list for this user"
        : "\(reason); check the broker's access list for this user",
      kind: .unavailable)
  }

  /// Creates an error for an operation that a signal stopped before it had a result.
  package static func interrupted(
    signal: Int32, operation: String = "finish", object: String = "the command",
    cause: String = "it was interrupted"
  ) -> FleetError {
    FleetError(operation: operation, object: object, cause: cause, kind: .stopped(signal: signal))
  }

  package init(_ error: SystemError) {
    self.init(
      operation: error.operation, object: error.object, cause: SystemError.message(for: error.code),
      kind: .outputFailed)
  }

  /// Creates an error for invalid settings of a connection.
  package init(_ error: OperationError) { self = .usage(error.operation, error.object, error.cause) }

  /// Creates an error for a command that stops because the broker is unavailable.
  package init(_ reason: MQTTDisconnection) {
    self.init(
      operation: "reach", object: "the broker",
      cause: reason.description + (reason.remedy.map { "; \($0)" } ?? ""), kind: .unavailable)
    link = reason.phase <= .tcp && reason.cause.isWithoutAnswer ? .unreachable : .unusable
  }
}

extension MQTTDisconnection.Cause {
  /// True if no program answered at the broker's address.
  fileprivate var isWithoutAnswer: Bool {
    switch self {
    case .unreachable, .timedOut: true
    default: false
    }
  }
}
