package import Fleet
package import JSON
internal import Settings
internal import TOML
internal import Telemetry

/// Settings for vehicles by their dotted keys, from a command line or a file.
package struct ConfigSettings: Hashable, Sendable {
  package private(set) var values: [String: JSONValue] = [:]
  /// The keys to remove, so that the vehicle's own file applies again.
  package private(set) var removed: Set<String> = []

  package var isEmpty: Bool { values.isEmpty && removed.isEmpty }

  /// Parses settings.
  ///
  /// - Parameters:
  ///   - assignments: texts of the form `key=value`. The value is JSON, or otherwise text; an array has TOML
  ///     syntax or is separated by commas.
  ///   - removals: the keys to remove.
  ///   - file: a JSON file with an object of keys, or with such an object as its member `settings`; its path
  ///     is for errors.
  /// - Throws: `FleetError` for an invalid input, key or value.
  package init(
    assignments: [String], removals: [String] = [], file: (path: String, bytes: [UInt8])? = nil
  ) throws(FleetError) {
    if let file {
      for (key, value) in try Self.settings(file.bytes, of: file.path).sorted(by: { $0.key < $1.key }) {
        values[key] = try Self.checked(value, of: key, place: " of \(file.path)")
      }
    }
    for assignment in assignments {
      guard let equals = assignment.firstIndex(of: "="), equals != assignment.startIndex else {
        throw .usage("read", "\"\(assignment.prefix(80))\"", "write a setting as key=value")
      }
      let key = String(assignment[..<equals])
      let text = String(assignment[assignment.index(after: equals)...])
      values[key] = try Self.checked(Self.value(text, of: key), of: key, text: text)
    }
    for key in removals {
      // Any existing key can be removed, including one that another version has set.
      try Self.checkForm(key, place: "")
      values[key] = nil
      removed.insert(key)
    }
  }

  /// Checks settings.
  ///
  /// - Parameter members: values by their keys; null removes a key.
  /// - Throws: `FleetError` with the invalid key or value.
  package init(_ members: [String: JSONValue]) throws(FleetError) {
    for (key, value) in members.sorted(by: { $0.key < $1.key }) {
      if value == .null {
        try Self.checkForm(key, place: "")
        removed.insert(key)
      } else {
        values[key] = try Self.checked(value, of: key)
      }
    }
  }

  /// Parses the text of a value: a number, a flag or a list of texts in JSON; any other text is a string.
  static func value(_ text: String) -> JSONValue {
    guard let json = try? JSONValue(parsing: Array(text.utf8)) else { return .string(text) }
    switch json {
    case .bool, .integer, .number, .string: return json
    case .array(let elements) where elements.allSatisfy({ $0.string != nil }): return json
    default: return .string(text)
    }
  }

  /// Parses the value of a key; an array of texts has the syntax of the vehicle's own command line.
  private static func value(_ text: String, of key: String) throws(FleetError) -> JSONValue {
    guard let rule = ConfigurationKey.byPath[key], case .texts = rule.kind else { return value(text) }
    guard TOMLValue.isQuotedOrArray(text) else { return rule.parse(text)?.json ?? .string(text) }
    let array: TOMLValue
    do throws(TOMLError) {
      array = try TOMLValue(parsing: text)
    } catch {
      let column = error.position.map { " (character \($0.column))" } ?? ""
      throw .usage(
        "set", "\(key) to \(text.prefix(80))",
        "it is \(error.problem)\(column); write it as in '[\"a\", \"b\"]', or as in a,b")
    }
    guard let texts = array.texts else {
      throw .usage("set", "\(key) to \(text.prefix(80))", "must be \(rule.accepted)")
    }
    return .array(texts.map(JSONValue.string))
  }

  /// Returns the desired settings after this change.
  package func applied(to wanted: [String: JSONValue]) -> [String: JSONValue] {
    var result = wanted.filter { !removed.contains($0.key) }
    for (key, value) in values { result[key] = value }
    return result
  }

  /// Checks a setting against the vehicles' own rules before it is sent.
  /// - Parameter text: the value's original text, because a number such as 5 can be meant as a string; nil
  ///   for a JSON value.
  private static func checked(
    _ value: JSONValue, of key: String, text: String? = nil, place: String = ""
  ) throws(FleetError) -> JSONValue {
    try checkForm(key, place: place)
    if let problem = RemoteKeys.problem(with: key) {
      throw .usage("set", "\"\(key)\"\(place)", problem)
    }
    guard let rule = ConfigurationKey.byPath[key] else { return value }
    if let accepted = rule.accept(json: value) {
      if let problem = rule.problem(of: accepted) {
        throw .usage("set", "\(key) to \(value.text.prefix(80))\(place)", problem)
      }
      // A speed with a unit is converted to a number in m/s, which older versions of the agent also accept.
      if case .speed = rule.kind, value.string != nil { return accepted.json }
      return value
    }
    if let text, rule.accept(.text(text)) != nil { return .string(text) }
    throw .usage("set", "\(key) to \(value.text.prefix(80))\(place)", "must be \(rule.accepted)")
  }

  private static func checkForm(_ key: String, place: String) throws(FleetError) {
    let isKey =
      key.contains(".") && !key.hasPrefix(".") && !key.hasSuffix(".") && key.utf8.count <= 128
      && key.utf8.allSatisfy {
        (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || $0 == 0x5F || $0 == 0x2E
      }
    guard isKey else {
      throw .usage(
        "set", "\"\(key.prefix(80))\"\(place)",
        "a key has the form table.name, for example location.distance_filter")
    }
  }

  private static func settings(
    _ bytes: [UInt8], of path: String
  ) throws(FleetError) -> [String: JSONValue] {
    do throws(JSONError) {
      let json = try JSONValue(parsing: bytes)
      let object = json["settings"] ?? json
      guard case .object(let members) = object else { throw JSONError("not an object of settings") }
      return members
    } catch {
      throw .usage("read", path, error.description)
    }
  }
}

extension ConfigSettings {
  /// Checks the keys to remove: a key is an error if it is unknown and among no vehicle's desired settings.
  /// - Throws: `FleetError` with the first such key.
  package func checkRemovals(_ vehicles: [VehicleDocuments]) throws(FleetError) {
    for key in removed.sorted() {
      guard let problem = RemoteKeys.problem(with: key),
        !vehicles.contains(where: { $0.wantedSettings[key] != nil })
      else { continue }
      throw .usage("unset", "\"\(key)\"", problem)
    }
  }

  /// Returns the new desired document in the wire format: the previous desired settings with this change. If the
  /// broker has lost the desired document, the settings in effect take its place, so that none is withdrawn.
  /// Keys that the vehicle has rejected are left out, because one of them would block all others; keys that
  /// this change sets are requested again. A report on an earlier document leaves out nothing, because its
  /// settings can have been corrected since.
  /// - Parameter version: the sender's version name.
  /// - Returns: the document, and the keys that were left out, with the reasons of the rejection.
  package func document(
    on documents: VehicleDocuments, version: String
  ) -> (json: JSONValue, leftBehind: [(key: String, reason: String)]) {
    var wanted = documents.desired == nil ? documents.settingsInForce : documents.wantedSettings
    var leftBehind: [(key: String, reason: String)] = []
    for refusal in documents.isCurrent ? documents.refusedSettings : []
    where values[refusal.key] == nil && wanted.removeValue(forKey: refusal.key) != nil {
      leftBehind.append(refusal)
    }
    return (
      .object(["version": .string(version), "settings": .object(applied(to: wanted))]), leftBehind
    )
  }
}

extension VehicleDocuments {
  package var wantedSettings: [String: JSONValue] { Self.members(desired?["settings"]) }
  package var settingsInForce: [String: JSONValue] { Self.members(reported?["settings"]) }

  private static func members(_ json: JSONValue?) -> [String: JSONValue] {
    if case .object(let members)? = json { members } else { [:] }
  }

  /// The keys that the vehicle rejected, with the reasons.
  package var refusedSettings: [(key: String, reason: String)] {
    (reported?["refused"]?.array ?? []).compactMap { refusal in
      refusal["key"]?.string.map { ($0, refusal["reason"]?.string ?? "no reason given") }
    }
  }

  /// The keys whose desired value is not in effect, or that are in effect but not desired. `wanted` is nil
  /// for a key that is not desired, `inForce` for one that is not in effect.
  package var settingDifferences: [(key: String, wanted: JSONValue?, inForce: JSONValue?)] {
    let (wanted, inForce) = (wantedSettings, settingsInForce)
    return Set(wanted.keys).union(inForce.keys).sorted().compactMap { key in
      Self.isSame(wanted[key], inForce[key]) ? nil : (key, wanted[key], inForce[key])
    }
  }

  /// Compares values; 1 and 1.0 are equal.
  private static func isSame(_ a: JSONValue?, _ b: JSONValue?) -> Bool {
    if let x = a?.double, let y = b?.double { return x == y }
    return a == b
  }
}
