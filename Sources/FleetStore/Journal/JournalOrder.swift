internal import Fleet
internal import Telemetry

/// Decides which messages about trips, events and traces are new. A message that is a duplicate, or older
/// than one already seen about the same entry, is not. A pure value type.
package struct JournalOrder: Sendable {
  private struct Key: Hashable {
    var vehicle: VehicleKey
    /// The kind of the message. Trips, events and traces are numbered separately.
    var kind: MessageKind
    var number: JournalNumber
  }

  private struct Rank: Comparable {
    var phase: Int
    var amount: Double

    static func < (a: Rank, b: Rank) -> Bool { (a.phase, a.amount) < (b.phase, b.amount) }
  }

  /// The maximum number of remembered entries. When it is reached, all are forgotten, and later duplicates
  /// count as new.
  private static let most = 100_000

  private var known: [Key: Rank] = [:]

  package init() {}

  package mutating func isNew(_ told: ReportedTrip) -> Bool {
    let isEnded = told.trip.phase == .ended
    return isNew(
      Key(vehicle: told.vehicle, kind: .trip, number: told.trip.trip),
      Rank(phase: told.trip.revision, amount: isEnded ? 1 : 0))
  }

  package mutating func isNew(_ told: ReportedDrivingEvent) -> Bool {
    isNew(
      Key(vehicle: told.vehicle, kind: .drivingEvent, number: told.event.journal),
      Rank(phase: told.event.isOngoing ? 0 : 1, amount: told.event.duration ?? 0))
  }

  package mutating func isNew(_ told: ReportedTrace) -> Bool {
    isNew(
      Key(vehicle: told.vehicle, kind: .trace, number: told.trace.trace),
      Rank(phase: told.trace.revision, amount: told.trace.size == nil ? 0 : 1))
  }

  private mutating func isNew(_ key: Key, _ rank: Rank) -> Bool {
    if let last = known[key], last >= rank { return false }
    if known.count >= Self.most { known.removeAll() }
    known[key] = rank
    return true
  }
}
