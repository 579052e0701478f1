/// How long one waits after wrong passwords. Pure: times are nanoseconds of any clock that only goes forward.
///
/// Three counts, of which the longest wait holds: of a user from an address, of an address for all users, and of a user from all
/// addresses. Only the last could be turned against somebody: it is short, and an address from which the user has logged in
/// before does not wait for it.
package struct LoginDelays: Sendable {
  private enum Key: Hashable {
    case pair(String, Address)
    case address(Address)
    case user(String)
  }

  private struct Count {
    var failures: Int
    var last: Int64
  }

  private struct Rule {
    /// Failures that cost nothing: people mistype.
    var free: Int
    /// Nanoseconds at most; the first wait is one second, and each further failure doubles it.
    var longest: Int64
  }

  private static let second: Int64 = 1_000_000_000
  /// Counts are forgotten so long after the last failure.
  private static let memory = 3600 * second
  /// Entries at most; the oldest quarter goes when there are more.
  package static let capacity = 8192

  private var counts: [Key: Count] = [:]
  /// Addresses from which a user has logged in, with the last time.
  private var known: [Key: Int64] = [:]

  package init() {}

  package var count: Int { counts.count + known.count }

  private func rule(_ key: Key) -> Rule {
    switch key {
    // At four guesses an hour a password of eight random letters lasts for as long as anybody cares.
    case .pair: Rule(free: 5, longest: 900 * Self.second)
    // Many people may be behind one address.
    case .address: Rule(free: 20, longest: 900 * Self.second)
    // Guesses from many addresses: 120 an hour in all.
    case .user: Rule(free: 50, longest: 30 * Self.second)
    }
  }

  private func wait(_ key: Key, at now: Int64) -> Int64 {
    guard let count = counts[key], now - count.last < Self.memory else { return 0 }
    let rule = rule(key)
    guard count.failures >= rule.free else { return 0 }
    let doublings = min(count.failures - rule.free, 20)
    return max(0, count.last + min(rule.longest, Self.second << Int64(doublings)) - now)
  }

  /// An attempt was let in, and no password was looked at: it counts for nothing.
  package mutating func takeBack(user: String, from address: Address) {
    for key in [Key.pair(user, address), .address(address), .user(user)] {
      if let failures = counts[key]?.failures, failures > 0 { counts[key]?.failures = failures - 1 }
    }
  }

  /// Asks whether a password may be tried. An attempt that may counts as wrong until `succeed`, so that many at once are no
  /// way around the count; one that must wait counts for nothing.
  /// - Returns: how many nanoseconds to wait, 0 to go on.
  package mutating func attempt(user: String, from address: Address, at now: Int64) -> Int64 {
    let pair = Key.pair(user, address)
    var keys = [pair, .address(address)]
    if known[pair] == nil { keys.append(.user(user)) }
    let longest = keys.map { wait($0, at: now) }.max() ?? 0
    guard longest == 0 else { return longest }
    for key in keys {
      var count = counts[key] ?? Count(failures: 0, last: now)
      if now - count.last >= Self.memory { count.failures = 0 }
      count.failures += 1
      count.last = now
      counts[key] = count
    }
    prune(at: now)
    return 0
  }

  /// The attempt was right after all.
  package mutating func succeed(user: String, from address: Address, at now: Int64) {
    counts[.pair(user, address)] = nil
    for key in [Key.address(address), .user(user)] {
      guard let count = counts[key] else { continue }
      counts[key] = count.failures > 1 ? Count(failures: count.failures - 1, last: count.last) : nil
    }
    known[.pair(user, address)] = now
    prune(at: now)
  }

  private mutating func prune(at now: Int64) {
    if counts.count > Self.capacity {
      counts = counts.filter { now - $0.value.last < Self.memory }
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
