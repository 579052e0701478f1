package import JSON
internal import Spatial

/// A command for vehicles with its parameters. The list of all commands is the single source for the command
/// line and the web API.
package struct VehicleCommand: Hashable, Sendable {
  /// A member of the request.
  package struct Parameter: Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
      case number(ClosedRange<Double>, unit: String)
      /// A text without control characters; the range is its length in UTF-8 bytes.
      case text(ClosedRange<Int>)
      /// A time in RFC 3339.
      case time
      case flag
    }

    package var name: String
    package var kind: Kind
    package var isRequired = false
    package var summary: String
  }

  package var name: String
  /// A description for people.
  package var summary: String
  package var parameters: [Parameter] = []
  /// Parameters of which at least one is required; empty for none.
  package var requiresOne: [String] = []
  /// A question to confirm before sending; nil for a harmless command.
  package var confirmation: String?
  /// True if the command applies to a single vehicle, so that several vehicles are an error.
  package var isForOne = false

  /// Returns the parameter with a name; nil if there is none.
  package func parameter(_ name: String) -> Parameter? { parameters.first { $0.name == name } }

  /// Returns the command with a name; nil if there is none.
  package static func named(_ name: String) -> VehicleCommand? { all.first { $0.name == name } }

  /// Names of the commands that have a parameter, as in `zero, level and simulate-location`.
  package static func owners(of parameter: String) -> String {
    let names = all.filter { $0.parameter(parameter) != nil }.map(\.name)
    guard names.count > 1, let last = names.last else { return names.first ?? "no command" }
    return names.dropLast().joined(separator: ", ") + " and " + last
  }
}

extension VehicleCommand {
  /// The commands of the wire contract without `history`, `samples` and `trace`, whose results are read in
  /// pieces by separate commands.
  package static let all = [
    VehicleCommand(
      name: "locate", summary: "Reports the current position; waits for a sufficiently accurate fix.",
      parameters: [
        Parameter(
          name: "accuracy", kind: .number(1...100_000, unit: "m"),
          summary: "Required accuracy at 68 % (default: 50).")
      ]),
    VehicleCommand(name: "status", summary: "Reports the complete current status."),
    VehicleCommand(name: "reload", summary: "Reloads the vehicle's configuration file."),
    VehicleCommand(
      name: "track", summary: "Reports the positions of a period from the vehicle's history.",
      parameters: [
        Parameter(name: "from", kind: .time, isRequired: true, summary: "Start of the period."),
        Parameter(name: "to", kind: .time, summary: "End of the period (default: now)."),
      ]),
    VehicleCommand(
      name: "reset-regions",
      summary: "Resets the vehicle's region states to unknown, and determines them anew.",
      confirmation: "The vehicle publishes an enter transition again for each region that it is inside."),
    VehicleCommand(
      name: "forget-regions", summary: "Deletes the regions that were set remotely.",
      confirmation:
        "The vehicle deletes the regions that were set remotely, and uses those of its own file again."),
    VehicleCommand(
      name: "region-state", summary: "Reports the state of one region, or of all regions.",
      parameters: [
        Parameter(name: "region", kind: .text(1...64), summary: "Name of the region (default: all regions).")
      ]),
    VehicleCommand(
      name: "zero", summary: "Defines the current attitude as the reference for relative attitudes.",
      parameters: [
        Parameter(
          name: "clear", kind: .flag, summary: "Remove the reference; no relative attitudes are reported.")
      ],
      confirmation: "The vehicle then also reports attitudes relative to the current one."),
    VehicleCommand(
      name: "level", summary: "Defines the current attitude as level.",
      parameters: [
        Parameter(name: "clear", kind: .flag, summary: "Remove the level correction.")
      ],
      confirmation: "The vehicle must be at rest on level ground."),
    VehicleCommand(
      name: "set-odometer", summary: "Sets the odometer to the reading of the instrument panel.",
      parameters: [
        Parameter(
          name: "odometer", kind: .number(0...10_000_000_000, unit: "m"), isRequired: true,
          summary: "Reading of the instrument panel in metres.")
      ],
      confirmation: "The vehicle's odometer continues from this reading.", isForOne: true),
    VehicleCommand(
      name: "set-trip", summary: "Sets the driver, or the purpose of the trip.",
      parameters: [
        Parameter(
          name: "driver", kind: .text(0...200),
          summary: "Current driver; empty for unknown."),
        Parameter(
          name: "purpose", kind: .text(0...200),
          summary: "Purpose of the current or next trip; empty deletes it."),
      ],
      requiresOne: ["driver", "purpose"], isForOne: true),
    VehicleCommand(
      name: "record", summary: "Records the accelerometer from now on, for odograph history.",
      parameters: [
        Parameter(
          name: "seconds", kind: .number(0.1...604_800, unit: "s"), isRequired: true,
          summary: "Duration. The vehicle limits it (remote.record_seconds).")
      ]),
    VehicleCommand(
      name: "simulate-location", summary: "Replaces the position of a recorded or simulated vehicle.",
      parameters: [
        Parameter(
          name: "latitude", kind: .number(-90...90, unit: "°"), summary: "With longitude: a fixed position."),
        Parameter(
          name: "longitude", kind: .number(-180...180, unit: "°"), summary: "With latitude: a fixed position."
        ),
        Parameter(
          name: "track", kind: .text(1...255), summary: "A file in the vehicle's folder of tracks."),
        Parameter(name: "none", kind: .flag, summary: "Simulate that there is no fix."),
        Parameter(name: "clear", kind: .flag, summary: "Use the positions of the vehicle's own input again."),
      ],
      requiresOne: ["latitude", "track", "none", "clear"]),
  ]
}

