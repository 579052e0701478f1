internal import Fleet
internal import FleetManagement
internal import HTTPTypes
package import Hummingbird
internal import JSON
internal import Spatial
internal import Telemetry

/// The routes for the desired and reported regions of vehicles.
package struct RegionRoutes: RouteGroup {
  private let desk: ControlDesk

  package init(_ desk: ControlDesk) { self.desk = desk }

  /// The maximum size of a request in bytes, equal to the gate's limit.
  static let largestBody = Gate.longestBody
  static let types = ["application/geo+json", "application/json"]

  package func add(to router: RouterGroup<WebContext>) {
    router.get("vehicles/{fleet}/{vehicle}/regions") { _, context in try await show(context) }
    router.put("vehicles/{fleet}/{vehicle}/regions") { request, context in
      try await set(request, context)
    }
    router.get("regions") { request, context in try await list(request, context) }
    router.put("regions") { request, context in try await setMany(request, context) }
  }

  // MARK: Reading

  private func show(_ context: WebContext) async throws -> Response {
    let key = try desk.vehicle(try context.requireVehicle()).key
    try await desk.waitUntilRead()
    let documents = try desk.documents(.regions, of: key).parsed
    let body = JSONWriter.object { json in
      json.field("fleet", key.fleet)
      json.field("vehicle", key.vehicle)
      documents.write(to: &json)
    }
    return .json(body)
  }

  private func list(_ request: Request, _ context: WebContext) async throws -> Response {
    let principal = try context.requirePrincipal()
    try request.refuseQueries(but: ["region"])
    let region = try request.query("region")
    try await desk.waitUntilRead()
    let keys = desk.vehicles(of: principal)
    let documents = try keys.map { ($0, try desk.documents(.regions, of: $0)) }
    // Parsing thousands of documents would block the cooperative pool.
    return .json(try await desk.threads.run { RegionOverview(documents, region: region).json })
  }

  // MARK: Changing

  private func set(_ request: Request, _ context: WebContext) async throws -> Response {
    let key = try context.requireVehicleToOperate()
    _ = try context.requirePrincipal()
    let vehicle = try desk.vehicle(key)
    let json = try await request.json(upTo: Self.largestBody, types: Self.types)
    let document = try Self.document(json)
    let detail = "\(document.features.count) regions"
    return try await desk.changing("regions", [key], detail: detail, context) {
      try vehicle.requireManaged()
      try await desk.turns.begin([key])
      defer { desk.turns.end([key]) }
      let (version, payloads) = try await payloads([key: document])
      let reports = try await desk.publish(.regions, payloads, refusable: "regions")
      return (desk.accepted(version, reports), ControlDesk.outcome(reports))
    }
  }

  private func setMany(_ request: Request, _ context: WebContext) async throws -> Response {
    let principal = try context.requireOperator()
    let members = try await request.json(upTo: Self.largestBody).members([
      "vehicles", "features", "add", "remove",
    ])
    let keys = try Self.keys(members["vehicles"])
    for key in keys where !principal.sees(key) { throw WebError.notFound("vehicle \(key)") }
    let vehicles = try keys.map(desk.vehicle)
    let change = try Change(members)
    return try await desk.changing("regions", keys, detail: change.detail, context) {
      if change.needsDesiredDocument { try await desk.waitUntilRead() }
      try await desk.turns.begin(keys)
      defer { desk.turns.end(keys) }
      let managed = vehicles.filter(\.isManaged).map(\.key)
      let known =
        try change.needsDesiredDocument ? managed.map { ($0, try desk.documents(.regions, of: $0)) } : []
      // Parsing thousands of documents would block the cooperative pool.
      let wanted = try await desk.threads.run { try change.wanted(of: managed, known) }
      let (version, payloads) = try await payloads(wanted)
      let reports = try await desk.publish(.regions, payloads)
      let unmanaged = vehicles.filter { !$0.isManaged }.map(\.key)
      return (
        desk.accepted(
          version, reports, unmanaged: unmanaged, unchanged: Set(managed).subtracting(wanted.keys)),
        ControlDesk.outcome(reports, unmanaged: unmanaged.count)
      )
    }
  }

  private func payloads(
    _ wanted: [VehicleKey: RegionDocument]
  ) async throws -> (version: String, payloads: [VehicleKey: [UInt8]]) {
    let version = Moment.now.time.rfc3339
    return try await desk.threads.run {
      // Regions that many vehicles share are encoded once.
      var payloads: [RegionDocument: [UInt8]] = [:]
      var documents: [VehicleKey: [UInt8]] = [:]
      for (key, document) in wanted.sorted(by: { $0.key < $1.key }) {
        let payload = payloads[document] ?? Array(document.json(version: version).text.utf8)
        guard payload.count <= RegionDocument.largestSize else {
          throw WebError(
            .contentTooLarge, "too-large",
            "The regions of \(key) are \(payload.count) bytes; a vehicle accepts \(RegionDocument.largestSize).",
            remedy: "Simplify outlines, or leave out regions.")
        }
        (payloads[document], documents[key]) = (payload, payload)
      }
      return (version, documents)
    }
  }

  static func document(_ json: JSONValue) throws(WebError) -> RegionDocument {
    let document: RegionDocument
    do throws(JSONError) { document = try RegionImport.regions(json) } catch {
      throw .unprocessable("\(error)")
    }
    guard document.replaced.isEmpty else {
      throw .unprocessable(
        "region \"\(document.replaced[0])\" occurs twice", remedy: "Give each its own id.")
    }
    return document
  }

  private static func keys(_ json: JSONValue?) throws(WebError) -> [VehicleKey] {
    guard let names = json?.array, !names.isEmpty else {
      throw .invalid(
        "body", "key \"vehicles\": missing or empty", remedy: "Name vehicles as in [\"fleet/vehicle\"].")
    }
    var keys: [VehicleKey] = []
    for (index, name) in names.enumerated() {
      let parts = name.string?.split(separator: "/", omittingEmptySubsequences: false) ?? []
      guard parts.count == 2, !parts.contains("") else {
        throw .invalid("body", "key \"vehicles[\(index)]\": must be a text as in \"fleet/vehicle\"")
      }
      keys.append(VehicleKey(fleet: String(parts[0]), vehicle: String(parts[1])))
    }
    return Set(keys).sorted()
  }
}
