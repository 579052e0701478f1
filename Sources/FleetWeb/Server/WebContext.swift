package import Hummingbird
package import NIOCore

/// What a request carries from the middlewares to its route.
package struct WebContext: RequestContext, RemoteAddressRequestContext {
  package var coreContext: CoreRequestContextStorage
  package let remoteAddress: SocketAddress?
  /// Who asks; nil before the gate has found out, and behind it for what nobody needs to log in for.
  package var principal: Principal?

  package init(source: ApplicationRequestContextSource) {
    coreContext = .init(source: source)
    remoteAddress = source.channel.remoteAddress
  }

  /// - Throws: 401 for a route that stands in front of the gate by mistake: nothing is told then.
  package func requirePrincipal() throws -> Principal {
    guard let principal else { throw HTTPError(.unauthorized) }
    return principal
  }
}