extension VehicleCommand.Parameter {
  /// The accepted values, such as `1 to 100000 m`.
  package var accepted: String {
    switch kind {
    case .number(let range, let unit): "\(Int(range.lowerBound)) to \(Int(range.upperBound)) \(unit)"
    case .text(let range):
      "\(range.lowerBound == 0 ? "at most" : "\(range.lowerBound) to") \(range.upperBound) bytes without control characters"
    case .time: "a time as in 2026-11-21T08:00:00Z"
    case .flag: "true or false"
    }
  }

  /// Returns the value in the wire format; nil for an invalid one.
  package func value(of json: JSONValue) -> JSONValue? {
    switch (kind, json) {
    case (.number(let range, _), .integer), (.number(let range, _), .number):
      json.double.flatMap { range.contains($0) ? json : nil }
    case (.text(let range), .string(let text)):
      range.contains(text.utf8.count)
        && text.unicodeScalars.allSatisfy { $0.value >= 0x20 && !(0x7F...0x9F).contains($0.value) }
        ? json : nil
    case (.time, .string(let text)): UTCTime(rfc3339: text).map { .string($0.rfc3339) }
    case (.flag, .bool): json
    default: nil
    }
  }
}

extension VehicleCommand {
  /// Checks the arguments of a request.
  /// - Throws: `JSONError` with the missing, unknown or invalid argument.
  package func arguments(_ given: [String: JSONValue]) throws(JSONError) -> [String: JSONValue] {
    var members: [String: JSONValue] = [:]
    for (name, value) in given.sorted(by: { $0.key < $1.key }) {
      guard let parameter = parameter(name) else {
        let known = parameters.map(\.name).joined(separator: ", ")
        throw JSONError(
          "argument \"\(name.prefix(80))\": \(self.name) has \(known.isEmpty ? "no arguments" : "only \(known)")"
        )
      }
      guard let accepted = parameter.value(of: value) else {
        throw JSONError("argument \"\(name)\": must be \(parameter.accepted)")
      }
      members[name] = accepted
    }
    for parameter in parameters where parameter.isRequired && members[parameter.name] == nil {
      throw JSONError("argument \"\(parameter.name)\": missing; must be \(parameter.accepted)")
    }
    if !requiresOne.isEmpty, !requiresOne.contains(where: { members[$0] != nil }) {
      throw JSONError("one of the arguments \(requiresOne.joined(separator: ", ")) is required")
    }
    return members
  }

  /// Returns the seconds for which a vehicle may wait for a fix, so that it responds within the request's
  /// timeout; nil for commands with an immediate response.
  package func fixTimeout(of timeout: Double) -> JSONValue? {
    name == "locate" ? .number(max(0, min(300, timeout - 1))) : nil
  }
}
