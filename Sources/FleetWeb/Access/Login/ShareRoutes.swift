internal import Fleet
internal import HTTPTypes
package import Hummingbird
internal import JSON
internal import NIOCore
internal import Platform
internal import Spatial

/// The API route `/shares`: links to vehicles.
package struct ShareRoutes: RouteGroup {
  let control: AccessControl

  package init(_ control: AccessControl) { self.control = control }

  package func add(to router: RouterGroup<WebContext>) {
    router.get("shares") { _, context in try shares(context) }
    router.post("shares") { request, context in try await share(request, context) }
    router.delete("shares/{name}") { _, context in try await revoke(context) }
  }

  private func shares(_ context: WebContext) throws -> Response {
    let principal = try context.requirePrincipal()
    let shares = control.shares(seenBy: principal)
    let body = JSONWriter.object { writer in
      writer.field("shares", objects: shares) { writer, element in
        let (name, share) = element
        writer.field("id", name)
        writer.field("fleet", share.vehicle.fleet)
        writer.field("vehicle", share.vehicle.vehicle)
        writer.field("by", share.maker)
        writer.field("began", share.began.rfc3339)
        writer.field("expires", share.end.rfc3339)
      }
    }
    return Response.private(body)
  }

  private func share(_ request: Request, _ context: WebContext) async throws -> Response {
    let principal = try context.requirePrincipal()
    guard principal.role >= .operate else { throw WebError.roleTooLow }
    let body = try await request.json(upTo: Gate.longestLogin)
    guard let fleet = body["fleet"]?.string, let vehicle = body["vehicle"]?.string,
      let seconds = body["seconds"]?.double
    else {
      throw WebError(.badRequest, "invalid-body", "the members fleet, vehicle and seconds are required")
    }
    guard ShareTable.seconds.contains(seconds) else {
      throw WebError(
        .badRequest, "invalid-body",
        "a link must last \(Int(ShareTable.seconds.lowerBound)) to \(Int(ShareTable.seconds.upperBound)) seconds"
      )
    }
    let key = VehicleKey(fleet: fleet, vehicle: vehicle)
    guard principal.sees(key), control.knows(key) else { throw WebError.notFound("vehicle \(key)") }
    guard let link = control.share(key, by: principal, seconds: seconds) else {
      throw WebError(
        .serviceUnavailable, "shares-full", "limit of \(ShareTable.capacity) links reached",
        remedy: "revoke some with DELETE /api/v1/shares/ID")
    }
    let name = ShareTable.name(SecretDigest(of: link.secret))
    context.note(detail: "link \(name) for \(Int(seconds)) s", vehicles: [key])
    let answer = JSONWriter.object { writer in
      writer.field("id", name)
      writer.field("url", "/s/\(link.secret)")
      writer.field("expires", link.end.rfc3339)
    }
    return Response.private(answer, status: .created)
  }

  private func revoke(_ context: WebContext) async throws -> Response {
    let principal = try context.requirePrincipal()
    guard principal.role >= .operate else { throw WebError.roleTooLow }
    let name = try context.name("name")
    guard let share = control.revoke(name, by: principal) else {
      throw WebError.notFound("link of that id")
    }
    context.note(detail: "link \(name) revoked", vehicles: [share.vehicle])
    try await control.storeEnd(of: "link")
    return Response(status: .noContent)
  }
}

/// The route of share links outside of the API.
package struct LinkEntrance: RouteGroup {
  let control: AccessControl

  package init(_ control: AccessControl) { self.control = control }

  package func add(to router: RouterGroup<WebContext>) {
    router.get("s/{secret}") { _, context in try enter(context) }
  }

  /// Opens a link in a browser: sets its cookie and redirects to the page.
  private func enter(_ context: WebContext) throws -> Response {
    let secret = try context.name("secret")
    let from = context.access?.address.description ?? Address.unknown.description
    guard let access = context.access, let (login, vehicle) = control.enter(secret) else {
      control.audit.record(AuditEntry(action: "link", who: "unknown", from: from, outcome: "link-over"))
      return Response(
        status: .notFound, headers: [.contentType: "text/plain; charset=utf-8", .cacheControl: "no-store"],
        body: .init(byteBuffer: ByteBuffer(string: "This link has expired or was revoked.\n")))
    }
    if let known = context.principal, !known.isLink, !known.sees(vehicle) {
      control.logOut(login.identity)
      control.audit.record(
        AuditEntry(
          action: "link", who: known.name, from: from, vehicles: [vehicle.description],
          outcome: "out-of-scope"))
      let sentence =
        "You are logged in as \(known.name), who may not see the vehicle of this link. "
        + "Log out, or open it in a private window.\n"
      return Response(
        status: .forbidden, headers: [.contentType: "text/plain; charset=utf-8", .cacheControl: "no-store"],
        body: .init(byteBuffer: ByteBuffer(string: sentence)))
    }
    control.audit.record(
      AuditEntry(
        action: "link", who: login.principal.name, from: from, vehicles: [vehicle.description],
        outcome: "done"))
    let left = control.end(of: login.identity)?.seconds(since: .now) ?? 0
    // Relative, because a reverse proxy can serve the page below a path.
    var headers: HTTPFields = [
      .location:
        "../#/vehicle/\(PercentEncoding.encoded(vehicle.fleet))/\(PercentEncoding.encoded(vehicle.vehicle))",
      .cacheControl: "no-store",
      .setCookie: SessionCookie.header(
        .link, login.cookie, seconds: Int(left), isEncrypted: access.isEncrypted),
    ]
    if let policy = HTTPField.Name("Referrer-Policy") { headers[policy] = "no-referrer" }
    return Response(status: .seeOther, headers: headers)
  }
}
