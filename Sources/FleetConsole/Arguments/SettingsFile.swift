package import Fleet
internal import Glibc
internal import TOML
internal import Telemetry

/// A command's configuration file: TOML, of which each table is read by the part that it configures. What is wrong is told
/// with file, line and column.
package struct SettingsFile: Sendable {
  package let path: String
  fileprivate let folders: SettingsFolders
  fileprivate let entries: [TOMLDocument.Entry]

  /// - Throws: `FleetError` for a file that cannot be read or is not TOML.
  package init(path: String) throws(FleetError) {
    let text: String
    do throws(TOMLError) { text = try TOMLFile.read(path) } catch {
      throw .usage("read", path, error.problem)
    }
    try self.init(text: text, path: path)
  }

  /// - Parameters:
  ///   - path: for errors, and for the files that are named from its folder on.
  ///   - variable: finds a variable of the environment.
  package init(
    text: String, path: String, variable: (String) -> String? = { environment($0) }
  ) throws(FleetError) {
    self.path = path
    folders = SettingsFolders(of: path, variable: variable)
    do throws(TOMLError) { entries = try TOMLDocument(parsing: text).entries } catch {
      throw .usage("use", "\(path):\(error.place)", error.problem)
    }
  }

  /// Where a file of that name is kept, unless the configuration says otherwise: where the service keeps what is to last for its
  /// own configuration, else beside the configuration.
  package func stateFile(_ name: String) -> String { SettingsFolders.join(folders.state, name) }

  /// Which of some tables, or keys in tables, another reading of the file has differently, as `[server]` or `state in [access]`.
  /// - Parameter paths: each the names of tables around it, and its own.
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

  /// - Throws: `FleetError` for the first table, or key outside of a table, that is none of these.
  package func check(tables: [String]) throws(FleetError) {
    for entry in entries where entry.path.count == 1 {
      let name = entry.path[0]
      guard tables.contains(name) else {
        let hint = Spelling.nearest(to: name, among: tables).map { "did you mean [\($0)]?" }
        throw .usage(
          "use", "\(path):\(entry.keyPosition)",
          "unknown table \(name.prefix(80)); \(hint ?? "there are \(tables.joined(separator: ", "))")")
      }
      guard entry.value == .table else {
        throw .usage(
          "use", "\(path):\(entry.keyPosition)",
          "\(name) is a table; write its keys below [\(name)]")
      }
    }
  }

  /// The table of a name, whose keys are known.
  /// - Throws: `FleetError` for the first key that is none of these.
  package func table(_ name: String, keys: [String]) throws(FleetError) -> SettingsTable {
    try table([name], keys: keys)
  }

  /// The tables in a table, as `[users.ann]` and `[users.bob]` in `users`, in the order of the file.
  /// - Throws: `FleetError` for the first key that is none of these, and for one that stands beside the tables.
  package func tables(in name: String, keys: [String]) throws(FleetError) -> [SettingsTable] {
    var tables: [SettingsTable] = []
    for entry in entries where entry.path.count == 2 && entry.path[0] == name {
      guard entry.value == .table else {
        throw .usage(
          "use", "\(path):\(entry.keyPosition)",
          "\(entry.path[1].prefix(80)) stands beside the tables of \(name); write it into one, below [\(name).NAME]"
        )
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
            + (hint ?? "there are \(keys.joined(separator: ", "))"))
      }
      values[key] = entry
    }
    let header = entries.first { $0.path == prefix && $0.value == .table }
    return SettingsTable(
      name: prefix.last ?? "", path: path, folders: folders, place: header.map { "\(path):\($0.position)" },
      values: values)
  }
}

