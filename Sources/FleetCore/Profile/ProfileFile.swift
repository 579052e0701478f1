internal import FoundationEssentials
internal import Glibc
internal import Platform
internal import TOMLKit

/// The file with a person's profiles: TOML, a table for each, of which `[default]` is used when none is named.
///
/// ```toml
/// [default]
/// broker = "mqtt://localhost"
///
/// [work]
/// broker = "mqtts://broker.example"
/// user = "ann"
/// password_file = "work-password"
/// fleet = "delivery"
/// ```
public struct ProfileFile: Sendable {
  public let path: String
  private let profiles: [String: Profile]

  public static let usualName = "default"

  /// Where it is when nobody says: `$XDG_CONFIG_HOME/odograph/profile.toml`, or below `~/.config`.
  /// - Parameter environment: returns a variable that is set and not empty.
  public static func usualPath(_ environment: (String) -> String?) -> String? {
    if let folder = environment("XDG_CONFIG_HOME"), folder.hasPrefix("/") {
      return folder + "/odograph/profile.toml"
    }
    return environment("HOME").map { $0 + "/.config/odograph/profile.toml" }
  }

  /// Reads a file; nil when there is none.
  /// - Parameter home: the home folder, for paths that begin with `~/`.
  /// - Throws: `FleetError` with file and line for what is wrong in it.
  public init?(path: String, home: String?) throws(FleetError) {
    guard FileManager.default.fileExists(atPath: path) else { return nil }
    guard let data = FileManager.default.contents(atPath: path) else {
      throw FleetError(
        operation: "read", object: path, cause: SystemError.message(for: errno) + "; check its permissions",
        exit: .usage)
    }
    guard data.count <= 1 << 20, let text = String(validating: data, as: UTF8.self) else {
      throw FleetError(
        operation: "read", object: path, cause: "it is no UTF-8 text, or larger than 1 MB", exit: .usage)
    }
    try self.init(text: text, path: path, home: home)
  }

  /// - Throws: `FleetError` with file and line for what is wrong in the text.
  init(text: String, path: String, home: String?) throws(FleetError) {
    self.path = path
    let lines = TOMLLines(text)
    func wrong(_ line: Int?, _ cause: String) -> FleetError {
      FleetError(
        operation: "use", object: line.map { "\(path):\($0)" } ?? path, cause: cause, exit: .usage)
    }
    if let problem = TOMLSyntax.fatalProblem(in: text) { throw wrong(problem.line, problem.text) }
    let root: TOMLTable
    do {
      root = try TOMLTable(string: text)
    } catch let error as TOMLParseError {
      throw wrong(error.source.begin.line, "not TOML: \(error.description)")
    } catch {
      throw wrong(nil, "not TOML: \(error)")
    }
    var profiles: [String: Profile] = [:]
    for name in root.keys {
      guard let table = root[name]?.table else {
        throw wrong(lines.line(of: name), "key \(name) stands outside of a table; put [default] above it")
      }
      var profile = Profile()
      profile.place = "\(path) [\(name)]"
      for key in table.keys {
        let line = lines.line(of: "\(name).\(key)") ?? lines.line(of: name)
        guard let known = Profile.keys.first(where: { $0.name == key }) else {
          let names = Profile.keys.map(\.name).joined(separator: ", ")
          throw wrong(line, "unknown key \(key); there are \(names)")
        }
        guard let value = table[key] else { continue }
        if let problem = profile.take(value, for: known, folder: Self.folder(of: path), home: home) {
          throw wrong(line, "key \(key): \(problem)")
        }
      }
      profiles[name] = profile
    }
    self.profiles = profiles
  }

  /// The profile of a name; of none, `default`, which need not be there.
  /// - Throws: `FleetError` for a name that is not in the file.
  public func profile(named name: String?) throws(FleetError) -> Profile? {
    guard let name else { return profiles[Self.usualName] }
    if let profile = profiles[name] { return profile }
    let names = profiles.keys.sorted().joined(separator: ", ")
    throw FleetError(
      operation: "use", object: "--profile \(name.prefix(80))",
      cause: "\(path) has no [\(name.prefix(80))]; it has \(names.isEmpty ? "no profiles" : names)",
      exit: .usage)
  }

  private static func folder(of path: String) -> String {
    path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
  }
}

extension Profile {
  /// Takes a value in; says what is wrong with it when it does not fit.
  fileprivate mutating func take(
    _ value: any TOMLValueConvertible, for key: Key, folder: String, home: String?
  ) -> String? {
    switch key.target {
    case .text(let path):
      guard let text = value.string, !text.isEmpty else { return "it is a text in quotes" }
      self[keyPath: path] = text
    case .choice(let path, let choices):
      guard let text = value.string, choices.contains(text) else {
        return "it is " + choices.map { "\"\($0)\"" }.joined(separator: " or ")
      }
      self[keyPath: path] = text
    case .file(let path):
      guard let text = value.string, !text.isEmpty else { return "it is the path of a file, in quotes" }
      if text.hasPrefix("~/") {
        guard let home else { return "~ is not known here; write the whole path" }
        self[keyPath: path] = home + text.dropFirst()
      } else {
        self[keyPath: path] = text.hasPrefix("/") ? text : folder + "/" + text
      }
    case .texts(let path):
      if let text = value.string, !text.isEmpty {
        self[keyPath: path] = [text]
      } else {
        let texts = value.array?.map(\.string)
        guard let texts, !texts.isEmpty, !texts.contains(nil) else {
          return "it is a text in quotes, or a list of them"
        }
        self[keyPath: path] = texts.compactMap { $0 }
      }
    }
    return nil
  }
}
