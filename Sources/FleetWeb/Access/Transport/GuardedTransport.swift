internal import Hummingbird
package import HummingbirdCore
package import Logging
package import NIOCore
internal import NIOHTTP1
internal import NIOSSL

/// HTTP/1.1, plain or over TLS, with limits for each connection.
package struct GuardedTransport: ServerChildChannel {
  package typealias Value = HTTP1Channel.Value

  private struct TooManyConnections: Error {}

  private let base: HTTP1Channel
  private let certificates: CertificateStore?
  private let limits: ConnectionLimits
  private let count: ConnectionCount
  private let isExempt: @Sendable (Address) -> Bool

  /// Returns the transport for `Application`.
  ///
  /// - Parameters:
  ///   - certificates: nil for plain HTTP.
  ///   - control: provides the addresses of trusted proxies. They have no limit per address, because many
  ///     clients share them.
  package static func builder(
    certificates: CertificateStore?, control: AccessControl, limits: ConnectionLimits = ConnectionLimits()
  ) -> HTTPServerBuilder {
    let count = ConnectionCount()
    return HTTPServerBuilder { responder in
      GuardedTransport(
        base: HTTP1Channel(responder: responder, configuration: limits.configuration),
        certificates: certificates,
        limits: limits, count: count,
        isExempt: { address in
          address.isLoopback || control.configuration.proxyAddresses.contains { $0.contains(address) }
        })
    }
  }

  package func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
    let address = Address(channel.remoteAddress).subscriber
    guard count.open(address, isExempt: isExempt(address), limits) else {
      channel.close(promise: nil)
      return channel.eventLoop.makeFailedFuture(TooManyConnections())
    }
    let count = count
    channel.closeFuture.whenComplete { _ in count.close(address) }
    return channel.eventLoop.makeCompletedFuture {
      if let certificates {
        try channel.pipeline.syncOperations.addHandler(
          NIOSSLServerHandler(
            context: certificates.context, customVerificationCallback: nil, configuration: .init()))
      }
      try channel.pipeline.syncOperations.addHandler(StallGuard(seconds: limits.stall))
    }.flatMap {
      base.setup(channel: channel, logger: logger)
    }.flatMapThrowing { value in
      let decoder = try channel.pipeline.syncOperations.handler(
        type: ByteToMessageHandler<HTTPRequestDecoder>.self)
      try channel.pipeline.syncOperations.addHandler(
        RequestGuard(seconds: limits.request), position: .after(decoder))
      return value
    }.flatMapErrorThrowing { error in
      channel.close(promise: nil)
      throw error
    }
  }

  package func handle(value: Value, logger: Logger) async { await base.handle(value: value, logger: logger) }
}

extension ConnectionLimits {
  /// The limits in the web library's format.
  var configuration: HTTP1Channel.Configuration {
    var decoder = HTTP1Channel.Configuration.DecoderConfiguration()
    decoder.maxHeaderFieldSize = min(headers, Self.field)
    decoder.maxHeaderListSize = headers
    decoder.maxHeaderFieldCount = Self.fields
    return .init(idleTimeout: .nanoseconds(Int64(idle * 1e9)), httpDecoderConfiguration: decoder)
  }
}
