internal import Fleet
internal import FleetAlerts
package import Hummingbird
internal import JSON
internal import Spatial

/// The routes `/alerts` and `/rules`, with silencing and ending an alert.
package struct AlertRoutes: RouteGroup {
  /// The service; nil without rules.
  private let service: AlertService?
  /// The maximum time in seconds for which an alert can be silenced: 31 days.
  private static let longest = 31 * 86_400.0

  init(_ service: AlertService?) { self.service = service }

  package func add(to router: RouterGroup<WebContext>) {
    router.get("alerts") { [service] request, context in
      let principal = try context.requirePrincipal()
      let asked = try AlertQuery(request)
      guard let view = service?.state else {
        return Response.json(Array(#"{"alerts":[],"count":0}"#.utf8))
      }
      let page = view.page(asked.state, asked.order, after: asked.after, limit: asked.limit) {
        principal.sees($0.vehicle) && asked.selects($0, view.epoch)
      }
      return Response.json(Self.json(page, view))
    }
    router.get("rules") { [service] _, context in
      let principal = try context.requirePrincipal()
      guard let service else { return Response.json(Array(#"{"rules":[]}"#.utf8)) }
      return Response.json(Self.rules(service.settings, principal))
    }
    router.post("alerts/{id}/silence") { [service] request, context in
      let (service, view, alert) = try Self.changeable(service, context)
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
    router.post("alerts/{id}/end") { [service] _, context in
      let (service, _, alert) = try Self.changeable(service, context)
      service.end(alert.number)
      context.note(detail: "end \(alert.rule): \(alert.summary)", vehicles: [alert.vehicle])
      return Response(status: .noContent)
    }
  }

  /// Returns the alert of a request, if its sender may change it.
  private static func changeable(
    _ service: AlertService?, _ context: WebContext
  ) throws -> (AlertService, AlertsView, Alert) {
    let principal = try context.requirePrincipal()
    let identifier = try context.name("id")
    guard let service, case let view = service.state, let alert = view.alert(identifier),
      principal.sees(alert.vehicle)
    else {
      throw WebError.notFound("alert \(identifier)")
    }
    guard principal.role == .operate else { throw WebError.roleTooLow }
    return (service, view, alert)
  }

  private static func seconds(in request: Request) async throws -> Double {
    let json = try await request.json(upTo: 4096, types: nil)
    guard let seconds = json["seconds"]?.double, seconds > 0, seconds <= longest else {
      throw WebError.invalid(
        "body", "seconds must be above 0 and at most \(Int(longest))", remedy: "send {\"seconds\": 3600}")
    }
    return seconds
  }

  /// Returns a page of alerts as JSON.
  ///
  /// - Parameter groups: true to add the number of alerts of each rule, for clients that only show the first
  ///   alerts.
  static func json(_ page: AlertsPage, _ view: AlertsView, groups: Bool = false) -> [UInt8] {
    let now = Moment.now.time
    return JSONWriter.object { json in
      json.field("alerts", objects: page.alerts) { json, alert in
        AlertText.write(alert, epoch: view.epoch, silenced: view.silenced(alert, at: now), to: &json)
      }
      json.field("count", page.count)
      json.field("next", page.next?.description)
      guard groups else { return }
      json.field("more", page.count - page.alerts.count)
      json.field("groups", objects: page.groups) { json, group in
        json.field("rule", group.rule)
        json.field("severity", group.severity.rawValue)
        json.field("count", group.count)
      }
    }
  }

  /// Returns the rules that a principal may see. Of their receivers, only the names are included.
  private static func rules(_ settings: AlertSettings, _ principal: Principal) -> [UInt8] {
    JSONWriter.object { json in
      json.key("rules")
      json.openArray()
      for rule in settings.rules where principal.mayLookAt(rule) {
        json.openObject()
        json.field("name", rule.name)
        json.field("when", rule.condition.kind.rawValue)
        switch rule.condition {
        case .battery(let below, let until):
          json.field("below", below, decimals: 3)
          json.field("until", until, decimals: 3)
        case .speed(let above, let until), .queue(let above, let until), .accuracy(let above, let until):
          json.field("above", above, decimals: 3)
          json.field("until", until, decimals: 3)
        case .offline, .silent, .entered, .left, .event, .trace: break
        }
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
  /// Returns whether this principal may see a rule. A rule that names no fleet or vehicle is visible to all,
  /// because it reveals none.
  fileprivate func mayLookAt(_ rule: AlertRule) -> Bool {
    if rule.fleets.isEmpty && rule.vehicles.isEmpty { return true }
    guard let fleets = scope.fleets else { return true }
    return !fleets.isDisjoint(with: rule.fleets) || rule.vehicles.contains { sees($0) }
      || scope.vehicles.contains { rule.covers($0) }
  }
}

/// The selection of alerts in a request.
private struct AlertQuery {
  var state = AlertsPage.State.open
  var order = AlertsPage.Order.newest
  var after: AlertsPage.Cursor?
  var limit = 1000
  private let id, rule, fleet, vehicle: String?

  /// Parses the query.
  ///
  /// - Throws: 400 for an invalid value.
  init(_ request: Request) throws(WebError) {
    try request.refuseQueries(
      but: ["id", "rule", "fleet", "vehicle", "state", "order", "after", "limit"])
    (id, rule) = (try request.query("id"), try request.query("rule"))
    (fleet, vehicle) = (try request.query("fleet"), try request.query("vehicle"))
    if let text = try request.query("state") {
      guard let state = AlertsPage.State(rawValue: text) else {
        throw .invalid("query", "state must be open, ended or all")
      }
      self.state = state
    }
    if let text = try request.query("order") {
      guard let order = AlertsPage.Order(rawValue: text) else {
        throw .invalid("query", "order must be newest or severity")
      }
      self.order = order
    }
    if let text = try request.query("after") {
      guard let place = AlertsPage.Cursor(text) else {
        throw .invalid("query", "after must be the value of next of the previous page")
      }
      after = place
    }
    limit = try request.query("limit", in: 1...1000) ?? limit
  }

  func selects(_ alert: Alert, _ epoch: String) -> Bool {
    func agrees(_ wanted: String?, _ value: @autoclosure () -> String) -> Bool {
      wanted.map { $0 == value() } ?? true
    }
    return agrees(rule, alert.rule) && agrees(fleet, alert.vehicle.fleet)
      && agrees(vehicle, alert.vehicle.vehicle)
      && agrees(id, AlertText.identifier(alert.number, epoch: epoch))
  }
}
