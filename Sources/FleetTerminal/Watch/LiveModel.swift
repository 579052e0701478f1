internal import Fleet
internal import Glibc
internal import MQTT
internal import Platform
internal import Spatial

/// The state shared by the connection's thread and the command's thread: a value computed from the messages,
/// and the connection's state.
final class LiveModel<Value: Sendable>: Sendable {
  struct State: Sendable {
    var value: Value
    var wasConnected = false
    /// The reason for a missing connection; nil while connected.
    var trouble: String?
    /// The error that ends the command; nil if none.
    var failure: FleetError?
    /// The time at which the topics were first subscribed to; nil before.
    var begin: Moment?
    /// The progress of reading retained messages; nil before the first connection.
    var reading: RetainedReading?
    fileprivate var isChanged = false
  }

  private let state: Locked<State>
  /// The descriptor that is readable after changes.
  let changed: EventDescriptor

  init(_ value: Value) throws(FleetError) {
    state = Locked(State(value: value))
    do throws(SystemError) { changed = try EventDescriptor() } catch { throw FleetError(error) }
  }

  func withState<Result>(_ body: (inout State) -> Result) -> Result { state.withLock { body(&$0) } }

  /// Marks all changes as seen.
  func acknowledgeChanges() {
    changed.drain()
    state.withLock { $0.isChanged = false }
  }

  /// Applies a batch.
  ///
  /// - Parameter isNews: false to leave `changed` unsignalled, for a view that redraws at its own interval.
  func receive(_ batch: FleetBatch, isNews: Bool = true, _ update: (inout Value, MQTTMessage) -> Void) {
    change(isNews: isNews) { state in
      for message in batch.messages {
        update(&state.value, message)
        if message.retain { state.reading?.kept(at: .now) }
      }
    }
  }

  func observe(_ connection: FleetConnection) {
    change { state in
      switch connection {
      case .connected:
        state.wasConnected = true
        state.trouble = nil
        state.reading = RetainedReading(at: .now)
      case .subscribed:
        state.begin = state.begin ?? .now
      case .doubtful(let doubt): state.trouble = doubt
      case .dropped: break
      case .refused(let filter, let reason): state.failure = .refused(filter: filter, reason: reason)
      case .disconnected(let reason):
        state.trouble = "not connected: \(reason)"
        // If the first attempt to connect fails, an option is wrong or the broker is not running, so the
        // command ends.
        if !state.wasConnected { state.failure = FleetError(reason) }
      }
    }
  }

  /// Records the broker's answer to the marker subscription, which follows the retained messages.
  func markKept() { change { $0.reading?.marked(at: .now) } }

  /// Waits for the first connection, so that its failure is reported on the normal screen.
  /// - Throws: `FleetError` if the connection fails, or after a signal.
  func waitForConnection(to name: String, _ signals: SignalDescriptor) throws(FleetError) {
    while true {
      let (isConnected, failure) = withState { ($0.wasConnected, $0.failure) }
      if let failure { throw failure }
      if isConnected { return }
      _ = waitUntilReadable([changed.descriptor, signals.descriptor], seconds: 1)
      acknowledgeChanges()
      if let number = signals.received().first(where: { $0 != SIGWINCH && $0 != SIGTSTP }) {
        throw FleetError(
          operation: "reach", object: name, cause: "stopped while connecting",
          kind: .stopped(signal: number))
      }
    }
  }

  private func change(isNews: Bool = true, _ body: (inout State) -> Void) {
    let needsSignal = state.withLock { state in
      body(&state)
      guard isNews else { return false }
      defer { state.isChanged = true }
      return !state.isChanged
    }
    if needsSignal { changed.signal() }
  }
}

extension SignalDescriptor {
  /// Creates the signal descriptor of a command.
  static func forCommand(_ signals: [Int32]) throws(FleetError) -> SignalDescriptor {
    do throws(SystemError) { return try SignalDescriptor(signals) } catch { throw FleetError(error) }
  }
}

/// Messages and bytes per second.
package struct Rates: Hashable, Sendable {
  package var messages = 0.0
  package var bytes = 0.0

  package init(messages: Double = 0, bytes: Double = 0) { (self.messages, self.bytes) = (messages, bytes) }
}

/// A meter of messages and bytes per second over the last three seconds.
struct RateMeter: Sendable {
  private struct Sample {
    var at: Timestamp
    var messages: Int
    var bytes: Int
  }

  /// The averaging time in seconds: shorter reacts faster, longer is steadier.
  private static let span = 3.0

  private var samples: [Sample] = []

  /// Records the current counters.
  mutating func add(messages: Int, bytes: Int, at now: Timestamp) {
    samples.append(Sample(at: now, messages: messages, bytes: bytes))
    // The newest sample that is older than the time span remains, so that the samples cover the whole span.
    while samples.count > 2, now.seconds(since: samples[1].at) >= Self.span { samples.removeFirst() }
  }

  var rates: Rates {
    guard let first = samples.first, let last = samples.last else { return .init() }
    let seconds = last.at.seconds(since: first.at)
    guard seconds > 0 else { return .init() }
    return .init(
      messages: Double(last.messages - first.messages) / seconds,
      bytes: Double(last.bytes - first.bytes) / seconds)
  }
}
