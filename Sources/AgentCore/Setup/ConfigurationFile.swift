internal import Glibc
package import Platform
internal import Settings
internal import Telemetry

/// The configuration file written by `odographd init`, with the rules for an existing one.
package struct ConfigurationFile: Sendable {
  package let path: String
  /// True if the path is a default one, which the agent finds without an option.
  package let isUsual: Bool
  private let folders: AgentFolders

  /// - Parameter path: path of the file; nil for the default.
  /// - Throws: `ConfigurationError` if the environment provides no folder for it.
  package init(_ path: String?, environment: [String: String]) throws(ConfigurationError) {
    folders = AgentFolders(environment: environment)
    guard let path = path ?? folders.newConfiguration else {
      throw ConfigurationError(
        .missingKey, place: "--config",
        problem: "there is no folder for a configuration; name a file, or set HOME or XDG_CONFIG_HOME")
    }
    self.path = path
    // Only the default path for new files counts: at another default path, a different file might have
    // precedence.
    isUsual = path == folders.newConfiguration
  }

  /// True if the file exists and contains settings that would be lost. An installed file without changes (no
  /// vehicle name, all defaults) contains none.
  package var isInUse: Bool {
    guard access(path, F_OK) == 0 else { return false }
    guard let layer = try? ConfigurationLayer(file: path), layer["vehicle.id"]?.value == .text("") else {
      return true
    }
    return layer.settings.contains { path, setting in
      path != "vehicle.id" && setting.value != ConfigurationKey.byPath[path]?.defaultValue
    }
  }

  /// Writes the file as a whole. The folder of the default path is created; that of another path must exist.
  ///
  /// - Throws: `SystemError` naming what cannot be written; an existing file is then unchanged.
  package func write(_ text: String) throws(SystemError) {
    if isUsual { for folder in missingFolders { mkdir(folder, geteuid() == 0 ? 0o755 : 0o700) } }
    try AtomicFile.write(Array(text.utf8), to: path, mode: 0o644)
    // The service's user must be able to read the file, whatever the writer's umask. The file contains no
    // secret.
    if isUsual, geteuid() == 0 { chmod(path, 0o644) }
  }

  private var missingFolders: [String] {
    var missing: [String] = []
    var folder = StateFolder.of(path)
    while folder.utf8.count > 1, access(folder, F_OK) != 0 {
      missing.append(folder)
      folder = StateFolder.of(folder)
    }
    return missing.reversed()
  }
}
