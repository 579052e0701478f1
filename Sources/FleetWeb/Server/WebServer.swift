package import Hummingbird

/// A group of routes for one subject.
package protocol RouteGroup: Sendable {
  func add(to router: RouterGroup<WebContext>)
}

/// The server, assembled from its parts.
package struct WebServer: Sendable {
  /// The routes below `/api/v1`.
  package var subjects: [any RouteGroup]
  /// The routes at the root, such as `/metrics`.
  package var roots: [any RouteGroup]
  package var files: PageFiles
  package var access: any AccessPolicy
  package let counts = RequestCounts()
  /// The additional origins of map tiles, such as `https://tile.example.org`.
  package var imageOrigins: [String] = []

  package init(
    subjects: [any RouteGroup], roots: [any RouteGroup] = [], files: PageFiles = PageFiles(),
    access: any AccessPolicy
  ) {
    (self.subjects, self.roots, self.files, self.access) = (subjects, roots, files, access)
  }

  /// Returns the router. A request passes through the request counter, the security headers, the compression,
  /// the error format, the access gate, the check for unknown addresses, and then its route.
  package func router() -> Router<WebContext> {
    let router = Router(context: WebContext.self, options: .autoGenerateHeadEndpoints)
    router.add(middleware: CountRequests(counts: counts))
    router.add(middleware: SecurityHeaders(imageOrigins: imageOrigins, isSecure: access.isSecure))
    router.add(middleware: GzipAnswers())
    router.add(middleware: ErrorAnswers())
    router.add(middleware: access.gate)
    router.add(middleware: UnknownAddresses(methods: MethodFinder(addRoutes)))
    addRoutes(to: router)
    return router
  }

  private func addRoutes(to router: Router<WebContext>) {
    let interface = router.group("api/v1")
    for subject in subjects { subject.add(to: interface) }
    for subject in access.interface { subject.add(to: interface) }
    let root = router.group("")
    for group in roots { group.add(to: root) }
    for group in access.roots { group.add(to: root) }
    add(file: "index.html", at: "/", to: router)
    // Each file has a route of its own, so that no other file can be requested.
    for name in files.names { add(file: name, at: RouterPath(name), to: router) }
    if !files.hasLeaflet { add(file: "vendor/leaflet/", at: "vendor/leaflet/**", to: router) }
  }

  private func add(file name: String, at path: RouterPath, to router: Router<WebContext>) {
    let files = files
    router.get(path) { (request: Request, _: WebContext) -> Response in
      try files.response(to: name, request)
    }
  }
}
