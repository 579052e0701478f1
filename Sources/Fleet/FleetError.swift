package import MQTT
package import Platform

/// How a command of `odograph` ends, as the shell sees it. Scripts rely on these numbers: they do not change.
///
/// The numbers are those of `sysexits.h`, and 128 plus the signal's number.
public enum ExitStatus: Int32, Error, Hashable, Sendable {
  /// All that was asked for was done; also when the reader of the output left first.
  case done = 0
  /// A comparison found differences, as with diff(1).
  case differs = 1
  /// The command line makes no sense.
  case usage = 64
  /// The broker cannot be reached, or does not let this client in.
  case unavailable = 69
  /// The output cannot be written.
  case outputFailed = 74
  /// The time was over before the asked number of messages had come.
  case timedOut = 75
  /// Ctrl-C (SIGINT).
  case interrupted = 130
  /// SIGTERM.
  case terminated = 143
}

/// Why a command cannot do what it was asked for: what was tried, on what, the cause, and where there is one the
/// remedy, in a sentence.
public struct FleetError: Error, Hashable, Sendable, CustomStringConvertible {
  /// What was being done, as in "reach".
  public var operation: String
  /// What it was done to: a broker, a file.
  public var object: String
  public var cause: String
  /// How a command ends that cannot go on after this.
  public var exit: ExitStatus

  public init(operation: String, object: String, cause: String, exit: ExitStatus) {
    self.operation = operation
    self.object = object
    self.cause = cause
    self.exit = exit
  }

  public var description: String { "cannot \(operation) \(object): \(cause)" }
}

extension FleetError {
  /// A command line, or a file that it names, makes no sense.
  package static func usage(_ operation: String, _ object: String, _ cause: String) -> FleetError {
    FleetError(operation: operation, object: object, cause: cause, exit: .usage)
  }

  /// The broker does not grant a subscription.
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

  /// A mistake in the settings of a session.
  package init(_ error: MQTTError) { self = .usage(error.operation, error.object, error.cause) }

  /// Why the broker cannot be used, for a command that ends on it.
  package init(_ reason: MQTTDisconnection) {
    self.init(
      operation: "reach", object: "the broker",
      cause: reason.description + (reason.remedy.map { "; \($0)" } ?? ""), exit: .unavailable)
  }
}
