package import Fleet
internal import Platform

/// The access data of a request, which the gate passes to the routes in addition to the principal.
package struct RequestAccess: Sendable {
  package let identity: Identity
  /// The client's address behind trusted proxies.
  package let address: Address
  /// True if the client's connection is encrypted, here or at a trusted proxy.
  package let isEncrypted: Bool
  /// The required value of `X-CSRF-Token`; nil if none is required.
  package let proof: String?
  package let note = AuditNote()
  let control: AccessControl
}

/// The audit details of a request, added by its route.
package final class AuditNote: Sendable {
  private let content = Locked<(detail: String?, vehicles: [String])>((nil, []))

  var detail: String? { content.withLock { $0.detail } }
  var vehicles: [String] { content.withLock { $0.vehicles } }

  /// Adds details.
  ///
  /// - Parameters:
  ///   - detail: the request, such as a command's name; no secrets.
  ///   - vehicles: the vehicles, if they are not in the path.
  package func add(detail: String? = nil, vehicles: [VehicleKey] = []) {
    content.withLock { content in
      content.detail = detail ?? content.detail
      content.vehicles += vehicles.map(\.description)
    }
  }
}

/// The permission of an open stream, checked before each of its events.
package struct AccessGrant: Sendable {
  private let principal: Principal
  private let identity: Identity
  private let control: AccessControl

  init(_ principal: Principal, _ access: RequestAccess) {
    (self.principal, identity, control) = (principal, access.identity, access.control)
  }

  /// Returns the reason for the stream's final event `bye` if access has ended; nil while it continues. The
  /// check counts as a use of the session.
  package func ending() -> String? {
    guard let now = control.principal(of: identity, at: .now) else { return "login-required" }
    return now == principal ? nil : "access-changed"
  }
}

extension WebContext {
  /// Adds details to the audit entry of this request, which the gate writes: see `AuditNote.add`.
  package func note(detail: String? = nil, vehicles: [VehicleKey] = []) {
    access?.note.add(detail: detail, vehicles: vehicles)
  }

  /// The permission to check before each event of a stream; nil for a request that has not passed the gate.
  package var grant: AccessGrant? {
    guard let principal, let access else { return nil }
    return AccessGrant(principal, access)
  }
}
