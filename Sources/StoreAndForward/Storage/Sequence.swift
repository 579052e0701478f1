internal import Platform
internal import Telemetry

/// Hands out sequence numbers that never repeat. Pure.
///
/// A number is given out only below a mark that is already safe on the disk. So whatever a power cut undoes,
/// the next start begins at the mark, above everything that was ever given out. Marks are multiples of the block, so that a
/// consumer knows that nothing was lost in between (`Config/asyncapi.yaml`).
struct Sequence: Equatable {
  /// How far apart marks are: one sync for so many records.
  static let block: UInt64 = 1 << 16

  /// The number that is given out next.
  private(set) var upcoming: UInt64
  private(set) var reserved: UInt64

  /// Goes on from what the store says.
  init(reserved: UInt64) {
    upcoming = max(1, reserved)
    self.reserved = upcoming
  }

  /// The mark that has to be made safe before `count` more numbers can be given out; nil when they can.
  func markNeeded(for count: Int) -> UInt64? {
    let end = upcoming + UInt64(count)
    return end <= reserved ? nil : (end / Self.block + 1) * Self.block
  }

  mutating func reserved(upTo mark: UInt64) { reserved = max(reserved, mark) }

  /// The next number; nil above the mark.
  mutating func next() -> UInt64? {
    guard upcoming < reserved else { return nil }
    defer { upcoming += 1 }
    return upcoming
  }
}

/// Hands out the places of records: the keys by which the store orders and finds them. Pure.
///
/// A record that moves gets a new place. Places are not sequence numbers, because consumers count a skipped sequence number as a lost
/// message.
struct Places {
  private var last: UInt64 = 0

  /// A place is in use.
  mutating func observe(_ place: UInt64) {
    if place < TemporarySequence.first { last = max(last, place) }
  }

  /// The place of a newly accepted record: its sequence number, unless that is below a place in use.
  mutating func next(atLeast seq: UInt64) -> UInt64 {
    guard seq < TemporarySequence.first else { return seq }
    last = max(last + 1, seq)
    return last
  }

  /// A place behind all others.
  mutating func next() -> UInt64 { next(atLeast: 0) }
}

/// Names for what is accepted while the store gives out no numbers: of an epoch that lives in memory only.
struct TemporarySequence {
  /// Above any number that a store gives out, and small enough for a JavaScript number.
  static let first: UInt64 = 1 << 52

  private var epoch = Store.newEpoch()
  private var upcoming = first
  /// Once one was given out, no others are until the store has what is in memory: places in memory only grow.
  private(set) var isInUse = false

  /// What is named next without a store.
  var identity: MessageIdentity { MessageIdentity(epoch: epoch, seq: upcoming) }

  /// The store's next number as long as there are numbers below its mark.
  mutating func nextIdentity(_ store: Store?) -> MessageIdentity {
    if !isInUse, let store, let seq = store.sequence.next() {
      return MessageIdentity(epoch: store.epoch, seq: seq)
    }
    isInUse = true
    defer { upcoming += 1 }
    return identity
  }

  /// Goes on with the numbers in another epoch.
  mutating func beginEpoch() { epoch = Store.newEpoch() }

  /// Begins another epoch: what was named in this one is in the store.
  mutating func end() {
    epoch = Store.newEpoch()
    isInUse = false
  }
}

/// The store's own clock, in seconds: runs while the machine is powered on, sleep included, goes on after a
/// restart from where the store last saw it, and is never set. So an age is right however the wall clock
/// jumps; time spent switched off does not count.
struct StoreClock {
  private let offset: Int64

  /// - Parameter lastSeen: the largest reading in the store.
  init(lastSeen: Int64) { offset = lastSeen - SystemClock.boottime / 1_000_000_000 }

  var now: Int64 { offset + SystemClock.boottime / 1_000_000_000 }
}
