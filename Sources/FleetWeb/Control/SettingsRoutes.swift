internal import Fleet
internal import FleetManagement
internal import HTTPTypes
package import Hummingbird
internal import JSON
internal import Settings
internal import Spatial
internal import Telemetry

/// The routes for remote settings: desired and effective values.
package struct SettingsRoutes: RouteGroup {
  private let desk: ControlDesk

  package init(_ desk: ControlDesk) { self.desk = desk }

  /// The maximum size of a request in bytes; a request with all keys and long values has a few thousand.
  static let largestBody = 65_536
  private static let largestLabel = 100

  package func add(to router: RouterGroup<WebContext>) {
    router.get("settings") { _, context in
      _ = try context.requirePrincipal()
      return Response.json(Self.keys)
    }
    router.get("vehicles/{fleet}/{vehicle}/settings") { _, context in try await show(context) }
    router.patch("vehicles/{fleet}/{vehicle}/settings") { request, context in
      try await change(request, context)
    }
  }

  /// The keys whose values are speeds in km/h.
  private static let speeds: Set = ["events.speed_limit"]

  /// The remotely changeable keys with their valid values. A vehicle can allow fewer (`remote.keys`).
  private static let keys = JSONWriter.object { json in
    json.key("settings")
    json.openArray()
    for key in ConfigurationKey.all.sorted(by: { $0.path < $1.path })
    where RemoteKeys.problem(with: key.path) == nil {
      json.openObject()
      json.field("key", key.path)
      switch key.kind {
      case .text: json.field("type", "string")
      case .texts: json.field("type", "strings")
      case .coordinate: json.field("type", "coordinate")
      case .flag: json.field("type", "boolean")
      case .oneOf(let choices):
        json.field("type", "string")
        json.field("choices", texts: choices)
      case .integer(let range):
        json.field("type", "integer")
        json.field("minimum", range.lowerBound)
        json.field("maximum", range.upperBound)
      case .number(let range), .speed(let range):
        json.field("type", "number")
        json.field("minimum", range.lowerBound, decimals: 6)
        json.field("maximum", range.upperBound, decimals: 6)
      }
      if speeds.contains(key.path) { json.field("unit", "km/h") }
      if let value = key.defaultValue {
        json.key("default")
        json.value(value.json)
      }
      json.field("usual", RemoteKeys.usual.contains(key.path))
      json.closeObject()
    }
    json.closeArray()
  }

  private func show(_ context: WebContext) async throws -> Response {
    let key = try desk.vehicle(try context.requireVehicle()).key
    try await desk.waitUntilRead()
    let documents = try desk.documents(.config, of: key).parsed
    let body = JSONWriter.object { json in
      json.field("fleet", key.fleet)
      json.field("vehicle", key.vehicle)
      json.field("request", documents.desired?["version"]?.string)
      json.field("state", documents.progress)
      json.field("answers", documents.reported?["version"]?.string)
      json.field("problem", documents.reported?["problem"]?.string)
      json.key("wanted")
      json.value(.object(documents.wantedSettings))
      json.key("reported")
      json.value(.object(documents.settingsInForce))
      json.write(refused: documents.refusedSettings, as: "refused")
      json.key("differences")
      json.openArray()
      for difference in documents.settingDifferences {
        json.openObject()
        json.field("key", difference.key)
        for (name, value) in [("wanted", difference.wanted), ("inForce", difference.inForce)] {
          guard let value else { continue }
          json.key(name)
          json.value(value)
        }
        json.closeObject()
      }
      json.closeArray()
    }
    return .json(body)
  }

  private func change(_ request: Request, _ context: WebContext) async throws -> Response {
    let key = try context.requireVehicleToOperate()
    _ = try context.requirePrincipal()
    let vehicle = try desk.vehicle(key)
    let members = try await request.json(
      upTo: Self.largestBody, types: ["application/json", "application/merge-patch+json"]
    ).members(["settings", "label"])
    guard case .object(let given)? = members["settings"], !given.isEmpty else {
      throw WebError.invalid(
        "body", "key \"settings\": missing or empty", remedy: "Send an object of keys; null removes one.")
    }
    let version = try Self.version(members["label"])
    try await desk.waitUntilRead()
    // The desired settings are read, changed and published under the vehicle's lock, so that the second of
    // two concurrent changes is based on the first.
    try await desk.turns.begin([key])
    defer { desk.turns.end([key]) }
    let documents = try desk.documents(.config, of: key).parsed
    let settings: ConfigSettings
    do throws(FleetError) {
      settings = try ConfigSettings(given)
      try settings.checkRemovals([documents])
    } catch {
      throw WebError.unprocessable("\(error)")
    }
    let detail = given.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value.text.prefix(80))" }
    return try await desk.changing(
      "settings", [key], detail: detail.joined(separator: " "), context
    ) {
      try vehicle.requireManaged()
      let wanted = settings.document(on: documents, version: version)
      let reports = try await desk.publish(
        .config, [key: Array(wanted.json.text.utf8)], refusable: "settings")
      return (
        desk.accepted(version, reports) { $0.write(refused: wanted.leftBehind, as: "leftBehind") },
        ControlDesk.outcome(reports)
      )
    }
  }

  private static func version(_ label: JSONValue?) throws(WebError) -> String {
    guard let label else { return Moment.now.time.rfc3339 }
    guard let text = label.string, (1...largestLabel).contains(text.utf8.count),
      text.unicodeScalars.allSatisfy({ !$0.isUnseen })
    else {
      throw .invalid(
        "body", "key \"label\": must be a text of 1 to \(largestLabel) bytes without control characters")
    }
    return text
  }
}

extension JSONWriter {
  /// Writes the settings that a vehicle rejected, with the reasons.
  fileprivate mutating func write(refused: [(key: String, reason: String)], as name: StaticString) {
    key(name)
    openArray()
    for (key, reason) in refused {
      openObject()
      field("key", key)
      field("reason", reason)
      closeObject()
    }
    closeArray()
  }
}
