internal import Bytes
internal import Platform
package import Settings
internal import TOML
internal import Telemetry

/// The reason why a configuration is invalid: origin, problem and remedy.
package struct ConfigurationError: Error, Hashable, Sendable, CustomStringConvertible {
  package enum Kind: Hashable, Sendable {
    /// A file that cannot be read, or is not text.
    case unreadable
    /// A file that is not TOML, or an option that is not `key=value`.
    case syntax
    case unknownKey
    case missingKey
    /// A value with the wrong type, range or form.
    case invalidValue
    /// Values that are valid individually but not together.
    case conflict
  }

  package var kind: Kind
  /// Origin: a file with line and column, an environment variable or an option.
  package var place: String
  package var problem: String

  package init(_ kind: Kind, place: String, problem: String) {
    self.kind = kind
    self.place = place
    self.problem = problem
  }

  package var description: String { "\(place): \(problem)" }
}

/// The values from one origin: a file, the environment, the command line or `config/desired`.
package struct ConfigurationLayer: Sendable {
  package struct Setting: Sendable {
    /// Value in the key's type.
    package var value: ConfigurationKey.Value
    /// Origin for messages: a file with line and column, a variable or an option.
    package var place: String
  }

  /// Settings by dotted path.
  package private(set) var settings: [String: Setting] = [:]
  /// Environment variables that have the prefix of a configuration table but do not match any key.
  private(set) var unknownVariables: [String] = []

  package init() {}

  package subscript(path: String) -> Setting? {
    get { settings[path] }
    set { settings[path] = newValue }
  }

  /// - Parameter place: name of the origin in messages.
  package init(_ values: [String: ConfigurationKey.Value], place: String) {
    settings = values.mapValues { Setting(value: $0, place: place) }
  }

  /// Reads a TOML file.
  ///
  /// - Throws: `ConfigurationError` for an unreadable file, invalid syntax, an unknown key or an invalid
  ///   value; of several errors, the first in the file.
  package init(file: String) throws(ConfigurationError) {
    let text: String
    do throws(TOMLError) {
      text = try TOMLFile.read(file)
    } catch {
      throw ConfigurationError(.unreadable, place: error.place, problem: error.problem)
    }
    guard !text.isEmpty else {
      throw ConfigurationError(
        .unreadable, place: file,
        problem: "is empty; it must set at least vehicle.id, which odographd init asks for")
    }
    try self.init(toml: text, name: file)
  }

  /// Parses the text of a TOML file.
  ///
  /// - Parameter name: name of the file in messages.
  package init(toml text: String, name: String) throws(ConfigurationError) {
    let document: TOMLDocument
    do throws(TOMLError) {
      document = try TOMLDocument(parsing: text)
    } catch {
      throw ConfigurationError(.syntax, place: "\(name):\(error.place)", problem: error.problem)
    }
    for entry in document.entries {
      guard let key = ConfigurationKey.byPath[entry.name] else {
        let isSection = ConfigurationKey.all.contains { $0.path.hasPrefix(entry.name + ".") }
        guard isSection, entry.value == .table else {
          throw Self.unknown(
            entry.name, isTable: entry.value == .table, place: "\(name):\(entry.keyPosition)")
        }
        continue
      }
      let place = "\(name):\(entry.position)"
      guard let value = Self.value(of: entry.value).flatMap(key.accept) else {
        throw ConfigurationError(
          .invalidValue, place: place,
          problem: "key \(key.path): \(entry.value) is not \(key.accepted)\(Self.hint(key, entry.value))")
      }
      settings[key.path] = Setting(value: value, place: place)
    }
  }

  /// Reads environment variables. Those without the prefix `ODOGRAPH_` are ignored. An unknown name with this
  /// prefix is not an error, because it may belong to another program.
  package init(environment: [String: String]) throws(ConfigurationError) {
    let byName = Dictionary(uniqueKeysWithValues: ConfigurationKey.all.map { ($0.environmentName, $0) })
    let tables = Set(ConfigurationKey.all.compactMap { Self.tableVariable(of: $0) })
    for (name, text) in environment.sorted(by: { $0.key < $1.key }) {
      guard let key = byName[name] else {
        if name.hasPrefix(ConfigurationKey.environmentPrefix), tables.contains(where: { name.hasPrefix($0) })
        {
          unknownVariables.append(name)
        }
        continue
      }
      try set(key, to: text, place: "environment variable \(name)")
    }
  }

  /// Returns the prefix of variables for a key's table; nil for a key before the first table.
  private static func tableVariable(of key: ConfigurationKey) -> String? {
    guard let dot = key.path.firstIndex(of: ".") else { return nil }
    return ConfigurationKey.environmentPrefix + key.path[..<dot].uppercased() + "_"
  }

  /// Reads `key=value` pairs of the command line.
  package init(assignments: [String]) throws(ConfigurationError) {
    for assignment in assignments {
      guard let equals = assignment.firstIndex(of: "=") else {
        throw ConfigurationError(.syntax, place: "--set \(assignment)", problem: "write it as key=value")
      }
      let path = String(assignment[..<equals].trimmingSpaces())
      guard let key = ConfigurationKey.byPath[path] else { throw Self.unknown(path, place: "--set") }
      try set(key, to: String(assignment[assignment.index(after: equals)...]), place: "--set \(path)")
    }
  }

  private mutating func set(
    _ key: ConfigurationKey, to text: String, place: String
  ) throws(ConfigurationError) {
    let value: ConfigurationKey.Value?
    if case .texts = key.kind, TOMLValue.isQuotedOrArray(text) {
      value = try Self.array(text, of: key, place: place)
    } else {
      value = key.parse(text)
    }
    guard let value else {
      throw ConfigurationError(
        .invalidValue, place: place,
        problem: "\"\(text.prefix(80))\" is not \(key.accepted)\(key.hint(for: text))")
    }
    settings[key.path] = Setting(value: value, place: place)
  }

  /// Converts an array of a file; nil if the key does not accept it.
  private static func array(
    _ text: String, of key: ConfigurationKey, place: String
  ) throws(ConfigurationError) -> ConfigurationKey.Value? {
    do throws(TOMLError) {
      return value(of: try TOMLValue(parsing: text)).flatMap(key.accept)
    } catch {
      let column = error.position.map { " (character \($0.column))" } ?? ""
      throw ConfigurationError(
        .syntax, place: place,
        problem:
          "\"\(text.prefix(80))\" is \(error.problem)\(column); write it as in [\"a\", \"b\"], or as in a,b")
    }
  }

  private static func unknown(
    _ path: String, isTable: Bool = false, place: String
  ) -> ConfigurationError {
    let what = isTable ? "unknown table [\(path.prefix(120))]" : "unknown key \(path.prefix(120))"
    let nearest = isTable ? ConfigurationKey.nearestSection(to: path) : ConfigurationKey.nearest(to: path)
    let last = path.split(separator: ".").last.map(String.init) ?? path
    let hint =
      if last != path, ConfigurationKey.byPath[last] != nil {
        "\(last) must precede the first table"
      } else {
        nearest.map { "did you mean \($0)?" } ?? "Config/odograph.toml lists every key"
      }
    return ConfigurationError(.unknownKey, place: place, problem: "\(what); \(hint)")
  }

  private static func hint(_ key: ConfigurationKey, _ value: TOMLValue) -> String {
    guard case .text(let text) = value else { return "" }
    return key.hint(for: text)
  }

  /// Returns an array of numbers; nil if an element is not a number.
  private static func numbers(of value: TOMLValue) -> ConfigurationKey.Value? {
    guard case .array(let elements) = value else { return nil }
    let numbers = elements.compactMap { element -> Double? in
      switch element {
      case .integer(let number): Double(number)
      case .number(let number): number
      default: nil
      }
    }
    return numbers.count == elements.count ? .numbers(numbers) : nil
  }

  private static func value(of value: TOMLValue) -> ConfigurationKey.Value? {
    switch value {
    case .text(let text): .text(text)
    case .flag(let flag): .flag(flag)
    case .integer(let number): .integer(number)
    case .number(let number): .number(number)
    case .array: value.texts.map(ConfigurationKey.Value.texts) ?? numbers(of: value)
    case .time, .table: nil
    }
  }
}
