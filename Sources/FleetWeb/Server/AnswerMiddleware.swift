internal import Fleet
internal import FleetProgram
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore
internal import NIOHTTP1

/// A middleware that converts errors to the API's format.
struct ErrorAnswers: RouterMiddleware {
  func handle(
    _ request: Request, context: WebContext, next: (Request, WebContext) async throws -> Response
  ) async throws -> Response {
    do {
      return try await next(request, context)
    } catch let error as WebError {
      return try error.response(from: request, context: context)
    } catch let error as FleetError {
      return try WebError(error).response(from: request, context: context)
    } catch let error as HTTPError {
      return try WebError(error).response(from: request, context: context)
    } catch let error as any HTTPResponseError {
      return try WebError(HTTPError(error.status)).response(from: request, context: context)
    } catch let error as HTTPParserError {
      // An error of the parser in the middle of a body is handled by the connection's owner, which closes the
      // connection.
      throw error
    } catch is CancellationError {
      return try WebError.busy("the server ends").response(from: request, context: context)
    } catch {
      // An unexpected error is logged, and not sent to the client.
      StandardError.report("\(request.method.rawValue) \(request.uri.path.prefix(200)): \(error)")
      return try WebError(.internalServerError, "failed", "the server failed; see its log")
        .response(from: request, context: context)
    }
  }

}

/// A middleware that answers unknown paths and methods. It is behind the gate, which passes requests without
/// a route, so that they count for the rate limit.
struct UnknownAddresses: RouterMiddleware {
  let methods: MethodFinder

  func handle(
    _ request: Request, context: WebContext, next: (Request, WebContext) async throws -> Response
  ) async throws -> Response {
    guard !context.hasRoute else { return try await next(request, context) }
    throw await refusal(of: request, context)
  }

  private func refusal(of request: Request, _ context: WebContext) async -> WebError {
    let allowed = await methods.methods(of: request.uri.path, context)
    guard !allowed.isEmpty else { return .notFound("\(request.uri.path)") }
    let names = allowed.map(\.rawValue).joined(separator: ", ")
    return WebError(
      .methodNotAllowed, "method-not-allowed",
      "\(request.method.rawValue.prefix(20)) is not allowed for this path",
      remedy: "allowed: \(names)", headers: [.allow: names])
  }
}

/// The methods of a path. The router does not report them, so a second router is queried, whose routes do
/// nothing.
struct MethodFinder: Sendable {
  private let responder: RouterResponder<WebContext>

  /// Creates the finder.
  ///
  /// - Parameter addRoutes: adds the routes.
  init(_ addRoutes: (Router<WebContext>) -> Void) {
    let router = Router(context: WebContext.self, options: .autoGenerateHeadEndpoints)
    router.add(middleware: Found())
    addRoutes(router)
    responder = router.buildResponder()
  }

  func methods(of path: String, _ context: WebContext) async -> [HTTPRequest.Method] {
    var known: [HTTPRequest.Method] = []
    for method in [HTTPRequest.Method.get, .head, .post, .put, .patch, .delete] {
      let head = HTTPRequest(method: method, scheme: nil, authority: nil, path: path)
      let request = Request(head: head, body: .init(buffer: ByteBuffer()))
      var asked = context
      asked.coreContext.endpointPath = .init()
      let answer = try? await responder.respond(to: request, context: asked)
      if answer?.status == .noContent { known.append(method) }
    }
    return known
  }

  private struct Found: RouterMiddleware {
    func handle(
      _ request: Request, context: WebContext, next: (Request, WebContext) async throws -> Response
    ) async throws -> Response {
      Response(status: context.endpointPath == nil ? .notFound : .noContent)
    }
  }
}

/// A middleware that adds security headers to every response: only content of this server may run, load or
/// embed it.
struct SecurityHeaders: RouterMiddleware {
  private let policy: String
  private let isSecure: Bool

  /// Creates the middleware.
  ///
  /// - Parameters:
  ///   - imageOrigins: the additional origins of map tiles, such as `https://tile.example.org`.
  ///   - isSecure: true if clients connect with TLS.
  init(imageOrigins: [String], isSecure: Bool) {
    let images = (["'self'", "data:"] + imageOrigins).joined(separator: " ")
    policy =
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src \(images); connect-src 'self'; "
      + "font-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    self.isSecure = isSecure
  }

  func handle(
    _ request: Request, context: WebContext, next: (Request, WebContext) async throws -> Response
  ) async throws -> Response {
    var response = try await next(request, context)
    response.headers[.contentSecurityPolicy] = policy
    response.headers[.xContentTypeOptions] = "nosniff"
    response.headers[.knownName("Referrer-Policy")] = "no-referrer"
    response.headers[.knownName("X-Frame-Options")] = "DENY"
    response.headers[.knownName("Cross-Origin-Opener-Policy")] = "same-origin"
    response.headers[.knownName("Cross-Origin-Resource-Policy")] = "same-origin"
    response.headers[.knownName("Permissions-Policy")] = "camera=(), geolocation=(self), microphone=()"
    if isSecure { response.headers[.strictTransportSecurity] = "max-age=31536000" }
    return response
  }
}
