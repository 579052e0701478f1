package import Hummingbird
package import HummingbirdCore
internal import NIOCore

/// Who may ask, and how that is found out.
package protocol AccessPolicy: Sendable {
  /// Whether somebody has to log in, so that other machines may reach the server.
  var requiresLogin: Bool { get }
  /// Whether the server is reached by TLS.
  var isSecure: Bool { get }
  /// Whether proxies are believed, one of which may encrypt in this server's place.
  var isBehindProxy: Bool { get }
  /// Puts `principal` into the context of each request of somebody who is known, or refuses the request.
  var gate: any MiddlewareProtocol<Request, Response, WebContext> { get }
  /// Routes below `/api/v1`, as for sessions.
  var interface: [any RouteGroup] { get }
  /// Routes at the root, as for share links.
  var roots: [any RouteGroup] { get }
  /// How connections are spoken over.
  func connections(_ limits: ConnectionLimits) -> HTTPServerBuilder
}

extension AccessPolicy {
  package var isBehindProxy: Bool { false }
  package var interface: [any RouteGroup] { [] }
  package var roots: [any RouteGroup] { [] }

  package func connections(_ limits: ConnectionLimits) -> HTTPServerBuilder {
    .http1(configuration: limits.configuration)
  }
}

/// Without a login, limits and audit, for programs and tests that put a server together by themselves: whoever is on this
/// machine may do everything, and nobody else gets through. `odograph serve` has `ConfiguredAccess`.
package struct LocalAccess: AccessPolicy {
  package init() {}

  package let requiresLogin = false
  package let isSecure = false
  package var gate: any MiddlewareProtocol<Request, Response, WebContext> { Gate() }

  private struct Gate: RouterMiddleware {
    func handle(
      _ request: Request, context: WebContext, next: (Request, WebContext) async throws -> Response
    ) async throws -> Response {
      // A page from elsewhere can let its own name lead to this machine, and would be answered as if it were ours.
      if let host = request.head.authority, !Self.isLocal(host) {
        throw WebError(
          .misdirectedRequest, "wrong-host", "this server is not \(host.prefix(100))",
          remedy: "ask for localhost, or configure a login and the server's name")
      }
      // Any page may have a browser send something here; only ours may change something by it.
      if request.method != .get, request.method != .head, let origin = request.headers[.origin],
        origin != "http://\(request.head.authority ?? "")"
      {
        throw WebError.forbidden("this comes from a page of \(origin.prefix(100))")
      }
      var context = context
      context.principal = .local
      return try await next(request, context)
    }

    private static func isLocal(_ authority: String) -> Bool {
      var host = Substring(authority)
      if host.hasPrefix("["), let end = host.firstIndex(of: "]") {
        host = host[host.index(after: host.startIndex)..<end]
      } else if let colon = host.lastIndex(of: ":") {
        host = host[..<colon]
      }
      return ListenAddress.isLoopback(String(host).lowercased())
    }
  }
}
