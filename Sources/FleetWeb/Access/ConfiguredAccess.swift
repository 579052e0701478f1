package import Fleet
package import FleetConsole
package import Hummingbird
package import HummingbirdCore
internal import NIOCore
internal import Platform

/// Who may ask, and how that is found out: all of access, as the configuration has it, for as long as the server runs.
package final class ConfiguredAccess: AccessPolicy, ServePart {
  /// The tables of the configuration file that are read here.
  package static let tables = AccessConfiguration.tables

  package let control: AccessControl
  private let certificates: CertificateStore?
  private let file: SettingsFile?
  private let address: ListenAddress
  private let keeper = Locked<AccessKeeper?>(nil)

  /// - Parameters:
  ///   - file: nil without one: then whoever is on this machine may do everything, and nobody else gets through.
  ///   - isAuditSaid: whether the audit goes to standard error, too.
  /// - Throws: `FleetError` for what makes no sense, and for files that cannot be used.
  package init(
    _ file: SettingsFile?, listening address: ListenAddress, isAuditSaid: Bool = true
  ) throws(FleetError) {
    let configuration: AccessConfiguration
    if let file {
      configuration = try AccessConfiguration(file)
      certificates = try CertificateStore.configured(in: file)
    } else {
      (configuration, certificates) = (.none, nil)
    }
    (self.file, self.address) = (file, address)
    control = try AccessControl(configuration, isAuditSaid: isAuditSaid)
  }

  package var requiresLogin: Bool { control.configuration.hasLogin }

  /// Whether the server itself speaks TLS.
  package var isSecure: Bool { certificates != nil }

  package var isBehindProxy: Bool { !control.configuration.proxyAddresses.isEmpty }

  /// Puts `principal` and `access` into the context of each request of somebody who is known, or refuses the request.
  package var gate: any MiddlewareProtocol<Request, Response, WebContext> {
    Gate(control, isEncrypted: isSecure)
  }

  /// Routes below `/api/v1`.
  package var interface: [any RouteGroup] { [SessionRoutes(control), ShareRoutes(control)] }

  /// Routes at the root.
  package var roots: [any RouteGroup] { [LinkEntrance(control)] }

  /// How connections are spoken over.
  package func connections(_ limits: ConnectionLimits) -> HTTPServerBuilder {
    GuardedTransport.builder(certificates: certificates, control: control, limits: limits)
  }

  package func start() throws(FleetError) {
    let started = try AccessKeeper(
      control, certificates: certificates, file: file, address: address)
    keeper.withLock { $0 = started }
    if !control.configuration.hasLogin { return }
    if control.configuration.stateFolder == nil {
      StandardError.say(
        "sessions and links end with the server; state in [access] names a folder that keeps them")
    }
  }

  /// Has links made only to vehicles that are there.
  package func know(_ isThere: @escaping @Sendable (VehicleKey) -> Bool) { control.know(isThere) }

  /// Reads users, tokens and the certificate again soon, and then what else goes by the file. Any thread's to call.
  package func reload(_ others: @escaping AccessKeeper.Reload) { keeper.withLock { $0 }?.reload(others) }

  package func stop() {
    keeper.withLock { keeper in
      defer { keeper = nil }
      return keeper
    }?.stop()
    control.stop()
  }
}
