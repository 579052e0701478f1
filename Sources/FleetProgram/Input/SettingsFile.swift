internal import Bytes
package import Fleet
internal import Glibc
internal import TOML
internal import Telemetry

/// The TOML configuration file of a command. Each table is read by the part that it configures. Errors
/// contain file, line and column.
package struct SettingsFile: Sendable {
  package let path: String
  fileprivate let folders: SettingsFolders
  fileprivate let entries: [TOMLDocument.Entry]

  /// Reads a file.
  ///
  /// - Throws: `FleetError` for a file that is unreadable or not TOML.
  package init(path: String) throws(FleetError) {
    let text: String
    do throws(TOMLError) { text = try TOMLFile.read(path) } catch {
      throw .usage("read", path, error.cause)
    }
    try self.init(text: text, path: path)
  }

  /// Reads a file of the user, whose relative paths refer to its own folder; nil if it does not exist.
  ///
  /// - Throws: `FleetError` for a file that is unreadable or not TOML.
  package init?(optional path: String) throws(FleetError) {
    let text: String
    do throws(TOMLError) { text = try TOMLFile.read(path) } catch {
      if error.kind == .missing { return nil }
      throw .usage("read", path, error.cause)
    }
    try self.init(text: text, path: path) { _ in nil }
  }

  /// Parses the text of a file.
  ///
  /// - Parameters:
  ///   - path: for errors, and for relative paths in the file.
  ///   - variable: returns an environment variable.
  package init(
    text: String, path: String, variable: (String) -> String? = { environment($0) }
  ) throws(FleetError) {
    self.path = path
    folders = SettingsFolders(of: path, variable: variable)
    do throws(TOMLError) { entries = try TOMLDocument(parsing: text).entries } catch {
      throw .usage("use", "\(path):\(error.place)", error.problem)
    }
  }

  /// Returns the default path of a state file: in the service's state folder for the service's own
  /// configuration, otherwise beside the configuration.
  package func stateFile(_ name: String) -> String { SettingsFolders.join(folders.state, name) }

  /// Returns the given tables and keys that differ from another version of the file, such as `[server]` or
  /// `state in [access]`.
  /// - Parameter paths: for each table or key, the names of the enclosing tables and its own name.
  package func changes(from other: SettingsFile, of paths: [[String]]) -> [String] {
    paths.filter { values(below: $0) != other.values(below: $0) }.map { path in
      path.count == 1
        ? "[\(path[0])]" : "\(path[path.count - 1]) in [\(path.dropLast().joined(separator: "."))]"
    }
  }

  private func values(below path: [String]) -> [[String]: TOMLValue] {
    var values: [[String]: TOMLValue] = [:]
    for entry in entries where entry.path.starts(with: path) && entry.value != .table {
      values[entry.path] = entry.value
    }
    return values
  }

  /// Checks the names of tables.
  ///
  /// - Throws: `FleetError` for the first unknown table, or for a key outside of tables.
  package func check(tables: [String]) throws(FleetError) {
    for entry in entries where entry.path.count == 1 {
      let name = entry.path[0]
      guard tables.contains(name) else {
        let hint = Spelling.nearest(to: name, among: tables).map { "did you mean [\($0)]?" }
        throw .usage(
          "use", "\(path):\(entry.keyPosition)",
          "unknown table \(name.prefix(80)); \(hint ?? "available: \(tables.joined(separator: ", "))")")
      }
      guard entry.value == .table else {
        throw .usage(
          "use", "\(path):\(entry.keyPosition)",
          "\(name) is a table; write its keys below [\(name)]")
      }
    }
  }

  /// Returns the table with a name.
  /// - Throws: `FleetError` for the first unknown key.
  package func table(_ name: String, keys: [String]) throws(FleetError) -> SettingsTable {
    try table([name], keys: keys)
  }

  /// Returns the subtables of a table, such as `[users.ann]` and `[users.bob]` in `users`, or all tables of the
  /// file, in the order of the file.
  ///
  /// - Parameters:
  ///   - name: the enclosing table; nil for the whole file.
  ///   - example: the name of a subtable in the error about a key outside of them.
  /// - Throws: `FleetError` for the first unknown key, and for a key that is not in a subtable.
  package func tables(
    in name: String? = nil, keys: [String], example: String = "NAME"
  ) throws(FleetError) -> [SettingsTable] {
    let prefix = name.map { [$0] } ?? []
    var tables: [SettingsTable] = []
    for entry in entries where entry.path.count == prefix.count + 1 && entry.path.starts(with: prefix) {
      guard entry.value == .table else {
        let header = (prefix + [example]).joined(separator: ".")
        throw .usage(
          "use", "\(path):\(entry.keyPosition)",
          "\(entry.path[prefix.count].prefix(80)) is outside the tables\(name.map { " of \($0)" } ?? ""); "
            + "move it into one, below [\(header)]")
      }
      tables.append(try table(entry.path, keys: keys))
    }
    return tables
  }

  private func table(_ prefix: [String], keys: [String]) throws(FleetError) -> SettingsTable {
    var values: [String: TOMLDocument.Entry] = [:]
    for entry in entries where entry.path.count > prefix.count && entry.path.starts(with: prefix) {
      let key = entry.path.dropFirst(prefix.count).joined(separator: ".")
      guard keys.contains(key) else {
        let hint = Spelling.nearest(to: key, among: keys).map { "did you mean \($0)?" }
        throw .usage(
          "use", "\(path):\(entry.keyPosition)",
          "unknown key \(key.prefix(80)) in [\(prefix.joined(separator: "."))]; "
            + (hint ?? "available: \(keys.joined(separator: ", "))"))
      }
      values[key] = entry
    }
    let header = entries.first { $0.path == prefix && $0.value == .table }
    return SettingsTable(
      name: prefix.last ?? "", path: path, folders: folders, place: header.map { "\(path):\($0.position)" },
      values: values)
  }
}

