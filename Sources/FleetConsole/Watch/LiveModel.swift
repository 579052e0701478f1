internal import Fleet
internal import Glibc
internal import MQTT
internal import Platform
internal import Spatial

/// What the connection's thread and the command's share: a value that is made of the messages, and how the connection is.
final class LiveModel<Value: Sendable>: Sendable {
  struct State: Sendable {
    var value: Value
    var wasConnected = false
    /// Why there is no connection, while there is none.
    var trouble: String?
    /// The command cannot go on.
    var failure: FleetError?
    /// When the subscription first stood.
    var begin: Moment?
    /// How much of what the broker keeps is in; nil before the first connection.
    var reading: RetainedReading?
    fileprivate var isChanged = false
  }

  private let state: Locked<State>
  /// Readable when something has changed.
  let changed: EventDescriptor

  init(_ value: Value) throws(FleetError) {
    state = Locked(State(value: value))
    do throws(SystemError) { changed = try EventDescriptor() } catch { throw FleetError(error) }
  }

  func withState<Result>(_ body: (inout State) -> Result) -> Result { state.withLock { body(&$0) } }

  /// All changes so far have been seen.
  func acknowledgeChanges() {
    changed.drain()
    state.withLock { $0.isChanged = false }
  }

  /// - Parameter isNews: false leaves `changed` unreadable, for a view that is drawn at a pace of its own.
  func receive(_ batch: FleetBatch, isNews: Bool = true, _ update: (inout Value, MQTTMessage) -> Void) {
    change(isNews: isNews) { state in
      for message in batch.messages {
        update(&state.value, message)
        if message.retain { state.reading?.kept(at: batch.receivedAt.timestamp.nanoseconds) }
      }
    }
  }

  func observe(_ connection: FleetConnection) {
    change { state in
      switch connection {
      case .connected:
        state.wasConnected = true
        state.trouble = nil
        state.reading = RetainedReading(at: Moment.now.timestamp.nanoseconds)
      case .subscribed:
        state.begin = state.begin ?? .now
      case .doubtful(let doubt): state.trouble = doubt
      case .refused(let filter, let reason): state.failure = .refused(filter: filter, reason: reason)
      case .disconnected(let reason):
        state.trouble = "not connected: \(reason)"
        // What never worked is an option that is wrong, or a broker that does not run.
        if !state.wasConnected { state.failure = FleetError(reason) }
      }
    }
  }

  /// The broker has begun to send what it keeps, and says that this was all.
  func markKept() { change { $0.reading?.marked(at: Moment.now.timestamp.nanoseconds) } }

  /// Waits for the first connection: an error of the first attempt belongs on the ordinary screen.
  /// - Throws: `FleetError` when it fails, or a signal comes.
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
          exit: ExitStatus(signal: number))
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
  /// The signals of a command, as an error that ends it.
  static func forCommand(_ signals: [Int32]) throws(FleetError) -> SignalDescriptor {
    do throws(SystemError) { return try SignalDescriptor(signals) } catch { throw FleetError(error) }
  }
}

/// Messages and bytes in a second.
struct Rates: Hashable, Sendable {
  var messages = 0.0
  var bytes = 0.0
}

/// How many messages and bytes come in a second, over the last few.
struct RateMeter: Sendable {
  private struct Sample {
    var at: Timestamp
    var messages: Int
    var bytes: Int
  }

  /// Seconds that are looked back on: short follows at once, long is calm.
  private static let span = 3.0

  private var samples: [Sample] = []

  /// Takes the counters as they are now.
  mutating func add(messages: Int, bytes: Int, at now: Timestamp) {
    samples.append(Sample(at: now, messages: messages, bytes: bytes))
    // The newest of those beyond the span stays, so that the samples cover it.
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
