internal import Fleet
package import Hummingbird
internal import JSON
internal import NIOCore
internal import Spatial

/// The routes `/vehicles`, a single vehicle, and `/positions`: the current state of the fleet.
package struct LiveRoutes: RouteGroup {
  private let fleet: LiveFleet

  package init(_ fleet: LiveFleet) { self.fleet = fleet }

  package func add(to router: RouterGroup<WebContext>) {
    router.get("vehicles") { [fleet] request, context in
      let principal = try context.requirePrincipal()
      let query = try VehicleQuery(request)
      let now = Moment.now
      return fleet.withTable(at: now) { table in
        var json = JSONWriter(capacity: table.entries.count * 450 + 200)
        json.openObject()
        json.field("revision", table.revision)
        json.field("now", now.time.rfc3339)
        json.key("vehicles")
        json.openArray()
        var predictions = PredictionTag()
        for entry in table.entries where principal.sees(entry.key) && query.selects(entry) {
          json.raw(entry.json(for: principal, at: now))
          if let predicted = entry.predicted(at: now) { predictions.append(predicted, of: entry.key) }
        }
        json.closeArray()
        json.closeObject()
        let tag = fleet.tag(of: table, for: principal, predictions)
        return Response.json(json.bytes).tagged(tag, for: request)
      }
    }
    router.get("vehicles/{fleet}/{vehicle}") { [fleet] request, context in
      let principal = try context.requirePrincipal()
      let key = try context.requireVehicle()
      let now = Moment.now
      guard let (json, revision, predicted) = fleet.details(of: key, at: now, forLink: principal.isLink)
      else {
        throw WebError.notFound("vehicle \(key)")
      }
      var predictions = PredictionTag()
      if let predicted { predictions.append(predicted, of: key) }
      let tag = "\(fleet.instance)-\(revision)\(principal.isLink ? "-link" : "")\(predictions.suffix)"
      return Response.json(json).tagged(tag, for: request)
    }
    router.get("positions") { [fleet] request, context in
      let principal = try context.requirePrincipal()
      let query = try VehicleQuery(request)
      let now = Moment.now
      return fleet.withTable(at: now) { table in
        var json = JSONWriter(capacity: table.entries.count * 600 + 200)
        json.openObject()
        json.field("type", "FeatureCollection")
        json.key("features")
        json.openArray()
        var predictions = PredictionTag()
        for entry in table.entries where principal.sees(entry.key) && query.selects(entry) {
          entry.writeFeature(to: &json, for: principal, at: now)
          if let predicted = entry.predicted(at: now) { predictions.append(predicted, of: entry.key) }
        }
        json.closeArray()
        json.closeObject()
        let tag = fleet.tag(of: table, for: principal, predictions)
        return Response.geoJSON(json.bytes).tagged(tag, for: request)
      }
    }
  }
}

extension LiveFleet {
  /// Returns a tag that changes with any vehicle and any predicted position, and differs by the principal's
  /// permissions.
  fileprivate func tag(
    of table: SummaryTable, for principal: Principal, _ predictions: PredictionTag
  ) -> String {
    var scope = principal.isLink ? "link\n" : ""
    scope += principal.scope.fleets.map { $0.sorted().joined(separator: "\n") } ?? "*"
    for key in principal.scope.vehicles.sorted() { scope += "\n\(key)" }
    return "\(instance)-\(table.revision)-\(ContentTag.of(Array(scope.utf8)))\(predictions.suffix)"
  }
}

/// The part of a tag that changes with the predicted positions in a response. These change by time alone while
/// a vehicle moves, and are constant while it is at rest.
private struct PredictionTag {
  private var hash: ContentTag.Hash?

  mutating func append(_ position: PredictedPosition, of key: VehicleKey) {
    var hash = self.hash ?? ContentTag.Hash()
    hash.combine(Array(key.description.utf8))
    hash.combine(position.place)
    self.hash = hash
  }

  /// The text to append to a tag; empty for a response without predicted positions.
  var suffix: String { hash.map { "-\($0.text)" } ?? "" }
}

extension SummaryTable.Entry {
  /// Writes a GeoJSON point with the summary as its properties, at the predicted position or, without a
  /// prediction, at the last one. Writes nothing for a vehicle without a position.
  fileprivate func writeFeature(to json: inout JSONWriter, for principal: Principal, at now: Moment) {
    guard let coordinate = predicted(at: now)?.coordinate ?? coordinate else { return }
    json.openObject()
    json.field("type", "Feature")
    json.field("id", key.description)
    json.field("geometry") { json in
      json.field("type", "Point")
      json.field("coordinates", numbers: [coordinate.longitude, coordinate.latitude], decimals: 7)
    }
    json.key("properties")
    json.raw(self.json(for: principal, at: now))
    json.closeObject()
  }
}

extension VehicleQuery {
  /// Parses the query.
  ///
  /// - Throws: 400 for an invalid value.
  fileprivate init(_ request: Request) throws(WebError) {
    self.init()
    try request.refuseQueries(but: ["state", "fleet", "q", "bounds"])
    for name in try request.query("state")?.split(separator: ",") ?? [] {
      guard let state = VehicleState(rawValue: String(name)) else {
        let names = VehicleState.allCases.map(\.rawValue).joined(separator: ", ")
        throw .invalid("query", "state must be one or several of \(names)")
      }
      states.insert(state)
    }
    fleet = try request.query("fleet")
    text = try request.query("q")?.lowercased()
    if let bounds = try request.query("bounds") { self.bounds = try MapBounds(parsing: bounds) }
  }
}
