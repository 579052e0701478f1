package import Fleet
internal import Glibc
internal import MQTT
internal import Platform

/// Where a command's main thread waits, while the connection's thread does the work, until something ends it.
package final class CommandWaiter: Sendable {
  package enum Ending: Sendable {
    case timedOut
    case ended(ExitStatus)
    case failed(FleetError)

    /// Nothing ended the wait but its time.
    package var isTimeOver: Bool { if case .timedOut = self { true } else { false } }

    /// Whether Ctrl-C or the like ended it.
    package var isSignal: Bool {
      if case .ended(let status) = self { status == .interrupted || status == .terminated } else { false }
    }

    /// How the command ends.
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
    /// Whether this side has ended the last connection: one that follows is another, and no return.
    var hasLeft = false
    var refusals = 0
  }

  private let state = Locked(State())
  private let wake: EventDescriptor
  // Made with this, on the main thread, before there is any other.
  private let signals: SignalDescriptor
  /// Called at SIGHUP, which then ends nothing; nil where SIGHUP ends the command as a closed terminal does.
  private let reload: Locked<(@Sendable () -> Void)?> = Locked(nil)

  package init() throws(FleetError) {
    do throws(SystemError) {
      signals = try SignalDescriptor([SIGINT, SIGTERM, SIGHUP])
      wake = try EventDescriptor()
    } catch {
      throw FleetError(error)
    }
  }

  /// From now on SIGHUP does this, on the thread that waits, and ends nothing.
  package func onHangUp(_ action: @escaping @Sendable () -> Void) { reload.withLock { $0 = action } }

  /// A signal that ends the command; nil when there was none, or one that only asked to read settings again.
  private func endingSignal() -> Int32? {
    let action = reload.withLock { $0 }
    for number in signals.received() {
      guard number == SIGHUP, let action else { return number }
      action()
    }
    return nil
  }

  /// Ends the command; the first ending counts.
  package func end(_ ending: Ending) {
    state.withLock { state in
      if state.ending == nil { state.ending = ending }
    }
    wake.signal()
  }

  /// Tells of the connection on stderr, and ends the command when it never stood: then an option is wrong, or the
  /// broker does not run. A connection that stood once is waited for.
  package func observe(_ connection: FleetConnection) {
    switch connection {
    case .connected: observeConnection()
    case .subscribed: break
    case .doubtful(let doubt): StandardError.say(doubt)
    case .refused(let filter, let reason): end(.failed(.refused(filter: filter, reason: reason)))
    case .disconnected(let reason):
      observeLoss("\(reason)", FleetError(reason), isOurs: reason.cause == .stopped)
    }
  }

  /// Tells of a connection that stands, of whatever protocol.
  package func observeConnection() {
    let isBack = state.withLock { state in
      defer { (state.wasConnected, state.isConnected, state.hasLeft) = (true, true, false) }
      return state.wasConnected && !state.hasLeft
    }
    if isBack { StandardError.say("connected again") }
  }

  /// Tells of a connection that does not stand, of whatever protocol.
  /// - Parameters:
  ///   - reason: for a connection that will be made again.
  ///   - error: how the command ends when it never stood.
  ///   - isOurs: whether this side has ended it.
  package func observeLoss(_ reason: String, _ error: FleetError, isOurs: Bool = false) {
    let (wasConnected, wasLost) = state.withLock { state in
      defer { (state.isConnected, state.hasLeft) = (false, isOurs) }
      return (state.wasConnected, state.isConnected)
    }
    if !wasConnected {
      end(.failed(error))
    } else if !isOurs {
      StandardError.say(wasLost ? "\(reason); connecting again" : reason)
    }
  }

  /// Whether the broker has ever let this command in.
  package var wasConnected: Bool { state.withLock { $0.wasConnected } }

  /// A signal that comes within some seconds, whatever has ended before; nil when none does.
  package func newSignal(within seconds: Double) -> Ending? {
    guard waitUntilReadable([signals.descriptor], seconds: seconds) != nil else { return nil }
    return endingSignal().map { .ended(ExitStatus(signal: $0)) }
  }

  /// Waits until the broker has acknowledged what was sent; what it waits for is said when that takes a while. A further
  /// signal ends it.
  package func drain(seconds: Double, pending: () -> Int) {
    let begin = SystemClock.monotonic
    let deadline = begin + Int64(seconds * 1e9)
    var isSaid = false
    while pending() > 0, SystemClock.monotonic < deadline {
      if newSignal(within: 0.02) != nil { return }
      if !isSaid, SystemClock.monotonic - begin > 1_000_000_000 {
        isSaid = true
        StandardError.say(
          "\(pending()) messages are not acknowledged by the broker; waiting up to "
            + "\(Int(seconds)) s, a second Ctrl-C or SIGTERM ends that")
      }
    }
  }

  /// Waits until the broker has answered, an ending or a signal.
  /// - Parameter limit: seconds; nil leaves it to the connection's own limit.
  /// - Throws: `FleetError` when the time is over before.
  package func waitForAnswer(limit: Double?, hasAnswered: () -> Bool) throws(FleetError) -> Ending {
    let begin = SystemClock.monotonic
    while true {
      let ending = wait(seconds: 0.05)
      if !ending.isTimeOver || hasAnswered() { return ending }
      guard let limit, Double(SystemClock.monotonic - begin) * 1e-9 >= limit else { continue }
      throw FleetError.unanswered(within: limit)
    }
  }

  /// For a command whose time is over: that nobody was there is no success.
  /// - Throws: `FleetError` when the broker has never let this command in.
  package func requireAnswer(within limit: Double?) throws(FleetError) {
    guard !wasConnected, let limit else { return }
    throw FleetError.unanswered(within: limit)
  }

  /// Waits for an ending, a signal, or until the time is over; nil waits for as long as it takes.
  package func wait(seconds: Double?) -> Ending {
    let deadline = seconds.map { SystemClock.monotonic + Int64(min(max(0, $0), 1e8) * 1e9) }
    while true {
      if let ending = state.withLock({ $0.ending }) { return ending }
      var left: Int32 = -1
      if let deadline {
        let nanoseconds = deadline - SystemClock.monotonic
        left = nanoseconds <= 0 ? 0 : Int32(min(nanoseconds / 1_000_000 + 1, 1 << 30))
      }
      var entries = [
        pollfd(fd: wake.descriptor, events: Int16(POLLIN), revents: 0),
        pollfd(fd: signals.descriptor, events: Int16(POLLIN), revents: 0),
      ]
      _ = unsafe poll(&entries, nfds_t(entries.count), left)
      if entries[0].revents != 0 { wake.drain() }
      if let number = endingSignal() { return .ended(ExitStatus(signal: number)) }
      // Only now: a wait without time sees a signal, too.
      if left == 0 { return state.withLock(\.ending) ?? .timedOut }
    }
  }
}

extension FleetError {
  /// A command's time was over before the broker had let it in.
  package static func unanswered(within limit: Double) -> FleetError {
    FleetError(
      operation: "reach", object: "the broker",
      cause: "no answer within \(limit) s; check that the port speaks MQTT, or wait longer",
      exit: .unavailable)
  }
}

extension ExitStatus {
  /// How a command ends that a signal asked to end.
  package init(signal: Int32) { self = signal == SIGINT ? .interrupted : .terminated }
}

/// Sentences for the person at the keyboard, beside the output.
package enum StandardError {
  /// The time was over before the count that was asked for was reached.
  package static func sayMissed(_ count: Int, came: Int) {
    say(
      "the time is over: \(came) of \(count) messages came; wait longer, or look at the selection of topics")
  }

  /// Writes one line; control characters in it are made harmless.
  package static func say(_ sentence: String) {
    let line = "odograph: " + StyledText(sentence).plain + "\n"
    _ = OutputStream.write(Array(line.utf8), to: STDERR_FILENO)
  }
}
