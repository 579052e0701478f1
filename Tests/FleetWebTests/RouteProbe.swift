import FleetWeb
import HTTPTypes
import Hummingbird
import JSON
import Logging
import NIOCore
import NIOEmbedded

/// Calls routes like the server behind its gate, without a connection.
struct RouteProbe {
  struct Answer {
    var status: HTTPResponse.Status
    var headers: HTTPFields
    var body: [UInt8]

    var json: JSONValue? { try? JSONValue(parsing: body) }
    var code: String? { json?["error"]?["code"]?.string }
    var message: String { json?["error"]?["message"]?.string ?? "" }
  }

  private let responder: RouterResponder<WebContext>
  private let principal: Principal?

  init(_ routes: [any RouteGroup], as principal: Principal? = .local) {
    let router = Router(context: WebContext.self)
    let interface = router.group("api/v1")
    for group in routes { group.add(to: interface) }
    (responder, self.principal) = (router.buildResponder(), principal)
  }

  func ask(
    _ method: HTTPRequest.Method, _ path: String, _ body: String = "",
    type: String? = nil, headers: HTTPFields = [:]
  ) async throws -> Answer {
    var head = HTTPRequest(method: method, scheme: "http", authority: "localhost", path: "/api/v1" + path)
    head.headerFields = headers
    if let type { head.headerFields[.contentType] = type }
    let request = Request(head: head, body: .init(buffer: ByteBuffer(string: body)))
    var context = WebContext(
      source: ApplicationRequestContextSource(
        channel: NIOAsyncTestingChannel(), logger: Logger(label: "test")))
    context.principal = principal
    var response: Response
    do { response = try await responder.respond(to: request, context: context) } catch {
      guard let error = error as? any HTTPResponseError else { throw error }
      response = try error.response(from: request, context: context)
    }
    let collector = BodyCollector()
    try await response.body.write(collector)
    return Answer(
      status: response.status, headers: response.headers, body: Array(collector.bytes.readableBytesView))
  }
}

/// Collects the body of an answer.
private final class BodyCollector: ResponseBodyWriter {
  private(set) var bytes = ByteBuffer()

  func write(_ buffer: ByteBuffer) async throws { bytes.writeImmutableBuffer(buffer) }

  func finish(_ trailingHeaders: HTTPFields?) async throws {}
}
