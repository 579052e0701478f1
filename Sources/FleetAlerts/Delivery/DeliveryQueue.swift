internal import DequeModule
package import Fleet
internal import HeapModule
internal import Platform
package import Spatial

/// The queue of messages to one receiver. A value type without I/O.
///
/// Messages about the same vehicle are sent one after the other, in the order of their numbers. A message
/// about several vehicles waits until it is the first one of each of them. A failed message is retried later,
/// and blocks only messages about its own vehicles. After several consecutive failures the receiver is
/// paused.
package struct DeliveryQueue: Sendable {
  package struct Entry: Hashable, Sendable {
    /// The number of the message; numbers increase.
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

  /// The number of consecutive failures after which the receiver counts as unavailable and is paused. If a
  /// third of all attempts fail at random, this happens once in 6,561 messages.
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

  package mutating func add(_ entry: Entry, at now: Timestamp) {
    entries[entry.number] = entry
    for vehicle in Set(entry.vehicles) { lanes[vehicle, default: []].append(entry.number) }
    if isFirst(entry) { turns.insert(Turn(due: now, number: entry.number)) }
  }

  /// Returns the number of the next message to send, and marks the message as being sent; nil if none is due.
  package mutating func next(at now: Timestamp) -> Int64? {
    if let awayUntil, now < awayUntil || !underWay.isEmpty { return nil }
    while let turn = turns.min, turn.due <= now {
      _ = turns.popMin()
      // A message that was given up after it was scheduled is skipped.
      guard let entry = entries[turn.number], isFirst(entry), !underWay.contains(turn.number) else {
        continue
      }
      underWay.insert(turn.number)
      return turn.number
    }
    return nil
  }

  /// The time at which the next message is due. Nil without messages, and if a message that is being sent
  /// must finish first.
  package var deadline: Timestamp? {
    guard let due = turns.min?.due else { return nil }
    guard let awayUntil else { return due }
    return underWay.isEmpty ? max(due, awayUntil) : nil
  }

  /// Removes a message that was accepted or given up.
  /// - Parameters:
  ///   - number: the number of the message.
  ///   - wasTaken: true if the receiver accepted the message.
  ///   - now: the current time.
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
        // The message was given up while it waited for earlier messages about the vehicle.
        lanes[vehicle]?.removeAll { $0 == number }
        continue
      }
      lanes[vehicle]?.removeFirst()
      guard let first = lanes[vehicle]?.first else {
        lanes[vehicle] = nil
        continue
      }
      // A message about several vehicles is due only if it is the first message about each of them.
      if let next = entries[first], isFirst(next) { turns.insert(Turn(due: now, number: first)) }
    }
  }

  /// Records a failed attempt to send a message, and schedules the next one.
  /// - Parameters:
  ///   - number: the number of the message.
  ///   - after: the delay in s that the receiver requested; nil if it requested none.
  ///   - now: the current time.
  ///   - generator: the random numbers for the delay.
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

  /// Returns a message to the queue that was not sent; it is due immediately.
  package mutating func giveBack(_ number: Int64, at now: Timestamp) {
    guard underWay.remove(number) != nil, entries[number] != nil else { return }
    turns.insert(Turn(due: now, number: number))
  }

  private func isFirst(_ entry: Entry) -> Bool {
    entry.vehicles.allSatisfy { lanes[$0]?.first == entry.number }
  }
}
