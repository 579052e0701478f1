package import Fleet
package import Hummingbird
package import NIOCore

/// The context of a request, passed from the middlewares to its route.
package struct WebContext: RequestContext, RemoteAddressRequestContext {
  package var coreContext: CoreRequestContextStorage
  package var remoteAddress: SocketAddress? { channel.remoteAddress }
  /// The client's connection.
  package let channel: any Channel
  /// The authenticated sender; nil before the gate, and behind it for routes without login.
  package var principal: Principal?
  /// The access data and audit details; nil before the gate.
  package var access: RequestAccess?

  package init(source: ApplicationRequestContextSource) {
    coreContext = .init(source: source)
    channel = source.channel
  }

  /// True if the router has found a route, which it does before the middlewares.
  var hasRoute: Bool { endpointPath != nil }

  /// Returns the principal.
  ///
  /// - Throws: 401 without a login, and for a route that is mistakenly before the gate.
  package func requirePrincipal() throws(WebError) -> Principal {
    guard let principal else { throw .loginRequired }
    return principal
  }

  /// Returns the vehicle named by `{fleet}` and `{vehicle}`, if it is visible.
  /// - Throws: 401 without a login; 404 for a vehicle that is not visible, whether it exists or not.
  package func requireVehicle() throws(WebError) -> VehicleKey {
    let principal = try requirePrincipal()
    let key = try vehicleKey()
    guard principal.sees(key) else { throw .notFound("vehicle \(key)") }
    return key
  }

  /// Returns the principal with the operator role.
  ///
  /// - Throws: 401 without a login, and 403 for a read-only user.
  func requireOperator() throws(WebError) -> Principal {
    let principal = try requirePrincipal()
    guard principal.role == .operate else { throw .roleTooLow }
    return principal
  }

  /// Returns the visible vehicle for a change.
  /// - Throws: 403 for a read-only user.
  package func requireVehicleToOperate() throws(WebError) -> VehicleKey {
    let key = try requireVehicle()
    _ = try requireOperator()
    return key
  }
}
