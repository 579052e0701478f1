internal import Fleet
internal import FleetAlerts
internal import FleetConsole
internal import Platform

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

  /// What hears of events, once the service has started.
  func events(_ feed: FleetFeed, _ context: ServeContext) -> AlertEvents {
    AlertEvents(service: service, feed: feed, context: context)
  }

  var event: String { "alerts" }
  var revision: UInt64 { service.revision }

  /// Open alerts that somebody may see.
  func json(for principal: Principal) -> [UInt8]? {
    // As the gate refuses `/alerts` to who has a link.
    guard !principal.isLink else { return nil }
    return AlertRoutes.json(service.state, onlyOpen: true) { principal.sees($0) }
  }
}

/// The session at the broker that events come in.
final class AlertEvents: ServePart {
  private let service: AlertService
  private let feed: FleetFeed
  private let context: ServeContext
  private let session = Locked<EventSession?>(nil)

  init(service: AlertService, feed: FleetFeed, context: ServeContext) {
    (self.service, self.feed, self.context) = (service, feed, context)
  }

  func start() throws(FleetError) {
    let made = try EventSession(of: service, broker: context.broker, selection: context.selection) {
      [feed] topic in
      feed.withRoster { roster in roster.key(of: topic).flatMap { roster[$0] } }
    }
    try made?.start()
    session.withLock { $0 = made }
  }

  func stop() {
    let made = session.withLock { $0 }
    made?.stop()
  }
}
