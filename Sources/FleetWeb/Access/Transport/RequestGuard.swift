internal import NIOCore
internal import NIOHTTP1

/// Closes a connection whose request does not come to its end, and refuses what two servers could read in two ways.
final class RequestGuard: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias InboundOut = HTTPServerRequestPart
  typealias OutboundOut = HTTPServerResponsePart

  private let limit: TimeAmount
  private var deadline: Scheduled<Void>?
  private var isRefused = false

  init(seconds: Double) { limit = .nanoseconds(Int64(seconds * 1e9)) }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard !isRefused else { return }
    switch unwrapInboundIn(data) {
    case .head(let head):
      guard Self.isPlain(head) else { return refuse(context) }
      deadline?.cancel()
      let channel = context.channel
      deadline = context.eventLoop.scheduleTask(in: limit) { channel.close(promise: nil) }
    case .body: break
    case .end:
      deadline?.cancel()
      deadline = nil
    }
    context.fireChannelRead(data)
  }

  /// One host, one length or none, no upgrade to another protocol, and a path of this server (RFC 9112, sections 3.2 and 6.3).
  private static func isPlain(_ head: HTTPRequestHead) -> Bool {
    let hosts = head.headers["Host"]
    guard hosts.count == 1 || (hosts.isEmpty && head.version.minor == 0) else { return false }
    let lengths = head.headers["Content-Length"]
    let codings = head.headers["Transfer-Encoding"]
    guard lengths.count <= 1, codings.count <= 1, lengths.isEmpty || codings.isEmpty else { return false }
    guard codings.isEmpty || codings[0].lowercased() == "chunked" else { return false }
    return head.uri.hasPrefix("/")
  }

  private func refuse(_ context: ChannelHandlerContext) {
    isRefused = true
    deadline?.cancel()
    let head = HTTPResponseHead(
      version: .http1_1, status: .badRequest, headers: ["Connection": "close", "Content-Length": "0"])
    context.write(wrapOutboundOut(.head(head)), promise: nil)
    let channel = context.channel
    context.writeAndFlush(wrapOutboundOut(.end(nil))).whenComplete { _ in channel.close(promise: nil) }
  }

  func channelInactive(context: ChannelHandlerContext) {
    deadline?.cancel()
    context.fireChannelInactive()
  }
}
