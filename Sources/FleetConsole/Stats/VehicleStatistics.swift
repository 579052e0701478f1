internal import Fleet

/// What was counted of one vehicle.
struct VehicleStatistics: Sendable {
  let key: VehicleKey
  /// Live messages: what the broker had kept is counted apart.
  var messages = 0
  var bytes = 0
  var retained = 0
  var unreadable = 0
  var duplicates = 0
  var late = 0
  /// Stores that it had: each has a sequence of its own.
  var epochs = 0
  /// Seconds from the vehicle's clock to ours.
  var delaySum = 0.0
  var delayCount = 0
  var longestDelay = 0.0
  /// Missing numbers of former epochs: they will not come any more.
  private var lost: UInt64 = 0
  private var epoch: UInt64?
  private var formerEpoch: UInt64?
  private var sequence: SequenceGaps?

  init(key: VehicleKey) { self.key = key }

  /// Numbers that have not come.
  var missing: Int { Int(clamping: lost &+ (sequence?.missing ?? 0)) }

  var meanDelay: Double? { delayCount > 0 ? delaySum / Double(delayCount) : nil }

  mutating func note(epoch new: UInt64, seq: UInt64) {
    if new != epoch {
      // A copy of before the change says nothing about what is missing now.
      if new == formerEpoch { return }
      lost &+= sequence?.missing ?? 0
      formerEpoch = epoch
      epoch = new
      epochs += 1
      sequence = SequenceGaps(startingWith: seq)
      return
    }
    switch sequence?.note(seq) {
    case .duplicate: duplicates += 1
    case .late: late += 1
    case .next, .unknown, nil: break
    }
  }

  mutating func note(delay: Double) {
    delaySum += delay
    delayCount += 1
    longestDelay = max(longestDelay, delay)
  }
}
