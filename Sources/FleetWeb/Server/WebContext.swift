package import Fleet
package import Hummingbird
package import NIOCore

/// What a request carries from the middlewares to its route.
package struct WebContext: RequestContext, RemoteAddressRequestContext {
  package var coreContext: CoreRequestContextStorage
  package var remoteAddress: SocketAddress? { channel.remoteAddress }
  /// The connection.
  package let channel: any Channel
  /// Who asks; nil before the gate has found out, and behind it for what nobody needs to log in for.
  package var principal: Principal?
  /// How they came in, and what the audit is told of the request; nil before the gate.
  package var access: RequestAccess?

  package init(source: ApplicationRequestContextSource) {
    coreContext = .init(source: source)
    channel = source.channel
  }

  /// Whether the router has found a route; it is asked before any.
  var hasRoute: Bool { endpointPath != nil }

  /// - Throws: 401 where nobody has logged in, and for a route that stands in front of the gate by mistake: nothing is told
  ///   then.
  package func requirePrincipal() throws(WebError) -> Principal {
    guard let principal else { throw .loginRequired }
    return principal
  }

  /// The vehicle that the address names by `{fleet}` and `{vehicle}`, for one who sees it.
  /// - Throws: 401 where nobody has logged in; 404 for a vehicle that the one who asks does not see, whether there is one or
  ///   not.
  package func requireVehicle() throws(WebError) -> VehicleKey {
    let principal = try requirePrincipal()
    let key = try vehicleKey()
    guard principal.sees(key) else { throw .notFound("vehicle \(key)") }
    return key
  }

  /// - Throws: 401 where nobody has logged in, and 403 for who may only look.
  func requireOperator() throws(WebError) -> Principal {
    let principal = try requirePrincipal()
    guard principal.role == .operate else { throw .roleTooLow }
    return principal
  }

  /// The same for what changes a vehicle.
  /// - Throws: 403 for one who may only look.
  package func requireVehicleToOperate() throws(WebError) -> VehicleKey {
    let key = try requireVehicle()
    _ = try requireOperator()
    return key
  }
}
