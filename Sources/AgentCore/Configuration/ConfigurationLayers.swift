internal import Telemetry

/// The places that a configuration comes from: flags over the environment over what was set remotely over the file over the
/// preset that they name.
package struct ConfigurationLayers: Sendable {
  let flags: ConfigurationLayer
  let environment: ConfigurationLayer
  /// Nil without a file.
  let file: ConfigurationLayer?
  let fileName: String?
  /// Where things are kept that no key names.
  let folders: AgentFolders

  /// - Parameters:
  ///   - file: the path of a TOML file; nil for none.
  ///   - environment: variables that begin with `ODOGRAPH_` override the file.
  ///   - assignments: `key=value` pairs of the command line, which override both.
  /// - Throws: `ConfigurationError` naming the place, the key and what it accepts.
  package init(file: String?, environment: [String: String], assignments: [String]) throws(ConfigurationError)
  {
    self.init(
      flags: try ConfigurationLayer(assignments: assignments),
      environment: try ConfigurationLayer(environment: environment), file: try Self.read(file),
      fileName: file,
      folders: AgentFolders(environment: environment))
  }

  init(
    flags: ConfigurationLayer, environment: ConfigurationLayer, file: ConfigurationLayer?, fileName: String?,
    folders: AgentFolders = .system
  ) {
    self.flags = flags
    self.environment = environment
    self.file = file
    self.fileName = fileName
    self.folders = folders
  }

  /// The same places with the file as it is now.
  func withFileReadAgain() throws(ConfigurationError) -> ConfigurationLayers {
    ConfigurationLayers(
      flags: flags, environment: environment, file: try Self.read(fileName), fileName: fileName,
      folders: folders)
  }

  /// What all of them say together.
  package func configuration() throws(ConfigurationError) -> AgentConfiguration {
    try configuration(remote: [:])
  }

  /// What all of them say together, of a vehicle that has a name for what needs none.
  package func configuration(naming vehicle: String) throws(ConfigurationError) -> AgentConfiguration {
    let name = ConfigurationLayer(["vehicle.id": .text(vehicle)], place: "this command")
    return try AgentConfiguration(layers: [name] + written, file: fileName, folders: folders)
  }

  /// - Parameter remote: what was set remotely, by key.
  func configuration(
    remote: [String: ConfigurationKey.Value]
  ) throws(ConfigurationError) -> AgentConfiguration {
    let layer = ConfigurationLayer(remote, place: "config/desired")
    return try AgentConfiguration(
      layers: [flags, environment, layer] + (file.map { [$0] } ?? []), file: fileName, folders: folders)
  }

  /// Those that are written down, the first over the others.
  var written: [ConfigurationLayer] { [flags, environment] + (file.map { [$0] } ?? []) }

  /// Where a key is set so that nothing remote can change it; nil when nothing stands over it.
  func override(of path: String) -> String? { flags[path]?.place ?? environment[path]?.place }

  private static func read(_ file: String?) throws(ConfigurationError) -> ConfigurationLayer? {
    guard let file else { return nil }
    return try ConfigurationLayer(file: file)
  }
}
