package import Fleet
internal import Platform

/// What the fleet says now: the connection's thread puts messages in, requests read what came of them.
package final class FleetFeed: Sendable {
  private let roster: Locked<Roster>
  private let observers: [any FleetObserver]

  package init(_ roster: Roster, observers: [any FleetObserver] = []) {
    self.roster = Locked(roster)
    self.observers = observers
  }

  package func receive(_ batch: FleetBatch) {
    let applied = roster.withLock { roster in
      batch.messages.compactMap { message -> (MQTTMessage, VehicleRecord)? in
        let outcome = roster.apply(
          topic: message.topic, payload: message.payload, retained: message.retain, at: batch.receivedAt)
        guard !observers.isEmpty, outcome == .applied,
          let key = roster.key(of: message.topic), let vehicle = roster[key]
        else { return nil }
        return (message, vehicle)
      }
    }
    for (message, vehicle) in applied {
      for observer in observers { observer.observe(message, of: vehicle, at: batch.receivedAt) }
    }
  }

  package func withRoster<Result>(_ body: (Roster) throws -> Result) rethrows -> Result {
    try roster.withLock { try body($0) }
  }
}
