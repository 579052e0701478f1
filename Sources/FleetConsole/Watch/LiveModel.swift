internal import Fleet
internal import MQTT
internal import Platform
internal import Spatial

/// What the connection's thread and the screen's thread of `watch` share.
final class WatchModel: Sendable {
  struct State {
    var roster: Roster
    var wasConnected = false
    /// Why there is no connection, while there is none.
    var trouble: String?
    /// The command cannot go on.
    var failure: FleetError?
    /// When the last of what the broker had kept came in; counts from the subscription on.
    var lastKept: Moment?
    fileprivate var isChanged = false
  }

  private let state: Locked<State>
  /// Readable when something has changed.
  let changed: EventDescriptor

  init(roster: Roster) throws(FleetError) {
    state = Locked(State(roster: roster))
    do throws(SystemError) { changed = try EventDescriptor() } catch { throw FleetError(error) }
  }

  func withState<Result>(_ body: (inout State) -> Result) -> Result { state.withLock { body(&$0) } }

  /// Takes note that all changes so far have been seen.
  func acknowledgeChanges() {
    changed.drain()
    state.withLock { $0.isChanged = false }
  }

  func take(_ batch: FleetBatch) {
    change { state in
      for message in batch.messages {
        state.roster.apply(
          topic: message.topic, payload: message.payload, retained: message.retain, at: batch.receivedAt)
        if message.retain { state.lastKept = batch.receivedAt }
      }
    }
  }

  func take(_ connection: FleetConnection) {
    change { state in
      switch connection {
      case .connected:
        state.wasConnected = true
        state.trouble = nil
      case .subscribed: state.lastKept = .now
      case .refused(let filter, let reason):
        state.failure = FleetError.refused(filter: filter, reason: "\(reason)")
      case .disconnected(let reason):
        state.trouble = "not connected: \(reason)"
        // What never worked is an option that is wrong, or a broker that does not run.
        if !state.wasConnected { state.failure = FleetError(reason) }
      }
    }
  }

  private func change(_ body: (inout State) -> Void) {
    let needsSignal = state.withLock { state in
      body(&state)
      defer { state.isChanged = true }
      return !state.isChanged
    }
    if needsSignal { changed.signal() }
  }
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

  var rates: WatchView.Rates {
    guard let first = samples.first, let last = samples.last else { return .init() }
    let seconds = last.at.seconds(since: first.at)
    guard seconds > 0 else { return .init() }
    return .init(
      messages: Double(last.messages - first.messages) / seconds,
      bytes: Double(last.bytes - first.bytes) / seconds)
  }
}
