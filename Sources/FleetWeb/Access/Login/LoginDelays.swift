package import Spatial

/// The delays after wrong passwords. A pure value type.
///
/// Failures are counted by user and address, by address for all users, and by user for all addresses. The
/// longest of the three delays applies. Only the counter by user could be used to lock out a user. Its delay
/// is therefore short, and does not apply to addresses from which the user has logged in before.
package struct LoginDelays: Sendable {
  private enum Key: Hashable {
    case pair(String, Address)
    case address(Address)
    case user(String)
  }

  private struct Count {
    var failures: Int
    var last: Timestamp
  }

  private struct Rule {
    /// The number of failures without a delay, for typing errors.
    var free: Int
    /// The maximum delay in s. The first delay is one second, and each further failure doubles it.
    var longest: Double
  }

  /// The time in s after the last failure at which a counter is deleted.
  private static let memory = 3600.0
  /// The maximum number of counters, and of remembered addresses; beyond it, the oldest quarter is dropped.
  package static let capacity = 8192

  private var counts: [Key: Count] = [:]
  /// The addresses from which a user has logged in, with the time of the last login.
  private var known: [Key: Timestamp] = [:]

  package init() {}

  package var count: Int { counts.count + known.count }

  private func rule(_ key: Key) -> Rule {
    switch key {
    // At four guesses an hour, a password of eight random letters is safe.
    case .pair: Rule(free: 5, longest: 900)
    // Many users can share an address.
    case .address: Rule(free: 20, longest: 900)
    // Limits guesses from many addresses to 120 per hour in total.
    case .user: Rule(free: 50, longest: 30)
    }
  }

  private func isRecent(_ count: Count, at now: Timestamp) -> Bool {
    now < count.last.advanced(bySeconds: Self.memory)
  }

  private func wait(_ key: Key, at now: Timestamp) -> Double {
    guard let count = counts[key], isRecent(count, at: now) else { return 0 }
    let rule = rule(key)
    guard count.failures >= rule.free else { return 0 }
    let doublings = min(count.failures - rule.free, 20)
    let end = count.last.advanced(bySeconds: min(rule.longest, Double(1 << doublings)))
    return max(0, end.seconds(since: now))
  }

  /// Reverts an attempt whose password was not checked.
  package mutating func takeBack(user: String, from address: Address) {
    for key in [Key.pair(user, address), .address(address), .user(user)] {
      if let failures = counts[key]?.failures, failures > 0 { counts[key]?.failures = failures - 1 }
    }
  }

  /// Starts an attempt. An accepted attempt counts as a failure until `succeed`, so that parallel attempts do
  /// not bypass the limit. An attempt that must wait does not count.
  /// - Returns: the seconds to wait; 0 if the attempt is accepted.
  package mutating func attempt(user: String, from address: Address, at now: Timestamp) -> Double {
    let pair = Key.pair(user, address)
    var keys = [pair, .address(address)]
    if known[pair] == nil { keys.append(.user(user)) }
    let longest = keys.map { wait($0, at: now) }.max() ?? 0
    guard longest == 0 else { return longest }
    for key in keys {
      var count = counts[key] ?? Count(failures: 0, last: now)
      if !isRecent(count, at: now) { count.failures = 0 }
      count.failures += 1
      count.last = now
      counts[key] = count
    }
    prune(at: now)
    return 0
  }

  /// Records the success of an attempt.
  package mutating func succeed(user: String, from address: Address, at now: Timestamp) {
    counts[.pair(user, address)] = nil
    for key in [Key.address(address), .user(user)] {
      guard let count = counts[key] else { continue }
      counts[key] = count.failures > 1 ? Count(failures: count.failures - 1, last: count.last) : nil
    }
    known[.pair(user, address)] = now
    prune(at: now)
  }

  private mutating func prune(at now: Timestamp) {
    if counts.count > Self.capacity {
      counts = counts.filter { isRecent($0.value, at: now) }
      if counts.count > Self.capacity * 3 / 4 {
        let kept = counts.sorted { $0.value.last > $1.value.last }.prefix(Self.capacity * 3 / 4)
        counts = Dictionary(uniqueKeysWithValues: kept.map { ($0.key, $0.value) })
      }
    }
    if known.count > Self.capacity {
      let kept = known.sorted { $0.value > $1.value }.prefix(Self.capacity * 3 / 4)
      known = Dictionary(uniqueKeysWithValues: kept.map { ($0.key, $0.value) })
    }
  }
}
