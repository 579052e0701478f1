internal import HTTPTypes
internal import NIOCore
internal import NIOHTTP1

/// A handler that closes connections with incomplete requests, and rejects ambiguous ones that two servers
/// could interpret differently. Invalid HTTP is also rejected here, in the common error format.
final class RequestGuard: ChannelDuplexHandler, RemovableChannelHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias InboundOut = HTTPServerRequestPart
  typealias OutboundIn = HTTPServerResponsePart
  typealias OutboundOut = HTTPServerResponsePart

  private let limit: TimeAmount
  private var deadline: Scheduled<Void>?
  /// The reason for which no further requests are read; nil while requests are read.
  private var refusal: WebError?
  /// The number of requests without a complete response.
  private var unanswered = 0

  init(seconds: Double) { limit = .nanoseconds(Int64(seconds * 1e9)) }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard refusal == nil else { return }
    switch unwrapInboundIn(data) {
    case .head(var head):
      guard Self.isPlain(head) else {
        // Passed on like an error of the parser, which is answered after the responses to earlier requests.
        refuse(.requestAmbiguous)
        return context.fireErrorCaught(HTTPParserError.unknown)
      }
      deadline?.cancel()
      let channel = context.channel
      deadline = context.eventLoop.scheduleTask(in: limit) { channel.close(promise: nil) }
      unanswered += 1
      // Response 100 is sent only if it does not interrupt the response to an earlier request. A client that
      // gets none sends the body after a while (RFC 9110, section 10.1.1).
      if unanswered == 1, Self.awaitsContinue(head) {
        let answer = HTTPResponseHead(version: head.version, status: .continue)
        context.writeAndFlush(wrapOutboundOut(.head(answer)), promise: nil)
      }
      if head.version.minor == 0 {
        // An HTTP/1.0 request is marked as sent by a proxy: no browser uses HTTP/1.0, but some proxies do,
        // without any other header of a proxy.
        head.headers.add(name: "Via", value: "1.0 unknown")
        return context.fireChannelRead(wrapInboundOut(.head(head)))
      }
    case .body: break
    case .end:
      deadline?.cancel()
      deadline = nil
    }
    context.fireChannelRead(data)
  }

  /// Returns whether the client waits for response 100 before it sends the body. False for a body that is too
  /// large, so that the client is not asked to send it.
  private static func awaitsContinue(_ head: HTTPRequestHead) -> Bool {
    guard head.version.minor > 0,
      head.headers["Expect"].contains(where: { $0.lowercased() == "100-continue" })
    else { return false }
    return head.headers["Content-Length"].allSatisfy { Int($0).map { $0 <= Gate.longestBody } ?? false }
  }

  /// Returns whether a request is unambiguous: one valid host, at most one length, no upgrade to another protocol,
  /// and a path of this server (RFC 9112, sections 3.2 and 6.3).
  private static func isPlain(_ head: HTTPRequestHead) -> Bool {
    let hosts = head.headers["Host"]
    guard hosts.allSatisfy(HostHeader.isValid), hosts.count == 1 || (hosts.isEmpty && head.version.minor == 0)
    else { return false }
    let lengths = head.headers["Content-Length"]
    let codings = head.headers["Transfer-Encoding"]
    guard lengths.count <= 1, codings.count <= 1, lengths.isEmpty || codings.isEmpty else { return false }
    guard codings.isEmpty || codings[0].lowercased() == "chunked" else { return false }
    return head.uri.hasPrefix("/")
  }

  private func refuse(_ error: WebError) {
    refusal = refusal ?? error
    deadline?.cancel()
    deadline = nil
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    switch error as? HTTPParserError {
    case nil: break
    case .headerOverflow: refuse(.headTooLarge)
    default: refuse(.requestMalformed)
    }
    context.fireErrorCaught(error)
  }

  /// Replaces the empty 400 response with which the web library answers invalid requests before it closes the
  /// connection.
  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    if case .end = unwrapOutboundIn(data) { unanswered -= 1 }
    guard let refusal, case .head(var head) = unwrapOutboundIn(data), head.status == .badRequest,
      head.headers["Content-Length"] == ["0"]
    else { return context.write(data, promise: promise) }
    let body = refusal.json
    head.headers = [
      "Connection": "close", "Content-Type": "application/json; charset=utf-8",
      "Content-Length": "\(body.count)", "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff",
      "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    ]
    context.write(wrapOutboundOut(.head(head)), promise: nil)
    context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: body)))), promise: promise)
  }

  func channelInactive(context: ChannelHandlerContext) {
    deadline?.cancel()
    context.fireChannelInactive()
  }
}

extension WebError {
  fileprivate static let requestAmbiguous = WebError(
    .badRequest, "malformed-request", "the request can be read in more than one way",
    remedy: "send one valid Host, one length or chunks, and a path that starts with a slash")
  fileprivate static let requestMalformed = WebError(
    .badRequest, "malformed-request", "the request is not HTTP/1.1")
  fileprivate static let headTooLarge = WebError(
    .badRequest, "head-too-large", "the request's address and headers are too large",
    remedy: "they have \(ConnectionLimits().headers / 1024) kB at most, \(ConnectionLimits.field / 1024) kB "
      + "each, and there are \(ConnectionLimits.fields) headers at most")
}
