internal import Bytes
package import Fleet
internal import HTTPTypes
package import Hummingbird
internal import JSON
internal import NIOCore

/// The routes of the base map: its description, and the tiles of a file.
package struct MapRoutes: RouteGroup {
  private let settings: MapSettings
  private let file: TileFile?

  /// Stops the thread that reads the file.
  package func stop() { file?.stop() }

  /// Creates the routes.
  ///
  /// - Throws: `FleetError` for an unusable file.
  package init(_ settings: MapSettings) throws(FleetError) {
    self.settings = settings
    if case .file(let path)? = settings.source { file = try TileFile(path: path) } else { file = nil }
  }

  /// The additional origin of images for the page's security policy; nil for none.
  package var origin: String? {
    if case .address(_, let origin)? = settings.source { origin } else { nil }
  }

  package func add(to router: RouterGroup<WebContext>) {
    router.get("map") { request, context in
      _ = try context.requirePrincipal()
      let body = description
      return Response.json(body).tagged(Self.tag(body), for: request)
    }
    router.get("tiles/{z}/{x}/{y}") { request, context in try await tile(request, context) }
  }

  /// The map's attribution and zoom levels.
  var description: [UInt8] {
    JSONWriter.object { json in
      guard let source = settings.source else { return }
      json.field("tiles") { json in
        switch source {
        case .address(let address, _):
          json.field("url", address)
          json.field("attribution", settings.attribution)
          json.field("minimumZoom", settings.zooms.lowerBound)
          json.field("maximumZoom", settings.zooms.upperBound)
        case .file:
          json.field("url", "/api/v1/tiles/{z}/{x}/{y}")
          json.field("attribution", settings.attribution ?? file?.description.attribution)
          json.field("name", file?.description.name)
          json.field("minimumZoom", file?.description.zooms.lowerBound)
          json.field("maximumZoom", file?.description.zooms.upperBound)
          if let bounds = file?.description.bounds { json.field("bounds", numbers: bounds, decimals: 7) }
        }
      }
    }
  }

  private func tile(_ request: Request, _ context: WebContext) async throws -> Response {
    _ = try context.requirePrincipal()
    func number(_ name: String, below limit: Int) throws(WebError) -> Int {
      let text = try context.name(name)
      guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int(text), number < limit
      else {
        throw .notFound("tile \(request.uri.path)")
      }
      return number
    }
    let zoom = try number("z", below: MapSettings.deepest + 1)
    let column = try number("x", below: 1 << zoom)
    let row = try number("y", below: 1 << zoom)
    guard let file else {
      throw WebError(
        .notFound, "no-map", "no map tiles configured",
        remedy: "set a file with --map, or with mbtiles in [map] of the configuration")
    }
    guard let tile = try await file.tile(zoom: zoom, column: column, row: row) else {
      // Outside of the file's area there is no error: the page shows a grid.
      return Response(status: .noContent, headers: [.cacheControl: Self.caching])
    }
    var response = Response(
      status: .ok, headers: [.contentType: tile.type, .cacheControl: Self.caching],
      body: .init(byteBuffer: ByteBuffer(bytes: tile.bytes)))
    response.headers[.cacheControl] = Self.caching
    return response.tagged(Self.tag(tile.bytes), for: request)
  }

  /// A map rarely changes, so browsers cache it for an hour.
  private static let caching = "private, max-age=3600"

  private static func tag(_ bytes: [UInt8]) -> String { String(FNV1a.hash64(bytes), radix: 16) }
}
