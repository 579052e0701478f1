package import Fleet
internal import Platform

/// How a request came in: what the gate hands to the routes beside the principal.
package struct RequestAccess: Sendable {
  package let identity: Identity
  /// The client's, behind the proxies that are believed.
  package let address: Address
  /// Whether the client's connection is encrypted, here or at a proxy that is believed.
  package let isEncrypted: Bool
  /// What `X-CSRF-Token` must say; nil where nothing must.
  package let proof: String?
  package let note = AuditNote()
  let control: AccessControl
}

/// What the audit says of a request beside who made it, filled in by its route.
package final class AuditNote: Sendable {
  private let content = Locked<(detail: String?, vehicles: [String])>((nil, []))

  var detail: String? { content.withLock { $0.detail } }
  var vehicles: [String] { content.withLock { $0.vehicles } }

  /// - Parameters:
  ///   - detail: what is asked for, as a command's name; no secrets.
  ///   - vehicles: which it is for, where the path does not say so.
  package func add(detail: String? = nil, vehicles: [VehicleKey] = []) {
    content.withLock { content in
      content.detail = detail ?? content.detail
      content.vehicles += vehicles.map(\.description)
    }
  }
}

/// Whether who opened a stream may still see what it sees; asked before each of its events.
package struct AccessGrant: Sendable {
  private let principal: Principal
  private let identity: Identity
  private let control: AccessControl

  init(_ principal: Principal, _ access: RequestAccess) {
    (self.principal, identity, control) = (principal, access.identity, access.control)
  }

  /// Why it is over, for the stream's `bye`; nil while it holds. A stream that asks counts as a use of its session.
  package func ending() -> String? {
    guard let now = control.principal(of: identity, at: SystemClock.realtime) else { return "login-required" }
    return now == principal ? nil : "access-changed"
  }
}

extension WebContext {
  /// For the audit's line about this request, which the gate writes: see `AuditNote.add`.
  package func note(detail: String? = nil, vehicles: [VehicleKey] = []) {
    access?.note.add(detail: detail, vehicles: vehicles)
  }

  /// What a stream asks before each event; nil in front of the gate.
  package var grant: AccessGrant? {
    guard let principal, let access else { return nil }
    return AccessGrant(principal, access)
  }
}
