package import Fleet
package import Spatial

/// The links that show a vehicle to their holders for a limited time. A pure value type.
package struct ShareTable: Sendable {
  package struct Share: Hashable, Sendable {
    package var vehicle: VehicleKey
    /// The creator; the link ends when the creator can no longer see the vehicle.
    package var maker: String
    package var began: UTCTime
    package var end: UTCTime

    package init(vehicle: VehicleKey, maker: String, began: UTCTime, end: UTCTime) {
      (self.vehicle, self.maker, self.began, self.end) = (vehicle, maker, began, end)
    }
  }

  /// The permitted lifetimes of a link in seconds.
  package static let seconds: ClosedRange<Double> = 60...30 * 86_400
  /// The maximum number of links.
  package static let capacity = 1000

  package private(set) var shares: [SecretDigest: Share] = [:]

  package init() {}

  /// Adds a link.
  /// - Returns: false if the maximum is reached; active links are never dropped.
  package mutating func add(_ digest: SecretDigest, _ share: Share, at now: UTCTime) -> Bool {
    expire(at: now)
    guard shares.count < Self.capacity else { return false }
    shares[digest] = share
    return true
  }

  /// Returns a link; nil if there is none or it has ended.
  package func share(_ digest: SecretDigest, at now: UTCTime) -> Share? {
    guard let share = shares[digest], now < share.end else { return nil }
    return share
  }

  /// Returns a link's public name: the first digits of its digest, which grant no access.
  package static func name(_ digest: SecretDigest) -> String { String(digest.hexadecimal.prefix(16)) }

  package func digest(named name: String) -> SecretDigest? { shares.keys.first { Self.name($0) == name } }

  @discardableResult
  package mutating func remove(_ digest: SecretDigest) -> Share? { shares.removeValue(forKey: digest) }

  mutating func keep(where holds: (Share) -> Bool) { shares = shares.filter { holds($0.value) } }

  package mutating func expire(at now: UTCTime) { shares = shares.filter { now < $0.value.end } }
}
