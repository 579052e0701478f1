package import Spatial

/// A rate limiter: a token bucket for each key. A pure value type.
package struct RequestLimits<Key: Hashable & Sendable>: Sendable {
  private struct Bucket {
    var level: Double
    var time: Timestamp
  }

  /// The long-term rate in requests per second.
  package var rate: Double
  /// The maximum number of requests in a burst.
  package var burst: Double
  private let capacity: Int
  private var buckets: [Key: Bucket] = [:]

  /// Creates a limiter.
  ///
  /// - Parameter capacity: the maximum number of keys; full buckets are dropped first, then the least
  ///   recently used.
  package init(rate: Double, burst: Double, capacity: Int = 8192) {
    self.rate = max(rate, 0.001)
    self.burst = max(burst, 1)
    self.capacity = max(capacity, 4)
  }

  package var count: Int { buckets.count }

  private func filled(_ bucket: Bucket, at now: Timestamp) -> Double {
    min(burst, bucket.level + max(0, now.seconds(since: bucket.time)) * rate)
  }

  /// Counts a request of a key if it is within the limit.
  /// - Returns: the seconds until the key's next request is allowed; 0 if this request is allowed.
  package mutating func take(_ key: Key, at now: Timestamp) -> Double {
    let level = buckets[key].map { filled($0, at: now) } ?? burst
    guard level >= 1 else {
      buckets[key] = Bucket(level: level, time: now)
      return (1 - level) / rate
    }
    if buckets[key] == nil, buckets.count >= capacity { prune(at: now) }
    buckets[key] = Bucket(level: level - 1, time: now)
    return 0
  }

  private mutating func prune(at now: Timestamp) {
    buckets = buckets.filter { filled($0.value, at: now) < burst }
    guard buckets.count >= capacity else { return }
    let kept = buckets.sorted { $0.value.time > $1.value.time }.prefix(capacity * 3 / 4)
    buckets = Dictionary(uniqueKeysWithValues: kept.map { ($0.key, $0.value) })
  }
}
