package import Fleet

/// Links that show one vehicle to whoever has them, for a while. Pure: times are nanoseconds since 1970.
package struct ShareTable: Sendable {
  package struct Share: Hashable, Sendable {
    package var vehicle: VehicleKey
    /// Who made it: the link ends when they no longer see the vehicle.
    package var maker: String
    package var began: Int64
    package var end: Int64

    package init(vehicle: VehicleKey, maker: String, began: Int64, end: Int64) {
      (self.vehicle, self.maker, self.began, self.end) = (vehicle, maker, began, end)
    }
  }

  /// Seconds that a link lasts.
  package static let seconds: ClosedRange<Double> = 60...30 * 86_400
  /// Links at most.
  package static let capacity = 1000

  package private(set) var shares: [SecretDigest: Share] = [:]

  package init() {}

  /// Adds a link.
  /// - Returns: false when there is no room: none that holds is dropped for another.
  package mutating func add(_ digest: SecretDigest, _ share: Share, at now: Int64) -> Bool {
    expire(at: now)
    guard shares.count < Self.capacity else { return false }
    shares[digest] = share
    return true
  }

  /// nil for none, and for one that is over.
  package func share(_ digest: SecretDigest, at now: Int64) -> Share? {
    guard let share = shares[digest], now < share.end else { return nil }
    return share
  }

  /// A link's name for people and lists: the first digits of its digest, which open nothing.
  package static func name(_ digest: SecretDigest) -> String { String(digest.hexadecimal.prefix(16)) }

  package func digest(named name: String) -> SecretDigest? { shares.keys.first { Self.name($0) == name } }

  @discardableResult
  package mutating func remove(_ digest: SecretDigest) -> Share? { shares.removeValue(forKey: digest) }

  mutating func keep(where holds: (Share) -> Bool) { shares = shares.filter { holds($0.value) } }

  package mutating func expire(at now: Int64) { shares = shares.filter { now < $0.value.end } }
}