/// A table of a configuration file. Each value is checked where it is read; nil is what the file does not say.
package struct SettingsTable: Sendable {
  /// The last part of its header.
  package let name: String
  fileprivate let path: String
  fileprivate let folders: SettingsFolders
  /// Of its header, as file, line and column; nil for a table that the file does not have.
  fileprivate let place: String?
  fileprivate let values: [String: TOMLDocument.Entry]

  package var isEmpty: Bool { values.isEmpty }

  /// Whether the file says a key.
  package func has(_ key: String) -> Bool { values[key] != nil }

  /// What is wrong with a key's value, at its place; of one that is missing, at its table's, and so of the table as a whole for "".
  package func wrong(_ key: String, _ cause: String) -> FleetError {
    let place = values[key].map { "\(path):\($0.position)" } ?? place ?? "\(path) [\(name)]"
    return .usage("use", place, key.isEmpty ? cause : "key \(key): \(cause)")
  }

  package func text(_ key: String) throws(FleetError) -> String? {
    guard let entry = values[key] else { return nil }
    guard case .text(let text) = entry.value, !text.isEmpty else {
      throw wrong(key, "it is a text in quotes")
    }
    return text
  }

  /// One text, or several.
  package func texts(_ key: String) throws(FleetError) -> [String]? {
    guard let entry = values[key] else { return nil }
    guard let texts = entry.value.texts, !texts.contains("") else {
      throw wrong(key, "it is a text in quotes, or a list of them")
    }
    return texts
  }

  /// One of some words.
  package func word<Word: RawRepresentable & CaseIterable>(_ key: String) throws(FleetError) -> Word?
  where Word.RawValue == String {
    guard let text = try text(key) else { return nil }
    guard let word = Word(rawValue: text) else {
      throw wrong(key, "it is " + Word.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ", "))
    }
    return word
  }

  package func flag(_ key: String) throws(FleetError) -> Bool? {
    guard let entry = values[key] else { return nil }
    guard case .flag(let flag) = entry.value else { throw wrong(key, "it is true or false") }
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
      throw wrong(key, "it is a number from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }

  package func integer(_ key: String, in range: ClosedRange<Int>) throws(FleetError) -> Int? {
    guard let entry = values[key] else { return nil }
    guard case .integer(let number) = entry.value, range.contains(number) else {
      throw wrong(key, "it is a whole number from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }

  /// Seconds, written as `"90s"`, `"10m"`, `"2h"` or `"3d"`.
  package func duration(_ key: String) throws(FleetError) -> Double? {
    guard let text = try text(key) else { return nil }
    do throws(FleetError) { return try DurationText.seconds(parsing: text, of: key) } catch {
      throw wrong(key, error.cause)
    }
  }

  /// A path; one that is not absolute is meant from the configuration's folder on.
  package func file(_ key: String) throws(FleetError) -> String? {
    try text(key).map { SettingsFolders.join(folders.read, $0) }
  }

  /// The path of something that is written; one that is not absolute is meant as `SettingsFile.stateFile` has it.
  package func stateFile(_ key: String) throws(FleetError) -> String? {
    try text(key).map { SettingsFolders.join(folders.state, $0) }
  }
}

/// The folders that a configuration's relative paths begin at; nil for the one that the program runs in.
private struct SettingsFolders {
  /// Of what is read. A service that runs on a copy of its configuration names the original's.
  var read: String?
  /// Of what is written: where the service manager has what is to last, also for commands beside the service.
  var state: String?

  /// The folder of the service's configuration, and what systemd makes of `StateDirectory=odograph-serve`.
  private static let service = (configuration: "/etc/odograph", state: "/var/lib/odograph-serve")

  init(of path: String, variable: (String) -> String?) {
    read = variable("ODOGRAPH_CONFIG_DIRECTORY") ?? path.lastIndex(of: "/").map { String(path[..<$0]) }
    state =
      variable("STATE_DIRECTORY")?.split(separator: ":").first.map(String.init)
      ?? (Self.resolved(read ?? ".") == Self.service.configuration ? Self.service.state : read)
  }

  /// Without links and points; as it is where there is no such folder.
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
