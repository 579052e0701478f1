package import Fleet
internal import Glibc
internal import Hummingbird
internal import HummingbirdCore
internal import Logging
internal import NIOCore
internal import NIOPosix
internal import Platform
internal import ServiceLifecycle

/// The server's open port.
package final class WebListener: Sendable {
  private let group: ServiceGroup
  private let ended: EventDescriptor
  private let place = Monitor<ListenAddress?>(nil)

  /// Starts to listen immediately.
  /// - Parameters:
  ///   - started: called on another thread with the address.
  ///   - failed: called on another thread if listening fails.
  /// - Throws: `FleetError` for an invalid access configuration.
  package init(
    _ server: WebServer, _ configuration: ServeConfiguration,
    started: @escaping @Sendable (ListenAddress) -> Void = { _ in },
    failed: @escaping @Sendable (FleetError) -> Void
  ) throws(FleetError) {
    let running = place
    var logger = Logger(label: "odograph")
    logger.logLevel = .critical
    let address = configuration.address
    var limits = ConnectionLimits()
    limits.connections = configuration.connections
    let application = Application(
      router: server.router(), server: server.access.connections(limits),
      configuration: .init(
        address: .hostname(address.host, port: address.port), serverName: nil, backlog: 1024),
      onServerRunning: { channel in
        var place = address
        place.port = channel.localAddress?.port ?? address.port
        running.update { [place] in $0 = place }
        started(place)
      }, logger: logger)
    do throws(SystemError) { ended = try EventDescriptor() } catch { throw FleetError(error) }
    group = ServiceGroup(configuration: .init(services: [application], logger: logger))
    Task.detached { [group, ended] in
      do { try await group.run() } catch { failed(Self.cause(of: error, address)) }
      ended.signal()
    }
  }

  /// Returns the address with the assigned port; nil if it does not listen within the time limit.
  package func address(within seconds: Double) -> ListenAddress? {
    place.wait(until: .after(seconds)) { $0 }
  }

  /// Stops accepting connections, and lets active requests finish.
  /// - Parameter timeout: the time limit in seconds.
  package func stop(timeout: Double) {
    Task.detached { [group] in await group.triggerGracefulShutdown() }
    _ = ended.wait(seconds: timeout)
  }

  private static func cause(of error: any Error, _ address: ListenAddress) -> FleetError {
    var cause = "\(error)"
    if let error = error as? IOError {
      cause = SystemError.message(for: error.errnoCode)
      if error.errnoCode == EADDRINUSE {
        cause += "; another program listens there; use another port with --listen"
      } else if error.errnoCode == EACCES {
        cause += "; ports below 1024 require root; use another port with --listen"
      }
    } else if error is SocketAddressError {
      cause = "unknown host; write an address of this machine"
    }
    return FleetError(operation: "listen at", object: address.text, cause: cause, kind: .unavailable)
  }
}
