package import Hummingbird
package import HummingbirdCore
internal import NIOCore

/// The access policy of a server: authentication and permissions.
package protocol AccessPolicy: Sendable {
  /// True if a login is required, so that other machines may connect.
  var requiresLogin: Bool { get }
  /// True if the server uses TLS.
  var isSecure: Bool { get }
  /// True if trusted proxies are configured; such a proxy can terminate TLS.
  var isBehindProxy: Bool { get }
  /// The middleware that sets `principal` in the context of authenticated requests, and rejects others.
  var gate: any MiddlewareProtocol<Request, Response, WebContext> { get }
  /// The routes below `/api/v1`, such as sessions.
  var interface: [any RouteGroup] { get }
  /// The routes at the root, such as share links.
  var roots: [any RouteGroup] { get }
  /// Returns the transport for client connections, with limits for each connection.
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

/// An access policy without login, limits and audit, for programs and tests with their own server: local
/// clients have all permissions, and others are rejected. `odograph serve` uses `ConfiguredAccess`.
package struct LoopbackAccess: AccessPolicy {
  package init() {}

  package let requiresLogin = false
  package let isSecure = false
  package var gate: any MiddlewareProtocol<Request, Response, WebContext> { Gate() }

  private struct Gate: RouterMiddleware {
    func handle(
      _ request: Request, context: WebContext, next: (Request, WebContext) async throws -> Response
    ) async throws -> Response {
      // A page of another server can make that server's host name resolve to this machine (DNS rebinding).
      if let host = request.head.authority, !Self.isLocal(host) {
        throw WebError(
          .misdirectedRequest, "wrong-host", "this server is not \(host.prefix(100))",
          remedy: "use the host name localhost, or configure a login and the server's name")
      }
      // Any page can make a browser send requests; only a page of this server may send one that changes
      // something.
      if request.method != .get, request.method != .head, let origin = request.headers[.origin],
        origin != "http://\(request.head.authority ?? "")"
      {
        throw WebError.forbidden("the request is from a page of \(origin.prefix(100))")
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
