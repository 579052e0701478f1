internal import Fleet
internal import HTTPTypes
package import Hummingbird
internal import JSON
internal import Spatial

/// The API route `/session`: login, logout and the current user.
package struct SessionRoutes: RouteGroup {
  let control: AccessControl

  package init(_ control: AccessControl) { self.control = control }

  package func add(to router: RouterGroup<WebContext>) {
    router.get("session") { _, context in try answer(context, .init()) }
    router.post("session") { request, context in try await logIn(request, context) }
    router.delete("session") { _, context in try await logOut(context) }
  }

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
      writer.field("expires", end?.rfc3339)
    }
    return Response.private(body, headers: headers)
  }

  private func logIn(_ request: Request, _ context: WebContext) async throws -> Response {
    guard let access = context.access else { throw WebError.loginRequired }
    let body = try await request.json(upTo: Gate.longestLogin)
    guard let name = body["name"]?.string, let password = body["password"]?.string else {
      throw WebError(.badRequest, "invalid-body", "the members name and password are required")
    }
    let address = access.address
    var line = AuditEntry(action: "login", who: name, from: address.description, outcome: "done")
    do throws(WebError) {
      // A long name would enlarge the tables of delays.
      guard name.utf8.count <= AccessConfiguration.longestName else { throw .loginWrong }
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
      .user, login.cookie, seconds: Int(control.configuration.sessionLongest), isEncrypted: access.isEncrypted
    )
    do { return try answer(context, [.setCookie: cookie]) } catch { throw .loginRequired }
  }

  private func logOut(_ context: WebContext) async throws -> Response {
    let principal = try context.requirePrincipal()
    guard let access = context.access else { throw WebError.loginRequired }
    control.logOut(access.identity)
    var line = AuditEntry(
      action: "logout", who: principal.name, from: access.address.description, outcome: "done")
    defer { control.audit.record(line) }
    let cookie = SessionCookie.header(
      principal.isLink ? .link : .user, "", seconds: 0, isEncrypted: access.isEncrypted)
    do throws(WebError) { try await control.storeEnd(of: "session") } catch {
      (line.outcome, line.status) = (error.code, error.status.code)
      var failure = error
      failure.headers[.setCookie] = cookie
      throw failure
    }
    return Response(status: .noContent, headers: [.setCookie: cookie])
  }
}
