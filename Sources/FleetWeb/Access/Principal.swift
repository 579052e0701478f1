package import Fleet

/// The role of a user.
package enum Role: String, Hashable, Sendable, Comparable, CaseIterable {
  /// Read-only access.
  case view
  /// Access that includes commands, settings and regions for vehicles.
  case operate

  package static func < (a: Self, b: Self) -> Bool { a == .view && b == .operate }
}

/// The vehicles that a user can see.
package struct Scope: Hashable, Sendable {
  /// The fleets whose vehicles are all visible; nil for all fleets.
  package var fleets: Set<String>?
  /// Additional single vehicles.
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

/// The authenticated sender of a request. Responses and stream events contain only what this sender may see.
package struct Principal: Hashable, Sendable {
  /// The name for display and audit: of a user, a token or a link; `local` without a login.
  package var name: String
  package var role: Role
  package var scope: Scope
  /// True for the holder of a link to one vehicle, who only sees its current state.
  package var isLink: Bool

  package init(name: String, role: Role, scope: Scope, isLink: Bool = false) {
    (self.name, self.role, self.scope, self.isLink) = (name, role, scope, isLink)
  }

  /// The principal of local requests while no login is configured.
  package static let local = Principal(name: "local", role: .operate, scope: .all)

  /// The name by which shared resources are limited per login; nil for the local principal, which is not
  /// limited.
  var asker: String? { self == .local ? nil : name }

  package func sees(_ key: VehicleKey) -> Bool { scope.contains(key) }
}
