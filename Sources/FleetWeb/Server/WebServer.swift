internal import Fleet
package import Hummingbird

/// Routes of one subject.
package protocol RouteGroup {
  func add(to router: RouterGroup<WebContext>)
}

/// All of what the server answers, put together from its parts.
package struct WebServer {
  /// Below `/api/v1`, behind the gate.
  package var subjects: [any RouteGroup]

  package init(subjects: [any RouteGroup]) { self.subjects = subjects }

  package func router() -> Router<WebContext> {
    let router = Router(context: WebContext.self)
    let interface = router.group("api/v1")
    for subject in subjects { subject.add(to: interface) }
    let files = PageFiles()
    router.get("/") { _, _ in try files.response(to: "index.html") }
    router.get("{file}") { _, context in
      try files.response(to: context.parameters.require("file"))
    }
    router.get("health/live") { _, _ in Response(status: .ok) }
    return router
  }
}
