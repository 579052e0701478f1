package import MQTT
package import Platform

/// The exit status of an `odograph` command. Scripts rely on these numbers, so they must not change.
///
/// Failures have the numbers of `sysexits.h`; after a signal, the status is 128 plus the signal's number.
public enum ExitStatus: Int32, Error, Hashable, Sendable {
  /// The command succeeded. This includes the case that the program which reads the output closed it early.
  case done = 0
  /// A comparison found differences; same number as diff(1).
  case differs = 1
  /// The command line is invalid.
  case usage = 64
  /// The broker is unreachable or rejected this client.
  case unavailable = 69
  /// The output cannot be written.
  case outputFailed = 74
  /// The time limit was over before the requested number of messages arrived.
  case timedOut = 75
  /// Ctrl-C (SIGINT).
  case interrupted = 130
  /// SIGTERM.
  case terminated = 143
}

/// The reason why a command failed: operation, object, cause, and, after the cause, the remedy if there is
/// one. `description` is a sentence of these parts.
public struct FleetError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The operation, such as "reach".
  public var operation: String
  /// The object of the operation, such as a broker or a file.
  public var object: String
  public var cause: String
  /// The exit status of a command that stops because of this error.
  public var exit: ExitStatus
  /// The kind of failure to connect to the broker; nil for errors of other operations.
  package var link: LinkFailure?

  /// A kind of failure to connect to the broker.
  package enum LinkFailure: Hashable, Sendable {
    /// No broker answers at the address.
    case unreachable
    /// A program answers at the address, but it rejects the session or is no broker.
    case unusable
  }

  public init(operation: String, object: String, cause: String, exit: ExitStatus) {
    self.operation = operation
    self.object = object
    self.cause = cause
    self.exit = exit
  }

  public var description: String { "cannot \(operation) \(object): \(cause)" }
}

extension FleetError {
  /// Creates an error for an invalid command line, or for an invalid file that the command line names.
  package static func usage(_ operation: String, _ object: String, _ cause: String) -> FleetError {
    FleetError(operation: operation, object: object, cause: cause, exit: .usage)
  }

  /// Creates an error for a subscription that the broker rejected.
  package static func refused(filter: String, reason: String) -> FleetError {
    FleetError(
      operation: "subscribe to", object: "\"\(filter)\"",
      cause: filter.hasPrefix("$share/")
        ? "\(reason); leave out --share, or check the broker's access list for this user"
        : "\(reason); check the broker's access list for this user",
      exit: .unavailable)
  }

  package init(_ error: SystemError) {
    self.init(
      operation: error.operation, object: error.object, cause: SystemError.message(for: error.code),
      exit: .outputFailed)
  }

  /// Creates an error for invalid MQTT settings.
  package init(_ error: MQTTError) { self = .usage(error.operation, error.object, error.cause) }

  /// Creates an error for a command that stops because the broker is unavailable.
  package init(_ reason: MQTTDisconnection) {
    self.init(
      operation: "reach", object: "the broker",
      cause: reason.description + (reason.remedy.map { "; \($0)" } ?? ""), exit: .unavailable)
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
