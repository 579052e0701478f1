internal import DequeModule
package import Fleet
internal import HeapModule
internal import Platform
package import Spatial

/// The order of messages to one receiver. A value type without I/O.
///
/// Messages of one vehicle are sent one after the other in order of their numbers; a message about several
/// vehicles waits for all of them. A failed message is retried later and blocks only its own vehicles. If
/// nothing is accepted, the receiver is paused.
package struct DeliveryQueue: Sendable {
  package struct Entry: Hashable, Sendable {
    /// The number, increasing from message to message.
    package var number: Int64
    package var vehicles: [VehicleKey]

    package init(number: Int64, vehicles: [VehicleKey]) {
      (self.number, self.vehicles) = (number, vehicles)
    }
  }

  private struct Turn: Comparable, Sendable {
    var due: Timestamp
    var number: Int64

    static func < (a: Self, b: Self) -> Bool { (a.due, a.number) < (b.due, b.number) }
  }

  /// The number of consecutive failures after which the receiver counts as unavailable. If a third of all
  /// attempts fail at random, this happens once in 6,561 messages.
  private static let failuresOfAnAbsence = 8

  private var entries: [Int64: Entry] = [:]
  private var lanes: [VehicleKey: Deque<Int64>] = [:]
  private var turns = Heap<Turn>()
  private var backoffs: [Int64: Backoff] = [:]
  private var absence = Backoff(floor: 0.5, base: 1, limit: 60)
  private var failures = 0
  private var awayUntil: Timestamp?
  package private(set) var underWay: Set<Int64> = []

  package init() {}

  package var count: Int { entries.count }

  package var numbers: [Int64] { entries.keys.sorted() }

  package func contains(_ number: Int64) -> Bool { entries[number] != nil }

  /// The number of failures since the last accepted message.
  package var failuresInSuccession: Int { failures }

  package mutating func add(_ entry: Entry, at now: Timestamp) {
    entries[entry.number] = entry
    for vehicle in Set(entry.vehicles) { lanes[vehicle, default: []].append(entry.number) }
    if isFirst(entry) { turns.insert(Turn(due: now, number: entry.number)) }
  }

  /// Returns the next message to send and marks it as in progress; nil if none is due.
  package mutating func next(at now: Timestamp) -> Int64? {
    if let awayUntil, now < awayUntil || !underWay.isEmpty { return nil }
    while let turn = turns.min, turn.due <= now {
      _ = turns.popMin()
      // Messages that were given up in the meantime are skipped.
      guard let entry = entries[turn.number], isFirst(entry), !underWay.contains(turn.number) else {
        continue
      }
      underWay.insert(turn.number)
      return turn.number
    }
    return nil
  }

  /// The time at which the next message can be due; nil if that depends on messages in progress.
  package var deadline: Timestamp? {
    guard let due = turns.min?.due else { return nil }
    guard let awayUntil else { return due }
    return underWay.isEmpty ? max(due, awayUntil) : nil
  }

  /// Removes a message that was accepted or given up.
  package mutating func remove(_ number: Int64, wasTaken: Bool, at now: Timestamp) {
    underWay.remove(number)
    backoffs[number] = nil
    if wasTaken {
      (failures, awayUntil) = (0, nil)
      absence.reset()
    }
    guard let entry = entries.removeValue(forKey: number) else { return }
    for vehicle in Set(entry.vehicles) {
      guard lanes[vehicle]?.first == number else {
        // It was given up while waiting for others.
        lanes[vehicle]?.removeAll { $0 == number }
        continue
      }
      lanes[vehicle]?.removeFirst()
      guard let first = lanes[vehicle]?.first else {
        lanes[vehicle] = nil
        continue
      }
      // A message about several vehicles is due when it is the first of all of them.
      if let next = entries[first], isFirst(next) { turns.insert(Turn(due: now, number: first)) }
    }
  }

  /// Records a failed attempt.
  /// - Parameter after: the delay in seconds requested by the receiver; nil if none.
  package mutating func fail(
    _ number: Int64, after: Double?, at now: Timestamp, using generator: inout some RandomNumberGenerator
  ) {
    guard underWay.remove(number) != nil, entries[number] != nil else { return }
    var backoff = backoffs[number] ?? Backoff(floor: 0.1, base: 0.5, limit: 300)
    let wait = max(backoff.next(using: &generator), min(after ?? 0, 3600))
    backoffs[number] = backoff
    turns.insert(Turn(due: now.advanced(bySeconds: wait), number: number))
    failures += 1
    if failures >= Self.failuresOfAnAbsence {
      awayUntil = now.advanced(bySeconds: absence.next(using: &generator))
    }
  }

  /// Returns a message that was not sent; it is due again immediately.
  package mutating func giveBack(_ number: Int64, at now: Timestamp) {
    guard underWay.remove(number) != nil, entries[number] != nil else { return }
    turns.insert(Turn(due: now, number: number))
  }

  private func isFirst(_ entry: Entry) -> Bool {
    entry.vehicles.allSatisfy { lanes[$0]?.first == entry.number }
  }
}
