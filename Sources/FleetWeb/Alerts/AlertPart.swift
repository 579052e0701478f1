internal import Fleet
internal import FleetAlerts
internal import FleetProgram
internal import Platform
internal import Prometheus
internal import Telemetry

/// The alert service as a part of the server and as a source of stream events.
struct AlertPart: ServePart, StreamSource, MetricsSource {
  private let service: AlertService

  /// Creates the part.
  ///
  /// - Returns: nil for a configuration without alerts.
  /// - Throws: `FleetError` for invalid rules and receivers, with their position.
  init?(_ file: SettingsFile, _ context: ServeContext) throws(FleetError) {
    guard let settings = try AlertSettings(file) else { return nil }
    service = AlertService(settings, profile: context.selection.profile, root: context.selection.root) {
      StandardError.report($0)
    }
  }

  var routes: AlertRoutes { AlertRoutes(service) }

  /// Adds the alert service to the server's parts.
  func join(_ parts: inout ServeParts) {
    parts.observers.append(service)
    parts.sources.append(self)
    parts.metrics.append(self)
    parts.parts.append(self)
  }

  func start() throws(FleetError) { try service.start() }
  func stop() { service.stop() }

  /// Applies the rules and receivers of a reloaded file.
  func reload(_ file: SettingsFile) {
    do throws(FleetError) {
      let running = service.settings
      guard let settings = try AlertSettings(file) else {
        throw .usage("use", file.path, "it has no alerts any more; this requires a restart")
      }
      service.reload(settings)
      StandardError.report(
        "reloaded rules and receivers from \(file.path): \(settings.rules.count) rules")
      if settings.store != running.store {
        StandardError.report("alerts: changing the store requires a restart")
      }
    } catch {
      StandardError.report("continues with the previous rules and receivers: \(error)")
    }
  }

  /// Warns that a restart is required if `[alerts]` was added to the file after the start without it.
  static func logSettingsThatNeedARestart(_ file: SettingsFile) {
    do throws(FleetError) {
      guard try AlertSettings(file) != nil else { return }
      StandardError.report(
        "alerts: [alerts] was added to \(file.path); this requires a restart")
    } catch { StandardError.report("continues without alerts: \(error)") }
  }

  func write(to metrics: inout MetricsText) { metrics.append(service.metrics) }

  /// Returns the part that receives the vehicle events of alert rules. It must be started after the alert
  /// service.
  func events(_ feed: FleetFeed, _ context: ServeContext) -> AlertEvents {
    AlertEvents(service: service, feed: feed, context: context)
  }

  var event: String { "alerts" }
  var revision: UInt64 { service.revision }

  /// The maximum number of alerts in a stream event: more than a page shows, and few enough to send
  /// repeatedly.
  private static let told = 300

  /// Returns the most severe and newest open alerts that a principal can see, and their total number.
  func json(for principal: Principal) -> [UInt8]? {
    // The holder of a link sees no alerts; the gate also rejects `/alerts`.
    guard !principal.isLink else { return nil }
    let view = service.state
    let page = view.page(.open, .severity, limit: Self.told) { principal.sees($0.vehicle) }
    return AlertRoutes.json(page, view, groups: true)
  }
}

/// The broker session for the vehicle events that alert rules use.
final class AlertEvents: ServePart {
  private let service: AlertService
  private let feed: FleetFeed
  private let context: ServeContext
  private let session = Locked<(made: EventSession?, kinds: [MessageKind])>((nil, []))

  init(service: AlertService, feed: FleetFeed, context: ServeContext) {
    (self.service, self.feed, self.context) = (service, feed, context)
  }

  func start() throws(FleetError) {
    let kinds = service.eventKinds
    let made = try EventSession(of: service, broker: context.broker, selection: context.selection) {
      [feed] topic in
      feed.withRoster { roster in roster.key(of: topic).flatMap { roster[$0] } }
    }
    try made?.start()
    session.withLock { $0 = (made, kinds) }
  }

  /// Evaluates changed rules with the states of all vehicles, and restarts the session if the rules use other events.
  func reload() {
    feed.report(to: service)
    guard session.withLock({ $0.kinds != service.eventKinds }) else { return }
    stop()
    do throws(FleetError) { try start() } catch {
      StandardError.report("alerts: vehicle events unavailable: \(error)")
    }
  }

  func stop() {
    let made = session.withLock { session in
      defer { session.made = nil }
      return session.made
    }
    made?.stop()
  }
}
