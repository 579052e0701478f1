internal import Compression
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore

/// A middleware that compresses responses for clients that accept it.
struct GzipAnswers: RouterMiddleware {
  /// The size in bytes below which compression saves less than a packet.
  private static let smallest = 1000
  /// The zlib level, measured with 10,000 vehicle summaries: higher levels take twice as long for 5 % less.
  private static let level = 3

  func handle(
    _ request: Request, context: WebContext, next: (Request, WebContext) async throws -> Response
  ) async throws -> Response {
    var response = try await next(request, context)
    guard let type = response.headers[.contentType], Self.isWorthIt(type),
      response.headers[.contentEncoding] == nil, response.status != .partialContent
    else { return response }
    response.headers[.vary] = "Accept-Encoding"
    guard request.method != .head, Self.accepts(request), response.body.contentLength ?? .max >= Self.smallest
    else { return response }
    response.headers[.contentEncoding] = "gzip"
    let body = response.body
    response.body = ResponseBody { writer in
      // An error while the body is written closes the connection, so that a partial response is not accepted
      // as complete.
      let packer = try GzipPacker(level: Self.level)
      try await body.write(GzipBodyWriter(target: writer, packer: packer))
    }
    return response
  }

  private static func isWorthIt(_ type: String) -> Bool {
    // Event streams compress their own events, which must arrive one by one.
    type.hasPrefix("application/json") || type.hasPrefix("application/geo+json")
      || type.hasPrefix("text/") && !type.hasPrefix("text/event-stream")
      || type.hasPrefix("application/gpx+xml")
      || type.hasPrefix("image/svg+xml") || type.hasPrefix("application/manifest+json")
  }

  /// Returns whether the client accepts gzip (RFC 9110, 12.5.3).
  static func accepts(_ request: Request) -> Bool {
    for part in (request.headers[.acceptEncoding] ?? "").lowercased().split(separator: ",") {
      let pieces = part.split(separator: ";").map { $0.filter { $0 != " " && $0 != "\t" } }
      guard let name = pieces.first, name == "gzip" || name == "x-gzip" else { continue }
      let weight = pieces.dropFirst().first { $0.hasPrefix("q=") }.flatMap { Double($0.dropFirst(2)) } ?? 1
      return weight > 0
    }
    return false
  }
}

/// A writer that compresses its input.
private struct GzipBodyWriter: ResponseBodyWriter {
  var target: any ResponseBodyWriter
  let packer: GzipPacker

  mutating func write(_ buffer: ByteBuffer) async throws {
    let packed = try packer.pack([UInt8](buffer.readableBytesView), .none)
    if !packed.isEmpty { try await target.write(ByteBuffer(bytes: packed)) }
  }

  consuming func finish(_ trailingHeaders: HTTPFields?) async throws {
    var target = target
    let packed = try packer.pack([], .end)
    if !packed.isEmpty { try await target.write(ByteBuffer(bytes: packed)) }
    try await target.finish(trailingHeaders)
  }
}
