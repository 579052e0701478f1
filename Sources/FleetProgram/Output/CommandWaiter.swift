package import Fleet
internal import Glibc
internal import MQTT
internal import Platform

/// The wait of a command's main thread, while the connection's thread does the work, until an event ends the
/// command.
package final class CommandWaiter: Sendable {
  package enum Ending: Sendable {
    case timedOut
    case ended(ExitStatus)
    case failed(FleetError)

    /// True if the time limit expired.
    package var isTimeOver: Bool { if case .timedOut = self { true } else { false } }

    /// True if a signal such as Ctrl-C ended the command.
    package var isSignal: Bool {
      if case .ended(let status) = self { status == .interrupted || status == .terminated } else { false }
    }

    /// Returns the exit status.
    package func status() throws(FleetError) -> ExitStatus {
      switch self {
      case .timedOut: .timedOut
      case .ended(let status): status
      case .failed(let error): throw error
      }
    }
  }

  private struct State {
    var ending: Ending?
    var wasConnected = false
    var isConnected = false
    /// True if the command itself closed the last connection: the next connection is then not reported as a
    /// reconnection.
    var hasLeft = false
    var refusals = 0
    /// The action for SIGHUP. Nil if SIGHUP ends the command, as it does when the terminal is closed.
    var reload: (@Sendable () -> Void)?
  }

  private let state = Locked(State())
  private let wake: EventDescriptor
  // Created on the main thread before any other thread, which then inherits the blocked signals.
  private let signals: SignalDescriptor

  package init() throws(FleetError) {
    do throws(SystemError) {
      signals = try SignalDescriptor([SIGINT, SIGTERM, SIGHUP])
      wake = try EventDescriptor()
    } catch {
      throw FleetError(error)
    }
  }

  /// Sets the action for SIGHUP, called on the waiting thread; the signal then does not end the command.
  package func onHangUp(_ action: @escaping @Sendable () -> Void) {
    state.withLock { $0.reload = action }
  }

  /// Returns the number of a received signal that ends the command. Nil if no signal was received, or only
  /// SIGHUP with an action, which is called.
  private func endingSignal() -> Int32? {
    let action = state.withLock { $0.reload }
    for number in signals.received() {
      guard number == SIGHUP, let action else { return number }
      action()
    }
    return nil
  }

  /// Ends the command; only the first call has an effect.
  package func end(_ ending: Ending) {
    state.withLock { state in
      if state.ending == nil { state.ending = ending }
    }
    wake.signal()
  }

  /// Reports the connection's state on standard error. Ends the command if the broker was never connected,
  /// because an option is wrong or the broker is not running. After a lost connection, the command waits for
  /// a new one.
  package func observe(_ connection: FleetConnection) {
    switch connection {
    case .connected: observeConnection()
    case .subscribed: break
    case .doubtful(let doubt), .dropped(let doubt): StandardError.report(doubt)
    case .refused(let filter, let reason): end(.failed(.refused(filter: filter, reason: reason)))
    case .disconnected(let reason):
      observeLoss("\(reason)", FleetError(reason), isOurs: reason.cause == .stopped)
    }
  }

  /// Reports an established connection of any protocol.
  package func observeConnection() {
    let isBack = state.withLock { state in
      defer { (state.wasConnected, state.isConnected, state.hasLeft) = (true, true, false) }
      return state.wasConnected && !state.hasLeft
    }
    if isBack { StandardError.report("connected again") }
    wake.signal()
  }

  /// Reports a lost connection of any protocol.
  /// - Parameters:
  ///   - reason: the reason, for a connection that will be retried.
  ///   - error: the error of a command that was never connected.
  ///   - isOurs: true if this side closed the connection.
  package func observeLoss(_ reason: String, _ error: FleetError, isOurs: Bool = false) {
    let (wasConnected, wasLost) = state.withLock { state in
      defer { (state.isConnected, state.hasLeft) = (false, isOurs) }
      return (state.wasConnected, state.isConnected)
    }
    if !wasConnected {
      end(.failed(error))
    } else if !isOurs {
      StandardError.report(wasLost ? "\(reason); connecting again" : reason)
    }
  }

  /// True while the broker is connected.
  package var isConnected: Bool { state.withLock { $0.isConnected } }

  /// True if the broker has ever accepted the connection.
  package var wasConnected: Bool { state.withLock { $0.wasConnected } }

  /// Returns the ending for a further signal that arrives within `seconds`, also after the command has ended;
  /// nil without a signal.
  package func newSignal(within seconds: Double) -> Ending? {
    guard waitUntilReadable([signals.descriptor], seconds: seconds) != nil else { return nil }
    return endingSignal().map { .ended(ExitStatus(signal: $0)) }
  }

  /// Waits until the broker has acknowledged all messages, and reports a wait of more than a second. A
  /// further signal ends the wait.
  package func drain(seconds: Double, pending: () -> Int) {
    let begin = MonotonicTime.now
    let deadline = begin.advanced(bySeconds: seconds)
    var isSaid = false
    while pending() > 0, !deadline.hasPassed {
      if newSignal(within: 0.02) != nil { return }
      if !isSaid, begin.secondsElapsed > 1 {
        isSaid = true
        StandardError.report(
          "\(pending()) messages are not acknowledged by the broker; waiting up to "
            + "\(Int(seconds)) s, a second Ctrl-C or SIGTERM ends the wait")
      }
    }
  }

  /// Waits for an answer of the broker, an ending or a signal.
  /// - Parameter limit: the time limit in seconds; nil to wait until the connection fails.
  /// - Throws: `FleetError` if the time limit expires first.
  package func waitForAnswer(limit: Double?, hasAnswered: () -> Bool) throws(FleetError) -> Ending {
    let begin = MonotonicTime.now
    while true {
      let ending = wait(seconds: 0.05)
      if !ending.isTimeOver || hasAnswered() { return ending }
      guard let limit, begin.secondsElapsed >= limit else { continue }
      throw FleetError.unanswered(within: limit)
    }
  }

  /// Checks, after the time limit has expired, that the broker was connected.
  /// - Throws: `FleetError` if the broker has never accepted the connection.
  package func requireAnswer(within limit: Double?) throws(FleetError) {
    guard !wasConnected, let limit else { return }
    throw FleetError.unanswered(within: limit)
  }

  /// Waits for an ending, a signal or the time limit; nil for no limit.
  /// - Parameter isDone: checked after each established connection; true ends the wait like the time limit.
  package func wait(seconds: Double?, until isDone: () -> Bool = { false }) -> Ending {
    let deadline = seconds.map { MonotonicTime.after($0) }
    while true {
      if let ending = state.withLock({ $0.ending }) { return ending }
      if isDone() { return .timedOut }
      var left: Int32 = -1
      if let deadline {
        let seconds = deadline.secondsRemaining
        left = seconds <= 0 ? 0 : Int32(min(seconds * 1000 + 1, 1e9))
      }
      var entries = [
        pollfd(fd: wake.descriptor, events: Int16(POLLIN), revents: 0),
        pollfd(fd: signals.descriptor, events: Int16(POLLIN), revents: 0),
      ]
      _ = unsafe poll(&entries, nfds_t(entries.count), left)
      if entries[0].revents != 0 { wake.drain() }
      if let number = endingSignal() { return .ended(ExitStatus(signal: number)) }
      // Checked after the signals, so that a wait of 0 s also detects a signal.
      if left == 0 { return state.withLock(\.ending) ?? .timedOut }
    }
  }
}

extension FleetError {
  /// Creates the error for a time limit that expired before the broker accepted the connection.
  package static func unanswered(within limit: Double) -> FleetError {
    var error = FleetError(
      operation: "reach", object: "the broker",
      cause: "no answer within \(limit) s; check that the port speaks MQTT, or wait longer",
      kind: .unavailable)
    error.link = .unusable
    return error
  }
}
