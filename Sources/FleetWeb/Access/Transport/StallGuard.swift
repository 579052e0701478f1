internal import Glibc
internal import NIOCore

/// Closes a connection whose client takes nothing for a while. One that takes little at a time is waited for: what counts is
/// what the client's machine has confirmed, as the kernel may let a program write on only after megabytes of it.
final class StallGuard: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = NIOAny
  typealias InboundOut = NIOAny

  /// Between two looks.
  private let pause: TimeAmount
  private var pending: Scheduled<Void>?
  /// What had been confirmed when it was last enough more than before, and how often that was looked at since.
  private var taken: UInt64?
  private var looks = 0

  /// Looks within the time, after which nothing was taken: it is over by a quarter at most.
  private static let looksAtMost = 4
  /// Bytes that count: whoever opens its window by single ones holds a connection for nothing.
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

  /// Bytes that the client's machine has confirmed; nil where the kernel does not say.
  private static func confirmed(_ context: ChannelHandlerContext) -> UInt64? {
    let operations = context.channel.pipeline.syncOperations
    let known = try? operations.withUnsafeTransportIfAvailable(of: CInt.self) { descriptor -> UInt64? in
      // struct tcp_info of linux/tcp.h: tcpi_bytes_acked, since Linux 4.1. That of the C library ends before it.
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
