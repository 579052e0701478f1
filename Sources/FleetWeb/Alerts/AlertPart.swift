internal import Fleet
internal import FleetAlerts
internal import FleetConsole
internal import Platform
internal import Prometheus
internal import Telemetry

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

  /// Goes on by the rules and receivers of a file that was read again.
  func reload(_ file: SettingsFile) {
    do throws(FleetError) {
      let running = service.settings
      guard let settings = try AlertSettings(file) else {
        throw .usage("use", file.path, "it has no alerts any more; a server without them wants a restart")
      }
      service.reload(settings)
      StandardError.say(
        "uses rules and receivers of \(file.path) as they are now: \(settings.rules.count) rules")
      if settings.store != running.store { StandardError.say("alerts: another store wants a restart") }
    } catch {
      StandardError.say("goes on with the rules and receivers that it has: \(error)")
    }
  }

  /// Says of a server that started without alerts that its file has some by now.
  static func sayWhatWantsARestart(_ file: SettingsFile) {
    do throws(FleetError) {
      guard try AlertSettings(file) != nil else { return }
      StandardError.say(
        "alerts: \(file.path) has some now; a server that has started without wants a restart")
    } catch { StandardError.say("goes on without alerts: \(error)") }
  }

  func write(to metrics: inout MetricsText) { metrics.append(service.metrics) }

  /// What hears of events, once the service has started.
  func events(_ feed: FleetFeed, _ context: ServeContext) -> AlertEvents {
    AlertEvents(service: service, feed: feed, context: context)
  }

  var event: String { "alerts" }
  var revision: UInt64 { service.revision }

  /// Alerts that a stream tells: more than a page shows at once, and few enough to be told again and again.
  private static let told = 300

  /// The most severe and newest of open alerts that somebody may see, and how many there are.
  func json(for principal: Principal) -> [UInt8]? {
    // As the gate refuses `/alerts` to who has a link.
    guard !principal.isLink else { return nil }
    let view = service.state
    let page = view.page(.open, .severity, limit: Self.told) { principal.sees($0.vehicle) }
    return AlertRoutes.json(page, view, groups: true)
  }
}

/// The session at the broker that events come in.
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

  /// Asks for what rules ask for by now.
  func reload() {
    guard session.withLock({ $0.kinds != service.eventKinds }) else { return }
    stop()
    do throws(FleetError) { try start() } catch { StandardError.say("alerts: what happens: \(error)") }
  }

  func stop() {
    let made = session.withLock { session in
      defer { session.made = nil }
      return session.made
    }
    made?.stop()
  }
}
