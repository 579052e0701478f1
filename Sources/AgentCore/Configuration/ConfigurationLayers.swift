package import Settings
internal import Telemetry

/// All origins of a configuration, in order of priority: command line, environment, remote settings, file,
/// preset.
package struct ConfigurationLayers: Sendable {
  let flags: ConfigurationLayer
  let environment: ConfigurationLayer
  /// The file's values; nil without a file.
  let file: ConfigurationLayer?
  let fileName: String?
  /// Default folders.
  let folders: AgentFolders

  /// - Parameters:
  ///   - file: path of a TOML file; nil for none.
  ///   - environment: variables that start with `ODOGRAPH_` override the file.
  ///   - assignments: `key=value` pairs of the command line, which override the file and the environment.
  /// - Throws: `ConfigurationError` naming the origin, the key and its valid values.
  package init(file: String?, environment: [String: String], assignments: [String]) throws(ConfigurationError)
  {
    self.init(
      flags: try ConfigurationLayer(assignments: assignments),
      environment: try ConfigurationLayer(environment: environment), file: try Self.read(file),
      fileName: file,
      folders: AgentFolders(environment: environment))
  }

  package init(
    flags: ConfigurationLayer, environment: ConfigurationLayer, file: ConfigurationLayer?, fileName: String?,
    folders: AgentFolders = .system
  ) {
    (self.flags, self.environment, self.file) = (flags, environment, file)
    (self.fileName, self.folders) = (fileName, folders)
  }

  /// Returns these layers with the configuration file read again.
  package func reloadingFile() throws(ConfigurationError) -> ConfigurationLayers {
    ConfigurationLayers(
      flags: flags, environment: environment, file: try Self.read(fileName), fileName: fileName,
      folders: folders)
  }

  /// Returns the resulting configuration with a name for the vehicle, for commands that do not need the real
  /// one.
  package func configuration(naming vehicle: String) throws(ConfigurationError) -> AgentConfiguration {
    let name = ConfigurationLayer(["vehicle.id": .text(vehicle)], place: "this command")
    return try AgentConfiguration(layers: [name] + written, file: fileName, folders: folders)
  }

  /// Returns the resulting configuration.
  /// - Parameter remote: remote settings by key.
  package func configuration(
    remote: [String: ConfigurationKey.Value] = [:]
  ) throws(ConfigurationError) -> AgentConfiguration {
    let layer = ConfigurationLayer(remote, place: "config/desired")
    return try AgentConfiguration(
      layers: [flags, environment, layer] + (file.map { [$0] } ?? []), file: fileName, folders: folders)
  }

  /// The local layers in order of priority.
  var written: [ConfigurationLayer] { [flags, environment] + (file.map { [$0] } ?? []) }

  /// Returns where a key is set with a higher priority than remote settings; nil if it is not.
  func override(of path: String) -> String? { flags[path]?.place ?? environment[path]?.place }

  private static func read(_ file: String?) throws(ConfigurationError) -> ConfigurationLayer? {
    guard let file else { return nil }
    return try ConfigurationLayer(file: file)
  }
}
