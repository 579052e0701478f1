internal import Configuration
internal import Platform
internal import TOMLKit
internal import Telemetry

/// The values that one place sets: a file, the environment or the command line.
struct ConfigurationLayer: Sendable {
  /// By dotted path; each of its key's own type.
  var values: [String: ConfigurationKey.Value] = [:]
  /// Where each value was set, for messages about it.
  var places: [String: String] = [:]

  init() {}

  /// From the text of a TOML file.
  ///
  /// - Parameter name: what to call the file in messages.
  /// - Throws: `ConfigurationError` for bad syntax, an unknown key or a value that its key does not accept.
  init(toml text: String, name: String) throws(ConfigurationError) {
    if let problem = TOMLSyntax.fatalProblem(in: text) {
      throw ConfigurationError(place: "\(name):\(problem.line)", problem: "not TOML: \(problem.text)")
    }
    let table: TOMLTable
    do {
      table = try TOMLTable(string: text)
    } catch let error as TOMLParseError {
      throw ConfigurationError(
        place: "\(name):\(error.source.begin.line)", problem: "not TOML: \(error.description)")
    } catch {
      throw ConfigurationError(place: name, problem: "not TOML: \(error)")
    }
    let lines = TOMLKeyLines(text)
    try collect(table, prefix: "", name: name, lines: lines)
  }

  private mutating func collect(
    _ table: TOMLTable, prefix: String, name: String, lines: TOMLKeyLines
  ) throws(ConfigurationError) {
    for key in table.keys {
      guard let member = table[key] else { continue }
      let path = prefix + key
      if let inner = member.table {
        let isSection = ConfigurationKey.all.contains { $0.path.hasPrefix(path + ".") }
        guard isSection else { throw Self.unknown(path, place: lines.place(of: path, in: name)) }
        try collect(inner, prefix: path + ".", name: name, lines: lines)
      } else {
        let place = lines.place(of: path, in: name)
        guard let spec = ConfigurationKey.byPath[path] else { throw Self.unknown(path, place: place) }
        guard let value = Self.value(of: member).flatMap(spec.accept) else {
          throw ConfigurationError(
            place: place, problem: "key \(path): \(Self.describe(member)) is not \(spec.accepted)")
        }
        values[path] = value
        places[path] = place
      }
    }
  }

  /// From environment variables; those that do not begin with `ODOGRAPH_` are none of ours.
  init(environment: [String: String]) throws(ConfigurationError) {
    let byName = Dictionary(uniqueKeysWithValues: ConfigurationKey.all.map { ($0.environmentName, $0) })
    for (name, text) in environment.sorted(by: { $0.key < $1.key }) {
      guard let spec = byName[name] else { continue }
      try set(spec, to: text, place: "environment variable \(name)")
    }
  }

  /// From `key=value` pairs of the command line.
  init(assignments: [String]) throws(ConfigurationError) {
    for assignment in assignments {
      guard let equals = assignment.firstIndex(of: "=") else {
        throw ConfigurationError(place: "--set \(assignment)", problem: "write it as key=value")
      }
      let path = String(assignment[..<equals].trimmingSpaces())
      guard let spec = ConfigurationKey.byPath[path] else { throw Self.unknown(path, place: "--set") }
      try set(spec, to: String(assignment[assignment.index(after: equals)...]), place: "--set \(path)")
    }
  }

  private mutating func set(
    _ spec: ConfigurationKey, to text: String, place: String
  ) throws(ConfigurationError) {
    guard let value = spec.parse(text) else {
      throw ConfigurationError(place: place, problem: "\"\(text.prefix(80))\" is not \(spec.accepted)")
    }
    values[spec.path] = value
    places[spec.path] = place
  }

  /// The layer as a provider of the configuration library, which does the layering.
  var provider: InMemoryProvider {
    var contents: [AbsoluteConfigKey: ConfigValue] = [:]
    for (path, value) in values {
      let content: ConfigContent =
        switch value {
        case .text(let text): .string(text)
        case .texts(let texts): .stringArray(texts)
        case .integer(let number): .int(number)
        case .number(let number): .double(number)
        case .flag(let flag): .bool(flag)
        }
      let components = path.split(separator: ".").map(String.init)
      contents[AbsoluteConfigKey(components)] = ConfigValue(content, isSecret: false)
    }
    return InMemoryProvider(values: contents)
  }

  private static func unknown(_ path: String, place: String) -> ConfigurationError {
    let hint =
      ConfigurationKey.nearest(to: path).map { "did you mean \($0)?" }
      ?? "Config/odograph.toml lists every key"
    return ConfigurationError(place: place, problem: "unknown key \(path); \(hint)")
  }

  private static func value(of member: any TOMLValueConvertible) -> ConfigurationKey.Value? {
    if let text = member.string { return .text(text) }
    if let flag = member.bool { return .flag(flag) }
    if let number = member.int { return .integer(number) }
    if let number = member.double { return .number(number) }
    if let array = member.array {
      var texts: [String] = []
      for element in array {
        guard let text = element.string else { return nil }
        texts.append(text)
      }
      return .texts(texts)
    }
    return nil
  }

  private static func describe(_ member: any TOMLValueConvertible) -> String {
    switch value(of: member) {
    case .text(let text): "\"\(text.prefix(80))\""
    case .flag(let flag): "\(flag)"
    case .integer(let number): "\(number)"
    case .number(let number): "\(number)"
    case .texts, nil: "a value of type \(member.type)"
    }
  }
}