/// A table of a configuration file. Values are checked when they are read; missing values are nil.
package struct SettingsTable: Sendable {
  /// The last part of the table's header, such as `ann` in `[users.ann]`.
  package let name: String
  fileprivate let path: String
  fileprivate let folders: SettingsFolders
  /// The position of the table's header (file, line and column); nil for a missing table.
  fileprivate let place: String?
  fileprivate let values: [String: TOMLDocument.Entry]

  package var isEmpty: Bool { values.isEmpty }

  /// Returns whether the table has a key.
  package func has(_ key: String) -> Bool { values[key] != nil }

  /// Returns an error about the value of a key, with the position of the value. If the key is missing, with
  /// the position of the table. An empty key means the whole table.
  package func wrong(_ key: String, _ cause: String) -> FleetError {
    let place = values[key].map { "\(path):\($0.position)" } ?? place ?? "\(path) [\(name)]"
    return .usage("use", place, key.isEmpty ? cause : "key \(key): \(cause)")
  }

  package func text(_ key: String) throws(FleetError) -> String? {
    guard let entry = values[key] else { return nil }
    guard case .text(let text) = entry.value, !text.isEmpty else {
      throw wrong(key, "must be a text in quotes")
    }
    return text
  }

  /// Returns a list of texts, which can be written as a single text; nil if the key is missing.
  package func texts(_ key: String) throws(FleetError) -> [String]? {
    guard let entry = values[key] else { return nil }
    guard let texts = entry.value.texts, !texts.contains("") else {
      throw wrong(key, "must be a text in quotes, or a list of them")
    }
    return texts
  }

  /// Returns a keyword among the cases of `Word`; nil if the key is missing.
  package func word<Word: RawRepresentable & CaseIterable>(_ key: String) throws(FleetError) -> Word?
  where Word.RawValue == String {
    try text(key, among: Word.allCases.map(\.rawValue)).flatMap(Word.init)
  }

  /// Returns a text that is one of the given ones; nil if the key is missing.
  package func text(_ key: String, among choices: [String]) throws(FleetError) -> String? {
    guard let text = try text(key) else { return nil }
    guard choices.contains(text) else { throw unknown(text, of: key, among: choices) }
    return text
  }

  /// Returns the error for a text that is not one of the available ones.
  package func unknown(_ text: String, of key: String, among choices: [String]) -> FleetError {
    let hint = Spelling.nearest(to: text, among: choices).map { "did you mean \"\($0)\"?" }
    return wrong(
      key, "\"\(text.prefix(80))\" is unknown; \(hint ?? "available: \(choices.joined(separator: ", "))")")
  }

  package func flag(_ key: String) throws(FleetError) -> Bool? {
    guard let entry = values[key] else { return nil }
    guard case .flag(let flag) = entry.value else { throw wrong(key, "must be true or false") }
    return flag
  }

  package func number(_ key: String, in range: ClosedRange<Double>) throws(FleetError) -> Double? {
    guard let entry = values[key] else { return nil }
    let number: Double? =
      switch entry.value {
      case .number(let number): number
      case .integer(let number): Double(number)
      default: nil
      }
    guard let number, range.contains(number) else {
      throw wrong(key, "must be a number from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }

  package func integer(_ key: String, in range: ClosedRange<Int>) throws(FleetError) -> Int? {
    guard let entry = values[key] else { return nil }
    guard case .integer(let number) = entry.value, range.contains(number) else {
      throw wrong(key, "must be an integer from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }

  /// Returns a speed in m/s, written as a number in m/s or as a text with a unit.
  package func speed(_ key: String, in range: ClosedRange<Double>) throws(FleetError) -> Double? {
    guard let entry = values[key] else { return nil }
    let speed: Double? =
      switch entry.value {
      case .number(let number): number
      case .integer(let number): Double(number)
      case .text(let text): SpeedText.metresPerSecond(text)
      default: nil
      }
    guard let speed, range.contains(speed) else {
      throw wrong(
        key,
        "must be a number from \(range.lowerBound) to \(range.upperBound) in m/s, or \(SpeedText.example)")
    }
    return speed
  }

  /// Returns a duration in seconds, written as `"90s"`, `"10m"`, `"2h"` or `"3d"`.
  package func duration(_ key: String) throws(FleetError) -> Double? {
    guard let text = try text(key) else { return nil }
    do throws(FleetError) { return try DurationText.seconds(parsing: text, of: key) } catch {
      throw wrong(key, error.cause)
    }
  }

  /// Returns the path of an input file; relative to the configuration's folder.
  package func file(_ key: String) throws(FleetError) -> String? {
    try text(key).map { SettingsFolders.join(folders.read, $0) }
  }

  /// Returns the path of an input file as `file` does; a path that starts with `~/` is in the home folder.
  package func file(_ key: String, home: String?) throws(FleetError) -> String? {
    guard let text = try text(key), text.hasPrefix("~/") else { return try file(key) }
    guard let home else { throw wrong(key, "HOME is not set, so ~ is unknown; write the whole path") }
    return home + text.dropFirst()
  }

  /// Returns the path of an output file; relative paths are resolved as in `SettingsFile.stateFile`.
  package func stateFile(_ key: String) throws(FleetError) -> String? {
    try text(key).map { SettingsFolders.join(folders.state, $0) }
  }
}

/// The folders to which relative paths in a configuration refer; nil for the working folder.
private struct SettingsFolders {
  /// The folder of input files. A service that runs with a copy of its configuration uses the folder of the
  /// original.
  var read: String?
  /// The folder of output files: the state folder that the service manager sets. A command with the service's
  /// configuration uses the same folder.
  var state: String?

  /// The folder of the service's configuration, and the state folder that systemd creates for
  /// `StateDirectory=odograph-serve`.
  private static let service = (configuration: "/etc/odograph", state: "/var/lib/odograph-serve")

  init(of path: String, variable: (String) -> String?) {
    read = variable("ODOGRAPH_CONFIG_DIRECTORY") ?? path.lastIndex(of: "/").map { String(path[..<$0]) }
    state =
      variable("STATE_DIRECTORY")?.split(separator: ":").first.map(String.init)
      ?? (Self.resolved(read ?? ".") == Self.service.configuration ? Self.service.state : read)
  }

  /// Returns a folder's path with links and dots resolved; unchanged if the folder does not exist.
  private static func resolved(_ folder: String) -> String {
    guard let resolved = unsafe realpath(folder.isEmpty ? "/" : folder, nil) else { return folder }
    defer { unsafe free(resolved) }
    return unsafe String(cString: resolved)
  }

  static func join(_ folder: String?, _ path: String) -> String {
    guard !path.hasPrefix("/"), let folder else { return path }
    return folder + "/" + path
  }
}
