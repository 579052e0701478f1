/// Hands out sequence numbers that never repeat. Pure.
///
/// A number is given out only below a mark that is already safe on the disk. So whatever a power cut undoes,
/// the next start begins at the mark, above everything that was ever given out.
struct Sequence: Equatable {
  /// How far ahead the mark is set: one sync for so many records.
  static let block: UInt64 = 1 << 16

  private(set) var next: UInt64
  private(set) var reserved: UInt64

  /// Goes on from what the store says.
  init(reserved: UInt64) {
    next = max(1, reserved)
    self.reserved = next
  }

  /// The mark that has to be made safe before `count` more numbers can be taken; nil when they can.
  func markNeeded(for count: Int) -> UInt64? {
    let end = next + UInt64(count)
    return end <= reserved ? nil : end + Self.block
  }

  mutating func reserved(upTo mark: UInt64) { reserved = max(reserved, mark) }

  /// The next number; nil above the mark.
  mutating func take() -> UInt64? {
    guard next < reserved else { return nil }
    defer { next += 1 }
    return next
  }
}
