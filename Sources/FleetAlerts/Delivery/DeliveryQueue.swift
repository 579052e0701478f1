internal import DequeModule
package import Fleet
internal import HeapModule
internal import Platform
package import Spatial

/// Which message goes to a receiver next. A value without I/O.
///
/// Messages of one vehicle go one after the other, in the order of their numbers; a message of several waits for all of them. What
/// failed is tried again later, and holds up its own vehicles only; when nothing at all gets through, the receiver is left in peace for a
/// while.
package struct DeliveryQueue: Sendable {
  package struct Entry: Hashable, Sendable {
    /// Grows from message to message.
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

  /// Failures in succession after which the receiver itself is believed to be away: with a third of answers failing by chance, once in
  /// 6,561 messages.
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

  /// Failures since the last message that was taken.
  package var failuresInSuccession: Int { failures }

  package mutating func add(_ entry: Entry, at now: Timestamp) {
    entries[entry.number] = entry
    for vehicle in Set(entry.vehicles) { lanes[vehicle, default: []].append(entry.number) }
    if isFirst(entry) { turns.insert(Turn(due: now, number: entry.number)) }
  }

  /// The next message, which is under way from now on; nil where none may go.
  package mutating func next(at now: Timestamp) -> Int64? {
    if let awayUntil, now < awayUntil || !underWay.isEmpty { return nil }
    while let turn = turns.min, turn.due <= now {
      _ = turns.popMin()
      // What was given up meanwhile has no turn any more.
      guard let entry = entries[turn.number], isFirst(entry), !underWay.contains(turn.number) else {
        continue
      }
      underWay.insert(turn.number)
      return turn.number
    }
    return nil
  }

  /// When there may be a next one; nil where that depends on what is under way.
  package var deadline: Timestamp? {
    guard let due = turns.min?.due else { return nil }
    guard let awayUntil else { return due }
    return underWay.isEmpty ? max(due, awayUntil) : nil
  }

  /// It was taken, or is given up.
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
        // It was given up while it waited for others.
        lanes[vehicle]?.removeAll { $0 == number }
        continue
      }
      lanes[vehicle]?.removeFirst()
      guard let first = lanes[vehicle]?.first else {
        lanes[vehicle] = nil
        continue
      }
      // A message of several vehicles is first of all of them once, when the last has made way.
      if let next = entries[first], isFirst(next) { turns.insert(Turn(due: now, number: first)) }
    }
  }

  /// It was not taken.
  /// - Parameter after: seconds that the receiver wants to be left in peace; nil where it does not say.
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

  /// Was given to nobody after all: it goes again at once.
  package mutating func giveBack(_ number: Int64, at now: Timestamp) {
    guard underWay.remove(number) != nil, entries[number] != nil else { return }
    turns.insert(Turn(due: now, number: number))
  }

  private func isFirst(_ entry: Entry) -> Bool {
    entry.vehicles.allSatisfy { lanes[$0]?.first == entry.number }
  }
}
