internal import Settings
internal import Spatial
internal import Telemetry

/// Reads the value of each key from the first layer that sets it, or from the preset, or the default. Layers
/// contain only valid values.
struct ConfigurationReader: Sendable {
  /// Layers in order of priority.
  let layers: [ConfigurationLayer]
  let file: String?
  let folders: AgentFolders
  let preset: Preset

  init(
    layers: [ConfigurationLayer], file: String?, folders: AgentFolders
  ) throws(ConfigurationError) {
    preset = Preset(chosenBy: layers)
    self.layers = layers + [try preset.layer()]
    self.file = file
    self.folders = folders
  }

  /// Returns the effective value; nil if the key is not set and has no default.
  func value(_ path: String) -> ConfigurationKey.Value? {
    assert(ConfigurationKey.byPath[path] != nil, "there is no key \(path)")
    if path == "location.reporting", isDistanceImplied { return .text("distance") }
    for layer in layers { if let setting = layer[path] { return setting.value } }
    return ConfigurationKey.byPath[path]?.defaultValue
  }

  /// True if the operator has set a distance filter but not `location.reporting`; values of the preset do not
  /// count. The filter then selects distance reporting.
  private var isDistanceImplied: Bool {
    guard case .number(let filter)? = written("location.distance_filter")?.value else { return false }
    return filter > 0 && written("location.reporting") == nil
  }

  /// Returns a key's setting from the origin with the highest priority, without the preset; nil if only the
  /// preset or nothing sets the key.
  func written(_ path: String) -> ConfigurationLayer.Setting? {
    layers.dropLast().lazy.compactMap { $0[path] }.first
  }

  func text(_ path: String) throws(ConfigurationError) -> String {
    guard let value = optionalText(path) else { throw missing(path) }
    return value
  }

  /// Returns a text; nil if the key is unset or empty.
  func optionalText(_ path: String) -> String? {
    guard case .text(let text)? = value(path), !text.isEmpty else { return nil }
    return text
  }

  func texts(_ path: String) throws(ConfigurationError) -> [String] {
    guard case .texts(let texts)? = value(path) else { throw missing(path) }
    return texts
  }

  func integer(_ path: String) throws(ConfigurationError) -> Int {
    guard case .integer(let number)? = value(path) else { throw missing(path) }
    return number
  }

  func number(_ path: String) throws(ConfigurationError) -> Double {
    guard case .number(let number)? = value(path) else { throw missing(path) }
    return number
  }

  /// Returns a number; nil for 0, which disables the key's function.
  func positive(_ path: String) throws(ConfigurationError) -> Double? {
    let number = try number(path)
    return number > 0 ? number : nil
  }

  /// Returns a number; nil for 0, which disables the key's function.
  func positive(_ path: String) throws(ConfigurationError) -> Int? {
    let number = try integer(path)
    return number > 0 ? number : nil
  }

  func flag(_ path: String) throws(ConfigurationError) -> Bool {
    guard case .flag(let flag)? = value(path) else { throw missing(path) }
    return flag
  }

  /// Returns a string as a case of the type.
  func choice<Choice: RawRepresentable>(
    _ path: String, as type: Choice.Type = Choice.self
  ) throws(ConfigurationError) -> Choice where Choice.RawValue == String {
    guard let choice = Choice(rawValue: try text(path)) else { throw missing(path) }
    return choice
  }

  /// Returns an array of strings as cases of the type.
  func choices<Choice: RawRepresentable & CaseIterable & Hashable>(
    _ path: String, of type: Choice.Type = Choice.self
  ) throws(ConfigurationError) -> Set<Choice> where Choice.RawValue == String {
    var chosen: Set<Choice> = []
    for text in try texts(path) {
      guard let choice = Choice(rawValue: text) else {
        let names = Choice.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ", ")
        throw problem(path, "\"\(text.prefix(40))\" is not one of \(names)")
      }
      chosen.insert(choice)
    }
    return chosen
  }

  func time(_ path: String) throws(ConfigurationError) -> UTCTime? {
    guard let text = optionalText(path) else { return nil }
    guard let time = UTCTime(rfc3339: text) ?? UTCTime(rfc3339: text + "T00:00:00Z") else {
      throw problem(path, "\"\(text.prefix(40))\" is not an RFC 3339 date or time")
    }
    return time
  }

  /// Returns a position; nil if the key is not set.
  func coordinate(_ path: String) throws(ConfigurationError) -> Coordinate? {
    guard case .numbers(let numbers)? = value(path), numbers.count == 2 else { return nil }
    return Coordinate(latitude: numbers[0], longitude: numbers[1])
  }

  /// Returns the texts of two keys that must be set together; nil if both are unset.
  func pair(_ a: String, _ b: String) throws(ConfigurationError) -> (String, String)? {
    switch (optionalText(a), optionalText(b)) {
    case (let first?, let second?): return (first, second)
    case (nil, nil): return nil
    case (let first, _):
      throw ConfigurationError(
        .conflict, place: place(of: first == nil ? b : a),
        problem: "\(a) and \(b) go together; set both or neither")
    }
  }

  /// Returns the origin of the effective value.
  func place(of path: String) -> String {
    layers.lazy.compactMap { $0[path]?.place }.first ?? file ?? "configuration"
  }

  /// Returns an error about a key with its origin.
  func problem(
    _ path: String, _ what: String, _ kind: ConfigurationError.Kind = .invalidValue
  ) -> ConfigurationError {
    ConfigurationError(kind, place: place(of: path), problem: "key \(path): \(what)")
  }

  /// Folder of the vehicle's state files: `state.path`, else the folder of `store.path`, else the user's
  /// state folder.
  var stateFolder: String {
    optionalText("state.path") ?? optionalText("store.path").map(StateFolder.of) ?? folders.state
  }

  /// Returns the path of a key, else a file name in the state folder.
  func statePath(_ path: String? = nil, else name: String) -> String {
    if let path, let set = optionalText(path) { return set }
    let folder = stateFolder
    return folder == "." ? name : folder.hasSuffix("/") ? folder + name : "\(folder)/\(name)"
  }

  private func missing(_ path: String) -> ConfigurationError {
    if path == "vehicle.id", layers.contains(where: { $0[path] != nil }) {
      return problem(
        path, "is empty: the vehicle has no name yet; let odographd init ask for it, or write it here",
        .missingKey)
    }
    var problem = "key \(path) is missing; set it to \(ConfigurationKey.byPath[path]?.accepted ?? "a value")"
    if path == "vehicle.id" {
      problem += ", or let odographd init write a configuration"
      if file == nil {
        problem += " (there is none at \(folders.configurations.joined(separator: " nor at ")))"
      }
    }
    return ConfigurationError(.missingKey, place: file ?? "configuration", problem: problem)
  }
}
