internal import Fleet
internal import FleetAlerts
package import Hummingbird
internal import JSON
internal import Spatial

/// `/alerts`, `/rules`, and the silence of an alert.
package struct AlertRoutes: RouteGroup {
  /// Nil without rules: there are no alerts then.
  private let service: AlertService?
  /// Seconds for which an alert is silenced at most: a month.
  private static let longest = 31 * 86_400.0

  init(_ service: AlertService?) { self.service = service }

  package func add(to router: RouterGroup<WebContext>) {
    router.get("alerts") { [service] request, context in
      let principal = try context.requirePrincipal()
      let state = try request.query("state") ?? "open"
      guard state == "open" || state == "all" else { throw WebError.invalid("query", "state is open or all") }
      let (rule, fleet, vehicle) = (
        try request.query("rule"), try request.query("fleet"), try request.query("vehicle")
      )
      guard let view = service?.state else { return Response.json(Array(#"{"alerts":[]}"#.utf8)) }
      let json = Self.json(view, onlyOpen: state == "open") { key in
        principal.sees(key) && fleet.map { $0 == key.fleet } ?? true
          && vehicle.map { $0 == key.vehicle } ?? true
      } selects: {
        rule == nil || $0.rule == rule
      }
      return Response.json(json)
    }
    router.get("rules") { [service] _, context in
      let principal = try context.requirePrincipal()
      guard let service else { return Response.json(Array(#"{"rules":[]}"#.utf8)) }
      return Response.json(Self.rules(service.settings, principal))
    }
    router.post("alerts/{id}/silence") { [service] request, context in
      let principal = try context.requirePrincipal()
      let identifier = try context.name("id")
      guard let service, case let view = service.state, let alert = view.alert(identifier),
        principal.sees(alert.vehicle)
      else {
        throw WebError.notFound("alert \(identifier)")
      }
      guard principal.role == .operate else { throw WebError.roleTooLow }
      let seconds = try await Self.seconds(in: request)
      let until = Moment.now.time.advanced(bySeconds: seconds)
      service.silence(
        Silence(rule: alert.rule, fleet: alert.vehicle.fleet, vehicle: alert.vehicle.vehicle, until: until))
      context.note(detail: "silence \(alert.rule) for \(Int(seconds)) s", vehicles: [alert.vehicle])
      let body = JSONWriter.object { json in
        AlertText.write(alert, epoch: view.epoch, silenced: until, to: &json)
      }
      return Response.json(body)
    }
  }

  private static func seconds(in request: Request) async throws -> Double {
    let json = try await request.json(upTo: 4096, types: nil)
    guard let seconds = json["seconds"]?.double, seconds > 0, seconds <= longest else {
      throw WebError.invalid(
        "body", "seconds is a number above 0, \(Int(longest)) at most", remedy: "send {\"seconds\": 3600}")
    }
    return seconds
  }

  /// Alerts that may be seen, the newest first.
  static func json(
    _ view: AlertsView, onlyOpen: Bool, sees: (VehicleKey) -> Bool, selects: (Alert) -> Bool = { _ in true }
  ) -> [UInt8] {
    let now = Moment.now.time
    return JSONWriter.object { json in
      json.key("alerts")
      json.openArray()
      for alert in view.alerts(onlyOpen: onlyOpen, sees: sees) where selects(alert) {
        json.openObject()
        AlertText.write(alert, epoch: view.epoch, silenced: view.silenced(alert, at: now), to: &json)
        json.closeObject()
      }
      json.closeArray()
    }
  }

  /// Rules that are about anything that may be seen. Receivers are told by name alone.
  private static func rules(_ settings: AlertSettings, _ principal: Principal) -> [UInt8] {
    JSONWriter.object { json in
      json.key("rules")
      json.openArray()
      for rule in settings.rules where principal.mayLookAt(rule) {
        json.openObject()
        json.field("name", rule.name)
        json.field("when", rule.condition.kind.rawValue)
        json.field("severity", rule.severity.rawValue)
        json.field("for", rule.duration, decimals: 3)
        json.field("quiet", rule.quiet?.description)
        json.field("receivers", texts: settings.receivers(of: rule).map(\.name))
        json.closeObject()
      }
      json.closeArray()
    }
  }
}

extension Principal {
  /// A rule of all vehicles tells nothing of any.
  fileprivate func mayLookAt(_ rule: AlertRule) -> Bool {
    if rule.fleets.isEmpty && rule.vehicles.isEmpty { return true }
    guard let fleets = scope.fleets else { return true }
    return !fleets.isDisjoint(with: rule.fleets) || rule.vehicles.contains { sees($0) }
      || scope.vehicles.contains { rule.covers($0) }
  }
}
