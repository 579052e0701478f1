package import Fleet
package import FleetProgram
package import Hummingbird
package import HummingbirdCore
internal import NIOCore
internal import Platform

/// The access policy of the configuration, for the lifetime of the server.
package final class ConfiguredAccess: AccessPolicy, ServePart {
  /// The tables of the configuration file that are read here.
  package static let tables = AccessConfiguration.tables

  package let control: AccessControl
  private let certificates: CertificateStore?
  private let file: SettingsFile?
  private let address: ListenAddress
  private let keeper = Locked<AccessMaintenance?>(nil)

  /// Creates the policy.
  ///
  /// - Parameters:
  ///   - file: nil without one: local clients then have all permissions, and others are rejected.
  ///   - isAuditSaid: true to print the audit on standard error, too.
  /// - Throws: `FleetError` for invalid settings and unusable files.
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

  /// True if the server itself uses TLS.
  package var isSecure: Bool { certificates != nil }

  package var isBehindProxy: Bool { !control.configuration.proxyAddresses.isEmpty }

  /// The middleware that sets `principal` and `access` in the context of authenticated requests, and rejects
  /// others.
  package var gate: any MiddlewareProtocol<Request, Response, WebContext> {
    Gate(control, isEncrypted: isSecure)
  }

  /// The routes below `/api/v1`.
  package var interface: [any RouteGroup] { [SessionRoutes(control), ShareRoutes(control)] }

  /// The routes at the root.
  package var roots: [any RouteGroup] { [LinkEntrance(control)] }

  /// Returns the transport of connections.
  package func connections(_ limits: ConnectionLimits) -> HTTPServerBuilder {
    GuardedTransport.builder(certificates: certificates, control: control, limits: limits)
  }

  package func start() throws(FleetError) {
    let started = try AccessMaintenance(
      control, certificates: certificates, file: file, address: address)
    keeper.withLock { $0 = started }
    if !control.configuration.hasLogin { return }
    if control.configuration.stateFolder == nil {
      StandardError.report(
        "sessions and links end with the server; state in [access] names a folder that stores them")
    }
  }

  /// Sets the function that checks whether a vehicle exists before a link is created.
  package func know(_ isThere: @escaping @Sendable (VehicleKey) -> Bool) { control.know(isThere) }

  /// Requests to reload users, tokens and the certificate, then other parts. Can be called from any thread.
  package func reload(_ others: @escaping AccessMaintenance.Reload) { keeper.withLock { $0 }?.reload(others) }

  package func stop() {
    keeper.withLock { keeper in
      defer { keeper = nil }
      return keeper
    }?.stop()
    control.stop()
  }
}
