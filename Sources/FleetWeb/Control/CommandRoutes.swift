internal import Fleet
internal import FleetManagement
internal import HTTPTypes
package import Hummingbird
internal import JSON
internal import Spatial

/// The routes for listing and sending commands.
package struct CommandRoutes: RouteGroup {
  private let desk: ControlDesk

  package init(_ desk: ControlDesk) { self.desk = desk }

  static let largestBody = 16_384
  /// The default time in seconds to wait for a vehicle's response.
  static let usualTimeout = 10.0
  static let largestTimeout = 30.0
  /// The lifetime in seconds of a command to a vehicle that is asleep and has not announced its next contact.
  static let longestSleep = 86_400.0
  /// The seconds after an announced contact within which a vehicle should respond: clocks differ, and links
  /// are slow.
  static let afterContact = 600.0

  package func add(to router: RouterGroup<WebContext>) {
    router.get("commands") { _, context in
      _ = try context.requirePrincipal()
      return Response.json(Self.catalogue)
    }
    router.get("vehicles/{fleet}/{vehicle}/commands") { _, context in
      let key = try desk.vehicle(try context.requireVehicle()).key
      return Self.answers(desk.client.withState { $0.commands.requests(to: key) })
    }
    router.post("vehicles/{fleet}/{vehicle}/commands") { request, context in
      try await give(request, context)
    }
  }

  private func give(_ request: Request, _ context: WebContext) async throws -> Response {
    let key = try context.requireVehicleToOperate()
    let principal = try context.requirePrincipal()
    let vehicle = try desk.vehicle(key)
    let members = try await request.json(upTo: Self.largestBody).members(["command", "arguments", "timeout"])
    let (command, arguments) = try Self.request(members)
    let timeout = try Self.timeout(members["timeout"])
    let sleeps = vehicle.state == .asleep
    var sent = arguments
    sent["timeout"] = command.fixTimeout(of: sleeps ? Self.largestTimeout : timeout)
    let lifetime = sleeps ? Self.lifetime(vehicle) : timeout
    let detail = JSONValue.object(arguments).text
    return try await desk.changing(
      "command \(command.name)", [key], detail: detail, context
    ) {
      try vehicle.requireManaged()
      let given: CommandRequest
      do throws(ManagementProblem) {
        given = try await desk.client.give(
          command.name, sent, to: key, by: principal.name, seconds: sleeps ? 0 : timeout, lifetime: lifetime)
      } catch { throw WebError(error) }
      if let refusal = given.brokerRefusal {
        throw WebError(.badGateway, "broker-refused", "The command was refused \(refusal).")
      }
      let state = given.state(at: Moment.now.time)
      if sleeps { return (Self.answers([given], status: .accepted), state.rawValue) }
      guard given.answer != nil else {
        throw WebError(
          .gatewayTimeout, "no-answer",
          given.isSent
            ? "The vehicle did not answer within \(Int(timeout.rounded(.up))) s."
            : "The broker did not confirm the command within \(Int(timeout.rounded(.up))) s.",
          remedy: "Check whether the vehicle is online, or increase timeout (at most 30).")
      }
      return (Self.answers([given]), state.rawValue)
    }
  }

  private static func request(
    _ members: [String: JSONValue]
  ) throws(WebError) -> (VehicleCommand, [String: JSONValue]) {
    let names = VehicleCommand.all.map(\.name).joined(separator: ", ")
    guard let name = members["command"]?.string else {
      throw .invalid("body", "key \"command\": missing or not a text", remedy: "The commands are \(names).")
    }
    guard let command = VehicleCommand.named(name) else {
      throw .unprocessable("unknown command \"\(name.prefix(80))\"", remedy: "The commands are \(names).")
    }
    let given: [String: JSONValue]
    switch members["arguments"] {
    case nil: given = [:]
    case .object(let members): given = members
    default: throw .invalid("body", "key \"arguments\": must be an object")
    }
    do throws(JSONError) { return (command, try command.arguments(given)) } catch {
      throw .unprocessable("\(error)")
    }
  }

  private static func timeout(_ json: JSONValue?) throws(WebError) -> Double {
    guard let json else { return usualTimeout }
    guard let seconds = json.double, (1...largestTimeout).contains(seconds) else {
      throw .invalid("body", "key \"timeout\": must be a number from 1 to \(Int(largestTimeout))")
    }
    return seconds
  }

  private static func lifetime(_ vehicle: ControlDesk.Vehicle) -> Double {
    guard let contact = vehicle.nextContact else { return longestSleep }
    return min(longestSleep, max(0, contact.seconds(since: Moment.now.time)) + afterContact)
  }

  private static func answers(_ requests: [CommandRequest], status: HTTPResponse.Status = .ok) -> Response {
    let now = Moment.now.time
    let body = JSONWriter.object { json in
      json.key("answers")
      json.openArray()
      for request in requests { request.write(to: &json, at: now) }
      json.closeArray()
    }
    return .json(body, status: status)
  }

  /// The list of all commands, as JSON.
  private static let catalogue = JSONWriter.object { json in
    json.field("commands", objects: VehicleCommand.all) { json, command in
      json.field("name", command.name)
      json.field("summary", command.summary)
      json.field("confirmation", command.confirmation)
      json.key("arguments")
      json.openArray()
      for parameter in command.parameters { json.write(parameter) }
      json.closeArray()
      if !command.requiresOne.isEmpty { json.field("requiresOne", texts: command.requiresOne) }
    }
  }
}

extension JSONWriter {
  fileprivate mutating func write(_ parameter: VehicleCommand.Parameter) {
    openObject()
    field("name", parameter.name)
    field("summary", parameter.summary)
    field("required", parameter.isRequired)
    switch parameter.kind {
    case .number(let range, let unit):
      field("type", "number")
      field("unit", unit)
      field("minimum", range.lowerBound, decimals: 6)
      field("maximum", range.upperBound, decimals: 6)
    case .text(let range):
      field("type", "string")
      field("minimumBytes", range.lowerBound)
      field("maximumBytes", range.upperBound)
    case .time:
      field("type", "string")
      field("format", "date-time")
    case .flag: field("type", "boolean")
    }
    closeObject()
  }
}
