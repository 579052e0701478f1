package import Fleet

/// What somebody may do.
package enum Role: String, Hashable, Sendable, Comparable, CaseIterable {
  /// Sees, and changes nothing.
  case view
  /// Sends commands, settings and regions to vehicles too.
  case operate

  package static func < (a: Self, b: Self) -> Bool { a == .view && b == .operate }
}

/// Which vehicles somebody sees.
package struct Scope: Hashable, Sendable {
  /// Fleets of which all vehicles are seen; nil for every fleet.
  package var fleets: Set<String>?
  /// Single vehicles that are seen beside them.
  package var vehicles: Set<VehicleKey> = []

  package init(fleets: Set<String>?, vehicles: Set<VehicleKey> = []) {
    (self.fleets, self.vehicles) = (fleets, vehicles)
  }

  package static let all = Scope(fleets: nil)

  package func contains(_ key: VehicleKey) -> Bool {
    guard let fleets else { return true }
    return fleets.contains(key.fleet) || vehicles.contains(key)
  }
}

/// Who asks, as the server has found out: each answer and each event is made for one.
package struct Principal: Hashable, Sendable {
  /// For people and the audit: a user's, a token's or a link's name; `local` without a login.
  package var name: String
  package var role: Role
  package var scope: Scope
  /// Whether it is whoever has a link to one vehicle, who sees that as it is now and nothing else.
  package var isLink: Bool

  package init(name: String, role: Role, scope: Scope, isLink: Bool = false) {
    (self.name, self.role, self.scope, self.isLink) = (name, role, scope, isLink)
  }

  /// Whoever comes by the loopback interface while no login is configured.
  package static let local = Principal(name: "local", role: .operate, scope: .all)

  /// Of what is for all who ask, whose share something is; nil where there is nobody to share with.
  var asker: String? { self == .local ? nil : name }

  package func sees(_ key: VehicleKey) -> Bool { scope.contains(key) }
}
