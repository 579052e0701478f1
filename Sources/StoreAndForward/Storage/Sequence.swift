internal import Platform
internal import Spatial
internal import Telemetry

/// Assigns sequence numbers that never repeat. Pure.
///
/// A number is assigned only below the mark, a limit that is already safe on disk. Even if a power cut loses
/// records, the next start continues at the mark, above all numbers ever assigned. Marks are multiples of
/// `block`, so that a consumer can recognize a gap that is not a loss (`Config/asyncapi.yaml`).
struct Sequence: Equatable {
  /// Number of sequence numbers between two marks. Each mark costs one sync of the disk.
  static let block: UInt64 = 1 << 16

  /// The next number.
  private(set) var upcoming: UInt64
  private(set) var reserved: UInt64

  /// Continues from the stored mark, because all numbers below it may have been assigned.
  init(reserved: UInt64) {
    upcoming = max(1, reserved)
    self.reserved = upcoming
  }

  /// Returns the mark that must be safe on disk before `count` more numbers can be assigned; nil if the
  /// current mark is sufficient.
  func markNeeded(for count: Int) -> UInt64? {
    let end = upcoming + UInt64(count)
    return end <= reserved ? nil : (end / Self.block + 1) * Self.block
  }

  mutating func reserved(upTo mark: UInt64) { reserved = max(reserved, mark) }

  /// Assigns the next number; nil if the mark is reached.
  mutating func next() -> UInt64? {
    guard upcoming < reserved else { return nil }
    defer { upcoming += 1 }
    return upcoming
  }
}

/// Assigns the positions of records: the keys by which the store orders and finds them. Pure.
///
/// A moved record receives a new position. Positions are not sequence numbers, because consumers count a
/// skipped sequence number as a lost message.
struct RecordPositions {
  private var last: UInt64 = 0

  /// Marks a position as used.
  mutating func observe(_ place: UInt64) {
    if place < TemporarySequence.first { last = max(last, place) }
  }

  /// Returns the position of a new record: its sequence number, or the next free position if that is larger.
  mutating func next(atLeast seq: UInt64) -> UInt64 {
    guard seq < TemporarySequence.first else { return seq }
    last = max(last + 1, seq)
    return last
  }

  /// Returns a position after all used ones.
  mutating func next() -> UInt64 { next(atLeast: 0) }

  /// Returns the position under which a record can be stored: its own, or a new one if its own is a number of
  /// `TemporarySequence`, which the next process assigns again.
  mutating func lasting(_ place: UInt64) -> UInt64 { place < TemporarySequence.first ? place : next() }
}

/// Identities for messages accepted while the store cannot assign numbers, in an epoch that exists in memory
/// only.
struct TemporarySequence {
  /// First number: above any number of a store, and small enough for a JavaScript number.
  static let first: UInt64 = 1 << 52

  private var epoch = Store.newEpoch()
  private var upcoming = first
  /// True after a number was assigned. All numbers then come from this sequence until the records in memory are
  /// stored, because sequence numbers in memory must increase.
  private(set) var isInUse = false

  /// The next temporary identity.
  var identity: MessageIdentity { MessageIdentity(epoch: epoch, seq: upcoming) }

  /// Returns the next identity of the store if it can assign a number without a new mark, otherwise a
  /// temporary one.
  mutating func nextIdentity(_ store: Store?) -> MessageIdentity {
    if !isInUse, let store, let seq = store.sequence.next() {
      return MessageIdentity(epoch: store.epoch, seq: seq)
    }
    isInUse = true
    defer { upcoming += 1 }
    return identity
  }

  /// Starts a new epoch; numbers continue.
  mutating func beginEpoch() { epoch = Store.newEpoch() }

  /// Starts a new epoch after all records of the current epoch were stored.
  mutating func end() {
    epoch = Store.newEpoch()
    isInUse = false
  }
}

/// The store's own clock in s. It runs while the machine is powered on, including suspend, continues after a
/// restart from the last stored value, and is never set. Ages are therefore correct despite changes of the
/// wall clock; powered-off time does not count.
struct StoreClock {
  private let offset: Int64

  /// - Parameter lastSeen: the largest clock value in the store.
  init(lastSeen: Int64) { offset = lastSeen - Timestamp.now.nanoseconds / 1_000_000_000 }

  var now: Int64 { offset + Timestamp.now.nanoseconds / 1_000_000_000 }
}
