package import ArgumentParser
package import Fleet
package import FleetCommand
internal import JSON
internal import Spatial

/// The permissions of a new entry in the configuration.
package struct EntryOptions: ParsableArguments {
  @Argument(help: ArgumentHelp("The user's or the token's name.", valueName: "name"))
  package var name: String

  @Option(help: "view, or operate to send commands, settings and regions too.")
  package var role: Role = .view

  @Option(
    help: ArgumentHelp("Visible fleet; repeat for several (default: all).", valueName: "fleet"))
  package var fleet: [String] = []

  @Option(
    help: ArgumentHelp("Visible vehicle; repeat for several.", valueName: "fleet/vehicle"))
  package var vehicle: [String] = []

  package init() {}
}

extension Role: ExpressibleByArgument {}

/// The commands that create entries for the configuration's tables `users` and `tokens`, and print them.
package enum EntryCommand {
  /// Prompts for a password without echo, or reads it from the first line of standard input, and prints the
  /// entry.
  /// - Throws: `FleetError` for an invalid name or password.
  package static func password(_ options: EntryOptions) throws(FleetError) -> ExitStatus {
    let head = try entry("users", options)
    guard let password = try PasswordPrompt.read(for: options.name) else { return .interrupted }
    return try print(head + ["password = \"\(try PasswordHash(of: password).text)\""], options, "")
  }

  /// Creates a token, and prints it with its entry.
  /// - Parameter expires: a date or time in RFC 3339; nil for no expiry.
  /// - Throws: `FleetError` for an invalid name or time.
  package static func token(_ options: EntryOptions, expires: String?) throws(FleetError) -> ExitStatus {
    var lines = try entry("tokens", options)
    let token = SecretText.random()
    lines.append("sha256 = \"\(SecretDigest(of: token).hexadecimal)\"")
    if let expires {
      guard let end = UTCTime(rfc3339: expires) ?? UTCTime(rfc3339: expires + "T00:00:00Z") else {
        throw .usage(
          "use", "--expires \(expires.prefix(40))",
          "write a date or a time as 2027-01-31 or 2027-01-31T18:00:00Z")
      }
      guard end > Moment.now.time else {
        throw .usage("use", "--expires \(expires.prefix(40))", "this time is in the past; use a later one")
      }
      lines.append("expires = \(JSONValue.string(expires).text)")
    }
    return try print(
      lines, options, "# The token, which is not stored: send it as Authorization: Bearer \(token)\n")
  }

  private static func entry(_ table: String, _ options: EntryOptions) throws(FleetError) -> [String] {
    let name = options.name
    let isPlain = name.unicodeScalars.allSatisfy { $0.value > 0x20 && $0.value != 0x7F }
    guard isPlain, !name.isEmpty, name.utf8.count <= AccessConfiguration.longestName else {
      throw .usage(
        "use", "the name \(name.prefix(80))",
        "it has spaces, or more than \(AccessConfiguration.longestName) bytes")
    }
    for vehicle in options.vehicle {
      let parts = vehicle.split(separator: "/", omittingEmptySubsequences: false)
      guard parts.count == 2, parts.allSatisfy({ !$0.isEmpty }) else {
        throw .usage("use", "--vehicle \(vehicle.prefix(80))", "write fleet/vehicle")
      }
    }
    let isBare = name.utf8.allSatisfy { byte in
      UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte | 0x20 || UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte
        || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
    }
    var lines = [
      "[\(table).\(isBare ? name : JSONValue.string(name).text)]", "role = \"\(options.role.rawValue)\"",
    ]
    if !options.fleet.isEmpty { lines.append("fleets = \(list(options.fleet))") }
    if !options.vehicle.isEmpty { lines.append("vehicles = \(list(options.vehicle))") }
    return lines
  }

  private static func list(_ texts: [String]) -> String {
    "[" + texts.map { JSONValue.string($0).text }.joined(separator: ", ") + "]"
  }

  private static func print(
    _ lines: [String], _ options: EntryOptions, _ comment: String
  ) throws(FleetError) -> ExitStatus {
    try CommandOutput.print(comment + lines.joined(separator: "\n") + "\n")
    return .done
  }
}
