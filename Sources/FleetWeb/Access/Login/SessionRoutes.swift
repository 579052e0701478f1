internal import Fleet
internal import HTTPTypes
package import Hummingbird
internal import JSON
internal import NIOCore
internal import Platform
internal import Spatial

/// `/session` and `/shares` of the API: logging in and out, who one is, and links to a vehicle.
package struct SessionRoutes: RouteGroup {
  let control: AccessControl

  package init(_ control: AccessControl) { self.control = control }

  package func add(to router: RouterGroup<WebContext>) {
    router.get("session") { _, context in try answer(context, .init()) }
    router.post("session") { request, context in try await logIn(request, context) }
    router.delete("session") { _, context in try logOut(context) }
    router.get("shares") { _, context in try shares(context) }
    router.post("shares") { request, context in try await share(request, context) }
    router.delete("shares/{name}") { _, context in try revoke(context) }
  }

  /// Adds what stands outside of the API: the place that links lead to.
  package func add(toRoot router: Router<WebContext>) {
    router.get("s/{secret}") { _, context in try enter(context) }
  }

  private static func json(_ status: HTTPResponse.Status, _ body: [UInt8], _ headers: HTTPFields = .init()) -> Response {
    var headers = headers
    headers[.contentType] = "application/json"
    // Who is logged in is nobody's to keep.
    headers[.cacheControl] = "no-store"
    return Response(status: status, headers: headers, body: .init(byteBuffer: ByteBuffer(bytes: body)))
  }

  /// The members of a request's body.
  /// - Throws: `WebError` for another type, and for what is no JSON object.
  private static func body(_ request: Request) async throws -> JSONValue {
    // A form of another server's page cannot say this.
    let type = request.headers[.contentType]?.prefix { $0 != ";" }.lowercased()
    guard type == "application/json" else {
      throw WebError(.unsupportedMediaType, "unsupported-media-type", "the body is JSON, and Content-Type says so")
    }
    let bytes = try await Array(buffer: request.body.collect(upTo: Gate.longestLogin))
    do throws(JSONError) {
      let value = try JSONValue(parsing: bytes)
      guard case .object = value else { throw JSONError("it is no object") }
      return value
    } catch {
      throw WebError(.badRequest, "invalid-body", "the body cannot be read: \(error.description)")
    }
  }

  // MARK: Sessions

  private func answer(_ context: WebContext, _ headers: HTTPFields) throws -> Response {
    let principal = try context.requirePrincipal()
    let access = context.access
    let end = access.flatMap { control.end(of: $0.identity) }
    let body = JSONWriter.object { writer in
      writer.field("name", principal.name)
      writer.field("role", principal.role.rawValue)
      writer.field("scope") { writer in
        if let fleets = principal.scope.fleets { writer.field("fleets", texts: fleets.sorted()) }
        writer.field("vehicles", texts: principal.scope.vehicles.sorted().map(\.description))
      }
      writer.field("csrf", access?.proof)
      writer.field("login", control.configuration.hasLogin)
      writer.field("link", principal.isLink ? true : nil)
      writer.field("expires", end.map { UTCTime(nanoseconds: $0).rfc3339 })
    }
    return Self.json(.ok, body, headers)
  }

  private func logIn(_ request: Request, _ context: WebContext) async throws -> Response {
    guard let access = context.access else { throw WebError.loginRequired }
    let body = try await Self.body(request)
    guard let name = body["name"]?.string, let password = body["password"]?.string else {
      throw WebError(.badRequest, "invalid-body", "the body has name and password")
    }
    // A name as long as a body would make the tables of delays as large.
    guard name.utf8.count <= AccessConfiguration.longestName else { throw WebError.loginWrong }
    let address = access.address
    var line = AuditEntry(action: "login", who: name, from: address.description, outcome: "done")
    do throws(WebError) {
      let login = try await control.logIn(
        name: name, password: password, from: address, replacing: access.identity)
      control.audit.record(line)
      return try begin(login, context, access)
    } catch {
      line.outcome = error.code
      line.status = error.status.code
      control.audit.record(line)
      throw error
    }
  }

  private func begin(
    _ login: AccessControl.Login, _ context: WebContext, _ access: RequestAccess
  ) throws(WebError) -> Response {
    var context = context
    context.principal = login.principal
    context.access = RequestAccess(
      identity: login.identity, address: access.address, isEncrypted: access.isEncrypted,
      proof: control.proof(of: login.identity, cookie: login.cookie), control: control)
    let cookie = SessionCookie.header(
      .user, login.cookie, seconds: Int(control.configuration.sessionLongest), isEncrypted: access.isEncrypted)
    do { return try answer(context, [.setCookie: cookie]) } catch { throw .loginRequired }
  }

  private func logOut(_ context: WebContext) throws -> Response {
    let principal = try context.requirePrincipal()
    guard let access = context.access else { throw WebError.loginRequired }
    control.logOut(access.identity)
    control.audit.record(
      AuditEntry(action: "logout", who: principal.name, from: access.address.description, outcome: "done"))
    let cookie = SessionCookie.header(
      principal.isLink ? .link : .user, "", seconds: 0, isEncrypted: access.isEncrypted)
    return Response(status: .noContent, headers: [.setCookie: cookie])
  }

  // MARK: Links

  private func shares(_ context: WebContext) throws -> Response {
    let principal = try context.requirePrincipal()
    let shares = control.shares(seenBy: principal)
    let body = JSONWriter.object { writer in
      writer.key("shares")
      writer.openArray()
      for (name, share) in shares {
        writer.openObject()
        writer.field("id", name)
        writer.field("fleet", share.vehicle.fleet)
        writer.field("vehicle", share.vehicle.vehicle)
        writer.field("by", share.maker)
        writer.field("began", UTCTime(nanoseconds: share.began).rfc3339)
        writer.field("expires", UTCTime(nanoseconds: share.end).rfc3339)
        writer.closeObject()
      }
      writer.closeArray()
    }
    return Self.json(.ok, body)
  }

  private func share(_ request: Request, _ context: WebContext) async throws -> Response {
    let principal = try context.requirePrincipal()
    guard principal.role >= .operate else { throw WebError.roleTooLow }
    let body = try await Self.body(request)
    guard let fleet = body["fleet"]?.string, let vehicle = body["vehicle"]?.string,
      let seconds = body["seconds"]?.double
    else {
      throw WebError(.badRequest, "invalid-body", "the body has fleet, vehicle and seconds")
    }
    guard ShareTable.seconds.contains(seconds) else {
      throw WebError(
        .badRequest, "invalid-body",
        "a link lasts for \(Int(ShareTable.seconds.lowerBound)) to \(Int(ShareTable.seconds.upperBound)) seconds")
    }
    let key = VehicleKey(fleet: fleet, vehicle: vehicle)
    guard principal.sees(key) else { throw WebError.notFound("vehicle \(key)") }
    guard let link = control.share(key, by: principal, seconds: seconds) else {
      throw WebError(
        .serviceUnavailable, "shares-full", "there are \(ShareTable.capacity) links already",
        remedy: "take some back with DELETE /api/v1/shares/ID")
    }
    let name = ShareTable.name(SecretDigest(of: link.secret))
    context.note(detail: "link \(name) for \(Int(seconds)) s", vehicles: [key])
    let answer = JSONWriter.object { writer in
      writer.field("id", name)
      writer.field("url", "/s/\(link.secret)")
      writer.field("expires", UTCTime(nanoseconds: link.end).rfc3339)
    }
    return Self.json(.created, answer)
  }

  private func revoke(_ context: WebContext) throws -> Response {
    let principal = try context.requirePrincipal()
    guard principal.role >= .operate else { throw WebError.roleTooLow }
    let name = try context.name("name")
    guard let share = control.revoke(name, by: principal) else {
      throw WebError.notFound("link of that id")
    }
    context.note(detail: "link \(name) taken back", vehicles: [share.vehicle])
    return Response(status: .noContent)
  }

  /// Opens a link in a browser: a cookie for it, and on to the page.
  private func enter(_ context: WebContext) throws -> Response {
    let secret = try context.name("secret")
    let from = context.access?.address.description ?? Address.unknown.description
    guard let access = context.access, let (login, vehicle) = control.enter(secret) else {
      control.audit.record(AuditEntry(action: "link", who: "unknown", from: from, outcome: "link-over"))
      return Response(
        status: .notFound, headers: [.contentType: "text/plain; charset=utf-8", .cacheControl: "no-store"],
        body: .init(byteBuffer: ByteBuffer(string: "This link is over, or was taken back.\n")))
    }
    control.audit.record(
      AuditEntry(
        action: "link", who: login.principal.name, from: from, vehicles: [vehicle.description], outcome: "done"))
    let end = control.end(of: login.identity) ?? 0
    let left = (end - SystemClock.realtime) / 1_000_000_000
    var headers: HTTPFields = [
      .location: "/#/vehicle/\(PercentEncoding.encoded(vehicle.fleet))/\(PercentEncoding.encoded(vehicle.vehicle))",
      .cacheControl: "no-store",
      .setCookie: SessionCookie.header(.link, login.cookie, seconds: Int(left), isEncrypted: access.isEncrypted),
    ]
    if let policy = HTTPField.Name("Referrer-Policy") { headers[policy] = "no-referrer" }
    return Response(status: .seeOther, headers: headers)
  }
}
