internal import Spatial

/// Assigns individual times to the samples of a batch that all have the time stamp of the batch's last
/// sample: equal steps since the previous batch. Samples with individual stamps are unchanged.
struct BatchClock: Hashable, Sendable {
  private var stamp: Timestamp?
  /// Index of the newest sample in its batch.
  private var index = 0
  /// Number of samples of the previous batch; 1 for individual stamps.
  private var lastSize = 1
  private var size = 1
  /// Interval between samples in s.
  private var period = 0.0

  /// Returns the time of a sample. The first batches keep their stamps, until two in a row have confirmed the
  /// batching.
  @inline(__always)
  mutating func time(of stamp: Timestamp) -> Timestamp {
    guard let last = self.stamp else {
      self.stamp = stamp
      return stamp
    }
    // Individual stamps are used unchanged.
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
      // After a lost batch, the time since the previous one is too long. It must not stretch the intervals of
      // the samples.
      period = size > 1 && period > 0 ? min(new, 1.5 * period) : size > 1 ? new : 0
      (self.stamp, index) = (stamp, 0)
    }
    guard size > 1 else { return stamp }
    return stamp.advanced(bySeconds: Double(index - size + 1) * period)
  }
}
