internal import Fleet
internal import MQTT
internal import Platform

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
        state.failure = FleetError(
          operation: "subscribe to", object: "\"\(filter)\"",
          cause: "\(reason); check the broker's access list for this user", exit: .unavailable)
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
