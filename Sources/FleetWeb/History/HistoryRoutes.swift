internal import Fleet
internal import FleetStore
internal import HTTPTypes
package import Hummingbird
internal import NIOCore
internal import Spatial
internal import Telemetry

/// The routes for a recording below `/api/v1`: tracks, stops, trips, driving events, traces, routes driven
/// and statistics.
package struct HistoryRoutes: RouteGroup {
  private let readers: HistoryReaders?
  let ways = RecordedTracks()

  /// The time from the start of a query after which the client's connection is monitored, to stop the query
  /// if the client closes it. A connection that was not monitored can be reused for further requests.
  private static let pollTimeout = Duration.milliseconds(250)

  /// Creates the routes.
  ///
  /// - Parameter readers: nil without a recording; all requests then fail with `no-recording`.
  package init(_ readers: HistoryReaders?) { self.readers = readers }

  package func add(to router: RouterGroup<WebContext>) {
    let vehicle = "vehicles/{fleet}/{vehicle}/"
    addTracks(to: router, vehicle)
    addJournal(to: router, vehicle)
    addTraces(to: router, vehicle)
    addSums(to: router)
  }

  // MARK: Parameters

  /// Returns the vehicle in the URL.
  /// - Throws: `WebError`, the same for an invisible vehicle as for an unknown one.
  static func vehicle(_ context: WebContext) throws -> VehicleKey {
    let principal = try context.requirePrincipal()
    guard let fleet = PathName.decoded(context.parameters.get("fleet")),
      let vehicle = PathName.decoded(context.parameters.get("vehicle"))
    else { throw WebError.notFound("vehicle") }
    let key = VehicleKey(fleet: fleet, vehicle: vehicle)
    guard principal.sees(key) else { throw WebError.notFound("vehicle") }
    return key
  }

  /// Returns a journal number and the requested format, such as in `…/0123456789abcdef/17.gpx`.
  static func entry(_ context: WebContext, _ what: String) throws -> (JournalNumber, form: String) {
    guard let series = PathName.decoded(context.parameters.get("series")),
      let file = PathName.decoded(context.parameters.get("file")), series.utf8.count <= 64
    else { throw WebError.notFound(what) }
    let parts = file.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
    guard let number = Int64(parts[0]), number > 0 else { throw WebError.notFound(what) }
    return (JournalNumber(series: series, number: number), parts.count > 1 ? String(parts[1]) : "json")
  }

  // MARK: Answers

  /// Runs `work` on a reader's thread to write a response, and returns the response when it is complete. Its
  /// tag allows a 304 response.
  /// - Parameter name: the name of a file to save; nil for a response that a page reads.
  func answer(
    _ request: Request, _ context: WebContext, _ type: String, savedAs name: String? = nil,
    _ work: @escaping HistoryReaders.Work
  ) async throws -> Response {
    guard let readers else { throw WebError.noRecording }
    let owner = PipeOwner(try readers.begin(for: context.principal?.asker, work))
    var headers: HTTPFields = [.contentType: type, .cacheControl: "private, no-cache"]
    if let name { headers[.contentDisposition] = "attachment; filename=\"\(PathName.safe(name))\"" }
    if await !owner.pipe.hasNews(within: Self.pollTimeout) {
      // A monitored connection cannot be reused, so it is closed after the response.
      headers[.connection] = "close"
      try await request.body.consumeWithCancellationOnInboundClose { _ in
        await owner.pipe.waitForNews()
        try Task.checkCancellation()
      }
    }
    let (length, tag) = try await owner.pipe.whole()
    let body = ResponseBody(contentLength: length) { writer in
      while let piece = try owner.pipe.next() { try await writer.write(piece) }
      try await writer.finish(nil)
    }
    return Response(status: .ok, headers: headers, body: body).tagged(tag, for: request)
  }
}

/// Names in URLs.
enum PathName {
  /// Decodes percent signs; nil for an invalid text or name.
  static func decoded(_ text: String?) -> String? {
    guard let text else { return nil }
    var bytes: [UInt8] = []
    var rest = text.utf8.makeIterator()
    while let byte = rest.next() {
      guard byte == UInt8(ascii: "%") else {
        bytes.append(byte)
        continue
      }
      guard let high = rest.next().flatMap(digit), let low = rest.next().flatMap(digit) else { return nil }
      bytes.append(high << 4 | low)
    }
    guard let name = String(validating: bytes, as: UTF8.self), !name.isEmpty, name.utf8.count <= 512,
      !name.utf8.contains(0)
    else { return nil }
    return name
  }

  private static func digit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    default: nil
    }
  }

  /// Returns a name that is valid for every file system and header.
  static func safe(_ name: String) -> String {
    String(
      String.UnicodeScalarView(
        name.unicodeScalars.map { scalar in
          let isPlain =
            ("0"..."9").contains(scalar) || ("a"..."z").contains(scalar) || ("A"..."Z").contains(scalar)
            || "-_.".unicodeScalars.contains(scalar)
          return isPlain ? scalar : "_"
        }))
  }
}
