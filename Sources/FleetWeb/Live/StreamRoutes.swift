internal import Fleet
package import Hummingbird
internal import JSON
internal import NIOCore

/// The route `/stream`: changes as server-sent events, and the view of an open stream.
package struct StreamRoutes: RouteGroup {
  private let hub: StreamHub

  package init(_ hub: StreamHub) { self.hub = hub }

  package func add(to router: RouterGroup<WebContext>) {
    router.get("stream") { [hub] request, context in
      let principal = try context.requirePrincipal()
      let view = try StreamView(request)
      let isPacked = GzipAnswers.accepts(request)
      var headers: HTTPFields = [
        .contentType: "text/event-stream; charset=utf-8", .cacheControl: "no-store",
        // Prevents nginx from buffering events.
        .knownName("X-Accel-Buffering"): "no", .vary: "Accept-Encoding",
      ]
      if isPacked { headers[.contentEncoding] = "gzip" }
      // A HEAD request would occupy a stream that never starts.
      guard request.method != .head else { return Response(status: .ok, headers: headers) }
      // The stream is reserved before the response starts, so that it cannot be rejected later.
      let id = try hub.open(
        principal, view, grant: context.grant, isPacked: isPacked,
        lastID: request.headers[.knownName("Last-Event-ID")], channel: context.channel)
      return Response(
        status: .ok, headers: headers,
        body: ResponseBody { writer in
          defer { hub.close(id) }
          while let buffers = await hub.next(id) {
            for buffer in buffers {
              try await writer.write(buffer)
              hub.took(id)
            }
          }
          try await writer.finish(nil)
        })
    }
    router.post("stream/{id}") { [hub] request, context in
      let principal = try context.requirePrincipal()
      let id = try context.name("id")
      let change = try ViewChange(try await request.json(upTo: 4096, types: nil))
      try hub.change(id, of: principal) { change.apply(to: &$0) }
      return Response(status: .noContent)
    }
  }
}

extension StreamView {
  /// Parses the query.
  ///
  /// - Throws: 400 for an invalid value.
  fileprivate init(_ request: Request) throws(WebError) {
    self.init()
    try request.refuseQueries(but: ["bounds", "selected", "interval"])
    if let text = try request.query("bounds") { bounds = try MapBounds(parsing: text) }
    if let text = try request.query("selected"), !text.isEmpty { selected = try VehicleKey(parsing: text) }
    if let seconds = try request.query("interval", in: Self.intervals) { interval = seconds }
  }
}

/// A change of a stream's view: missing members are unchanged, null clears them.
private struct ViewChange {
  private var bounds: MapBounds??
  private var selected: VehicleKey??

  init(_ json: JSONValue) throws(WebError) {
    guard case .object(let members) = json else { throw .invalid("body", "must be a JSON object") }
    switch members["bounds"] {
    case nil: break
    case .null?: bounds = .some(nil)
    case .string(let text)?: bounds = try MapBounds(parsing: text)
    case .array(let numbers)?:
      bounds = try MapBounds(parsing: numbers.map { "\($0.double ?? .nan)" }.joined(separator: ","))
    default: throw .invalid("bounds", "bounds must be [west, south, east, north] in degrees, or null")
    }
    switch members["selected"] {
    case nil: break
    case .null?, .string("")?: selected = .some(nil)
    case .string(let text)?: selected = try VehicleKey(parsing: text)
    default: throw .invalid("selected", "selected must be \"fleet/vehicle\", or null")
    }
  }

  func apply(to view: inout StreamView) {
    if let bounds { view.bounds = bounds }
    if let selected { view.selected = selected }
  }
}

extension VehicleKey {
  /// Parses `fleet/vehicle`.
  fileprivate init(parsing text: String) throws(WebError) {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 2, !parts[0].isEmpty, !parts[1].isEmpty else {
      throw .invalid("selected", "a vehicle must be fleet/vehicle")
    }
    self.init(fleet: String(parts[0]), vehicle: String(parts[1]))
  }
}
