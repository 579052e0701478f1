internal import Glibc
internal import NIOCore

/// A handler that closes connections whose client does not read. A slow client is tolerated: progress is
/// measured by acknowledged bytes, because the kernel can block the writer until megabytes are acknowledged.
final class StallGuard: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = NIOAny
  typealias InboundOut = NIOAny

  /// The interval between two checks.
  private let pause: TimeAmount
  private var pending: Scheduled<Void>?
  /// The number of acknowledged bytes at the last sufficient progress (nil if unknown), and the number of
  /// checks since then.
  private var taken: UInt64?
  private var looks = 0

  /// The number of checks without progress after which the connection is closed. With four checks, the time
  /// limit is exceeded by at most a quarter.
  private static let looksAtMost = 4
  /// The number of acknowledged bytes that counts as progress. Prevents clients from opening their TCP window
  /// byte by byte.
  private static let progress: UInt64 = 1024

  init(seconds: Double) {
    pause = .nanoseconds(Int64(seconds * 1e9) / Int64(Self.looksAtMost))
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) { context.fireChannelRead(data) }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    pending?.cancel()
    pending = nil
    if !context.channel.isWritable {
      (taken, looks) = (Self.confirmed(context), 0)
      wait(context)
    }
    context.fireChannelWritabilityChanged()
  }

  private func wait(_ context: ChannelHandlerContext) {
    let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
    pending = context.eventLoop.scheduleTask(in: pause) {
      let (stall, context) = bound.value
      stall.look(context)
    }
  }

  private func look(_ context: ChannelHandlerContext) {
    let now = Self.confirmed(context)
    if let now, now >= (taken ?? 0) + Self.progress { (taken, looks) = (now, 0) } else { looks += 1 }
    if looks < Self.looksAtMost { return wait(context) }
    context.channel.close(promise: nil)
  }

  /// Returns the number of bytes acknowledged by the client; nil if unknown.
  private static func confirmed(_ context: ChannelHandlerContext) -> UInt64? {
    let operations = context.channel.pipeline.syncOperations
    let known = try? operations.withUnsafeTransportIfAvailable(of: CInt.self) { descriptor -> UInt64? in
      // The offset of `tcpi_bytes_acked` in `struct tcp_info` of linux/tcp.h, since Linux 4.1. The C
      // library's declaration of the struct ends before this member.
      let place = 120
      var information = [UInt8](repeating: 0, count: 256)
      var length = socklen_t(information.count)
      let status = unsafe getsockopt(descriptor, CInt(IPPROTO_TCP), TCP_INFO, &information, &length)
      guard status == 0, Int(length) >= place + 8 else { return nil }
      return unsafe information.withUnsafeBytes { unsafe $0.load(fromByteOffset: place, as: UInt64.self) }
    }
    return known ?? nil
  }

  func channelInactive(context: ChannelHandlerContext) {
    pending?.cancel()
    pending = nil
    context.fireChannelInactive()
  }
}
