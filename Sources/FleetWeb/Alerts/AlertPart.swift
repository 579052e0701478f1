internal import Fleet
internal import FleetAlerts
internal import FleetConsole

/// The alerts' service as a part of the server, and what streams tell of it.
struct AlertPart: ServePart, StreamSource, MetricsSource {
  private let service: AlertService

  /// - Returns: nil for a configuration without alerts.
  /// - Throws: `FleetError` for rules and receivers that make no sense, at their place.
  init?(_ file: SettingsFile, _ context: ServeContext) throws(FleetError) {
    guard let settings = try AlertSettings(file) else { return nil }
    service = AlertService(settings, profile: context.selection.profile, root: context.selection.root) {
      StandardError.say($0)
    }
  }

  var routes: AlertRoutes { AlertRoutes(service) }

  /// Puts what it has to do into the server's parts.
  func join(_ parts: inout ServeParts) {
    parts.observers.append(service)
    parts.sources.append(self)
    parts.metrics.append(self)
    parts.parts.append(self)
  }

  func start() throws(FleetError) { try service.start() }
  func stop() { service.stop() }

  func write(to metrics: inout MetricsText) { metrics.append(service.metrics) }

  var event: String { "alerts" }
  var revision: UInt64 { service.revision }

  /// Open alerts that somebody may see.
  func json(for principal: Principal) -> [UInt8]? {
    // As the gate refuses `/alerts` to who has a link.
    guard !principal.isLink else { return nil }
    return AlertRoutes.json(service.state, onlyOpen: true) { principal.sees($0) }
  }
}
