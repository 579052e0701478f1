internal import Fleet
internal import HTTPTypes
package import Hummingbird
internal import NIOCore
internal import Platform

/// The gate before all routes: it authenticates requests, and rejects those without permission.
package struct Gate: RouterMiddleware {
  package typealias Context = WebContext

  private let control: AccessControl
  /// True if the server itself uses TLS.
  private let isEncrypted: Bool

  package init(_ control: AccessControl, isEncrypted: Bool) {
    (self.control, self.isEncrypted) = (control, isEncrypted)
  }

  /// The maximum size of a body in bytes; regions of a whole country are smaller.
  package static let longestBody = 1 << 20
  /// The maximum size in bytes of the body of a login request.
  package static let longestLogin = 4096

  package func handle(
    _ request: Request, context: WebContext, next: (Request, WebContext) async throws -> Response
  ) async throws -> Response {
    let visitor = Visitor(request, peer: Address(context.remoteAddress), control, isEncrypted: isEncrypted)
    if let header = visitor.ignoredHeader {
      control.reportIgnored(header, from: Address(context.remoteAddress))
    }
    guard let path = RequestPath(request.uri.path) else { throw WebError.pathInvalid }
    let found = Result { () throws(WebError) in try visitor.identify() }
    let who = try? found.get()
    try limit(visitor, who)
    // A path without a route requires no protection; a later middleware answers it with 404 or 405.
    guard context.hasRoute else { return try await next(request, context) }
    var context = context
    context.principal = who?.principal
    context.access = RequestAccess(
      identity: who?.identity ?? .local, address: visitor.client, isEncrypted: visitor.isEncrypted,
      proof: who?.proof, control: control)
    let isChange = ![.get, .head, .options].contains(request.method)
    // A login requires only a name and a password, but must not be sent by a page of another server.
    let isLogin = path.interface == ["session"] && request.method == .post
    if isLogin {
      try visitor.checkOrigin()
      return try await next(limited(request, to: Self.longestLogin), context)
    }
    guard path.isProtected || isChange else { return try await next(request, context) }
    let entry = try found.get()
    guard let entry else { throw WebError.loginRequired }
    guard isChange else {
      try Permission.check(path, request.method, entry.principal)
      if entry.identity.isAmbient { try visitor.checkSite() }
      return try await next(request, context)
    }
    return try await change(request, context, path, visitor, entry, next)
  }

  private func limit(_ visitor: Visitor, _ who: Visitor.Entry?) throws(WebError) {
    // While no login is configured, local clients have no rate limit.
    if who?.identity == .local { return }
    let wait = who.map { control.waitOfPrincipal($0.principal) } ?? control.waitOfAddress(visitor.client)
    if wait > 0 { throw .tooManyRequests(seconds: wait) }
  }

  /// Handles a request that changes something: checks its origin, CSRF token and permission, and writes an
  /// audit entry for any outcome.
  private func change(
    _ request: Request, _ context: WebContext, _ path: RequestPath, _ visitor: Visitor,
    _ entry: Visitor.Entry,
    _ next: (Request, WebContext) async throws -> Response
  ) async throws -> Response {
    let isAudited = Permission.isAudited(path)
    var line = AuditEntry(
      action: "\(request.method.rawValue) /\(path.parts.joined(separator: "/"))", who: entry.principal.name,
      from: visitor.client.description, vehicles: Permission.vehicle(path).map { [$0.description] } ?? [],
      outcome: "done")
    defer { if isAudited { control.audit.record(line) } }
    do {
      if entry.identity.isAmbient {
        try visitor.checkSite()
        try visitor.checkOrigin()
        try visitor.checkProof(entry.proof)
      }
      try Permission.check(path, request.method, entry.principal)
      if isAudited, !control.audit.hasRoom { throw WebError.auditFull }
      let response = try await next(limited(request, to: Self.longestBody), context)
      line.status = response.status.code
      if response.status.kind != .successful { line.outcome = "refused" }
      line.detail = context.access?.note.detail
      line.add(context.access?.note.vehicles)
      return response
    } catch {
      let refusal = error as? WebError
      line.status = refusal?.status.code ?? (error as? any HTTPResponseError)?.status.code
      line.outcome = refusal?.code ?? "refused"
      line.detail = context.access?.note.detail
      line.add(context.access?.note.vehicles)
      throw error
    }
  }

  /// Returns the request after reading its whole body. The size limit applies to all routes.
  private func limited(_ request: Request, to limit: Int) async throws -> Request {
    if let length = request.headers[.contentLength].flatMap({ Int($0) }), length > limit {
      throw WebError.bodyTooLarge
    }
    var request = request
    do {
      _ = try await request.collectBody(upTo: limit)
    } catch is NIOTooManyBytesError {
      throw WebError.bodyTooLarge
    }
    return request
  }
}

extension HTTPField.Name {
  static let csrfToken = HTTPField.Name("X-CSRF-Token")
  static let forwardedFor = HTTPField.Name("X-Forwarded-For")
  static let forwardedHost = HTTPField.Name("X-Forwarded-Host")
  static let forwardedProtocol = HTTPField.Name("X-Forwarded-Proto")
  static let fetchSite = HTTPField.Name("Sec-Fetch-Site")
}
