internal import Glibc
package import Platform
internal import Telemetry

/// The file into which `odographd init` writes, and what may happen to one that is there.
package struct ConfigurationFile: Sendable {
  package let path: String
  /// Whether the path is the one that is taken without being named.
  package let isUsual: Bool
  private let folders: AgentFolders

  /// - Parameter path: nil takes the usual one.
  /// - Throws: `ConfigurationError` when the environment names no folder for one.
  package init(_ path: String?, environment: [String: String]) throws(ConfigurationError) {
    folders = AgentFolders(environment: environment)
    guard let path = path ?? folders.newConfiguration else {
      throw ConfigurationError(
        .missingKey, place: "--config",
        problem: "there is no folder for a configuration; name a file, or set HOME or XDG_CONFIG_HOME")
    }
    self.path = path
    // Another of the usual places might be found before it.
    isUsual = path == folders.newConfiguration
  }

  /// Whether the file is there and says something that would be lost. One that was installed and never filled in (its vehicle
  /// has no name, and everything else is the default) says nothing.
  package var isInUse: Bool {
    guard access(path, F_OK) == 0 else { return false }
    guard let layer = try? ConfigurationLayer(file: path), layer["vehicle.id"]?.value == .text("") else {
      return true
    }
    return layer.settings.contains { path, setting in
      path != "vehicle.id" && setting.value != ConfigurationKey.byPath[path]?.defaultValue
    }
  }

  /// Writes it as a whole. The folder of the usual path is made; that of another has to be there.
  ///
  /// - Throws: `SystemError` naming what cannot be written; a file that was there is then as it was.
  package func write(_ text: String) throws(SystemError) {
    if isUsual { for folder in missingFolders { mkdir(folder, geteuid() == 0 ? 0o755 : 0o700) } }
    try AtomicFile.write(Array(text.utf8), to: path, mode: 0o644)
    // The service's user reads it, whatever the mask of whoever wrote it; no secret is in it.
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
