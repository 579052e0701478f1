package import Fleet
internal import MQTT
internal import Platform
internal import Spatial

/// The state of the server's broker connection.
package struct BrokerLink: Hashable, Sendable {
  package var isConnected = false
  /// The reason for missing messages; nil if there is no problem.
  package var trouble: String?
  /// The time at which the connection was established or lost; nil before the first attempt to connect has
  /// ended.
  package var since: Moment?
  /// True after all retained messages were received once.
  package var isComplete = false
  /// The number of lost connections.
  package var losses = 0
}

/// The live state of the fleet: the connection's thread applies messages, and requests read the result.
package final class FleetFeed: Sendable {
  private struct State {
    var link = BrokerLink()
    /// The progress of reading retained messages; nil before the first connection.
    var reading: RetainedReading?
    var rates = RateWindow()
    /// The number of refused messages at the last notice to the operator, and the time of this notice; nil
    /// before the first.
    var told: (refused: Int, at: Timestamp)?
  }

  /// An event for the observers.
  private enum News {
    case message(FleetMessage, isRetained: Bool, VehicleRecord)
    case removal(VehicleKey)
  }

  /// A state of a vehicle.
  private struct StateKey: Hashable {
    var vehicle: VehicleKey
    var state: FleetMessage.State
  }

  private let roster: Locked<Roster>
  private let state = Locked(State())
  private let observers: [any FleetObserver]
  /// The states in the initial roster that the observers have not seen.
  private let unobserved: Locked<Set<StateKey>>

  /// Creates a feed.
  ///
  /// - Parameters:
  ///   - roster: the initial roster; it can have the newest messages of a recording.
  ///   - observers: the observers of messages. A state in the initial roster is reported to them when the
  ///     broker's first message about it arrives, even if this message repeats the state.
  package init(_ roster: Roster, observers: [any FleetObserver] = []) {
    self.roster = Locked(roster)
    self.observers = observers
    var unobserved: Set<StateKey> = []
    if !observers.isEmpty {
      for vehicle in roster.vehicles {
        for state in FleetMessage.State.allCases where vehicle.message(about: state) != nil {
          unobserved.insert(StateKey(vehicle: vehicle.key, state: state))
        }
      }
    }
    self.unobserved = Locked(unobserved)
  }

  package func receive(_ batch: FleetBatch) {
    let news = roster.withLock { roster in
      batch.messages.compactMap { message -> News? in
        let (outcome, key, content) = roster.applyDecoding(
          topic: message.topic, payload: message.payload, retained: message.retain, at: batch.receivedAt)
        guard !observers.isEmpty, let key else { return nil }
        if outcome == .removed { return .removal(key) }
        guard let content, let vehicle = roster[key],
          let observed = self.observed(content, outcome, of: vehicle)
        else { return nil }
        return .message(observed, isRetained: message.retain, vehicle)
      }
    }
    state.withLock { state in
      for message in batch.messages {
        state.rates.add(
          bytes: message.topic.utf8.count + message.payload.count, at: batch.receivedAt.timestamp)
        if message.retain { state.reading?.kept(at: .now) }
      }
    }
    for item in news {
      for observer in observers {
        switch item {
        case .message(let message, let isRetained, let vehicle):
          observer.observe(message, isRetained: isRetained, of: vehicle, at: batch.receivedAt)
        case .removal(let key): observer.observe(removalOf: key, at: batch.receivedAt)
        }
      }
    }
  }

  /// Returns the message to report to the observers after the roster has processed a message; nil for none.
  private func observed(
    _ message: FleetMessage, _ outcome: Roster.Outcome, of vehicle: VehicleRecord
  ) -> FleetMessage? {
    var isFirst = false
    if let state = message.state {
      let key = StateKey(vehicle: vehicle.key, state: state)
      isFirst = unobserved.withLock { $0.remove(key) != nil }
    }
    switch outcome {
    case .applied: return message
    // The roster has the same or a newer state from the recording.
    case .duplicate where isFirst, .outdated where isFirst:
      return message.state.flatMap { vehicle.message(about: $0) }
    default: return nil
    }
  }

  /// Reports the states of all vehicles to an observer, as if the broker had retained them.
  package func report(to observer: some FleetObserver, at moment: Moment = .now) {
    // The roster is locked, so that the observer receives no newer message before these.
    roster.withLock { roster in
      for vehicle in roster.vehicles {
        for state in FleetMessage.State.allCases {
          guard let message = vehicle.message(about: state) else { continue }
          observer.observe(message, isRetained: true, of: vehicle, at: moment)
        }
      }
    }
  }

  /// Calls `body` with the roster. The roster is locked during the call, and messages wait, so `body` must
  /// not do I/O.
  package func withRoster<Result>(_ body: (Roster) throws -> Result) rethrows -> Result {
    try roster.withLock { try body($0) }
  }

  /// The minimum seconds between two notices of refused messages.
  private static let noticeInterval = 3600.0

  /// Returns a notice if messages of vehicles beyond the capacity were refused since the last one; at most one per hour.
  package func noticeOfRefused(at now: Moment) -> String? {
    let (refused, capacity) = roster.withLock { ($0.counters.refused, $0.capacity) }
    guard refused > 0 else { return nil }
    return state.withLock { state in
      if let told = state.told,
        told.refused == refused || now.timestamp.seconds(since: told.at) < Self.noticeInterval
      {
        return nil
      }
      state.told = (refused, now.timestamp)
      return
        "\(refused) messages of further vehicles were dropped: \(capacity) vehicles are in memory; raise vehicles in [server]"
    }
  }

  // MARK: The connection

  /// Applies a change of the connection. Returns a text to report; nil for none.
  package func observe(_ connection: FleetConnection, at now: Moment) -> String? {
    for observer in observers { observer.observe(connection) }
    if connection == .connected { roster.withLock { $0.restartSequences() } }
    return state.withLock { state in
      switch connection {
      case .connected:
        let isBack = state.link.since != nil
        state.link.isConnected = true
        state.link.trouble = nil
        state.link.since = now
        state.reading = RetainedReading(at: .now)
        return isBack ? "connected to the broker again" : nil
      case .subscribed:
        // A subscription that was rejected before is granted now.
        guard state.link.trouble != nil else { return nil }
        state.link.trouble = nil
        return "the broker has granted all subscriptions"
      case .dropped(let text): return text
      case .doubtful(let doubt):
        state.link.trouble = doubt
        return doubt
      case .refused(let filter, let reason):
        let trouble = FleetError.refused(filter: filter, reason: reason).description
        guard state.link.trouble != trouble else { return nil }
        state.link.trouble = trouble
        return trouble
      case .disconnected(let reason):
        let trouble = FleetError(reason).description
        let isNews = state.link.trouble != trouble || state.link.isConnected
        if state.link.isConnected { state.link.losses += 1 }
        if state.link.isConnected || state.link.since == nil { state.link.since = now }
        state.link.isConnected = false
        state.link.trouble = trouble
        return isNews && reason.cause != .stopped ? "\(trouble); trying again" : nil
      }
    }
  }

  /// Records the broker's answer to the marker subscription, which follows the retained messages.
  package func markKept() { state.withLock { $0.reading?.marked(at: .now) } }

  package func link() -> BrokerLink {
    state.withLock { state in
      if !state.link.isComplete, state.link.isConnected,
        let outcome = state.reading?.outcome(at: .now), outcome != .pending
      {
        state.link.isComplete = true
      }
      return state.link
    }
  }

  /// Returns messages and bytes per second over the last ten seconds.
  package func rates(at now: Moment) -> (messages: Double, bytes: Double) {
    state.withLock { $0.rates.rates(at: now.timestamp) }
  }
}
