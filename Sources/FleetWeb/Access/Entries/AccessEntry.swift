package import Fleet
internal import JSON

/// An entry for the table `users` or `tokens` of the configuration.
package struct AccessEntry: Hashable, Sendable {
  package let name: String
  package var role: Role
  /// The visible fleets, and the visible vehicles as `fleet/vehicle`; both empty for all vehicles.
  package var fleets, vehicles: [String]

  /// - Throws: `FleetError` for an invalid name.
  package init(
    name: String, role: Role, fleets: [String] = [], vehicles: [String] = []
  ) throws(FleetError) {
    let isPlain = name.unicodeScalars.allSatisfy { $0.value > 0x20 && $0.value != 0x7F }
    guard isPlain, !name.isEmpty, name.utf8.count <= AccessConfiguration.longestName else {
      throw .usage(
        "use", "the name \(name.prefix(80))",
        "it has spaces, or more than \(AccessConfiguration.longestName) bytes")
    }
    self.name = name
    (self.role, self.fleets, self.vehicles) = (role, fleets, vehicles)
  }

  /// Returns the entry of a user with the hash of the password. Slow, as the hash is.
  /// - Throws: `FleetError` for a password that is too short or too long.
  package func user(password: String) throws(FleetError) -> String {
    text("users", ["password = \"\(try PasswordHash(of: password).text)\""])
  }

  /// Returns a new token, and its entry, which contains only its digest.
  /// - Parameter expiry: a date or time in RFC 3339; nil for a token that does not expire.
  package func token(expiry: String?) -> (token: String, text: String) {
    let token = SecretText.random()
    let digest = "sha256 = \"\(SecretDigest(of: token).hexadecimal)\""
    return (
      token, text("tokens", [digest] + (expiry.map { ["expires = \(JSONValue.string($0).text)"] } ?? []))
    )
  }

  private func text(_ table: String, _ secret: [String]) -> String {
    let isBare = name.utf8.allSatisfy { byte in
      UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte | 0x20 || UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte
        || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
    }
    var lines = [
      "[\(table).\(isBare ? name : JSONValue.string(name).text)]", "role = \"\(role.rawValue)\"",
    ]
    if !fleets.isEmpty { lines.append("fleets = \(Self.list(fleets))") }
    if !vehicles.isEmpty { lines.append("vehicles = \(Self.list(vehicles))") }
    return (lines + secret).joined(separator: "\n") + "\n"
  }

  private static func list(_ texts: [String]) -> String {
    "[" + texts.map { JSONValue.string($0).text }.joined(separator: ", ") + "]"
  }
}
