internal import Spatial

/// Gives the samples of a batch that share one stamp, that of the last, times of their own: as many equal steps as the batch has
/// samples, since the batch before. Where every sample has a stamp, nothing changes.
struct BatchClock: Hashable, Sendable {
  private var stamp: Timestamp?
  /// Of the newest sample in its batch.
  private var index = 0
  /// Samples of the batch before, and what that makes of a batch; one where every sample has a stamp.
  private var lastSize = 1
  private var size = 1
  /// s
  private var period = 0.0

  /// The time of a sample by its stamp. The first batches keep theirs, until two in a row have shown that they are batches.
  @inline(__always)
  mutating func time(of stamp: Timestamp) -> Timestamp {
    guard let last = self.stamp else {
      self.stamp = stamp
      return stamp
    }
    // Stamps of their own need nothing.
    if stamp > last, index == 0, lastSize == 1 {
      self.stamp = stamp
      return stamp
    }
    return timeInBatch(stamp, after: last)
  }

  private mutating func timeInBatch(_ stamp: Timestamp, after last: Timestamp) -> Timestamp {
    if stamp == last {
      index += 1
    } else {
      let complete = stamp > last ? index + 1 : 1
      size = min(complete, lastSize) > 1 ? complete : 1
      lastSize = complete
      let new = stamp.seconds(since: last) / Double(size)
      // A batch that was lost does not stretch those that were not.
      period = size > 1 && period > 0 ? min(new, 1.5 * period) : size > 1 ? new : 0
      (self.stamp, index) = (stamp, 0)
    }
    guard size > 1 else { return stamp }
    return stamp.advanced(bySeconds: Double(index - size + 1) * period)
  }
}
