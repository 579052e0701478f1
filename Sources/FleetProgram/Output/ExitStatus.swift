package import Fleet
internal import Glibc

/// The exit status of an `odograph` command. Scripts rely on these numbers, so they must not change.
///
/// Failures have the numbers of `sysexits.h`; after a signal, the status is 128 plus the signal's number.
package enum ExitStatus: Int32, Error, Hashable, Sendable {
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

extension ExitStatus {
  /// Creates the status of a command that stops because of an error.
  package init(_ kind: FleetError.Kind) {
    switch kind {
    case .invalidInput: self = .usage
    case .unavailable: self = .unavailable
    case .outputFailed: self = .outputFailed
    case .stopped(let signal): self.init(signal: signal)
    }
  }

  /// Creates the status of a command that a signal ended.
  package init(signal: Int32) { self = signal == SIGINT ? .interrupted : .terminated }
}
