internal import Glibc
internal import Logging
internal import Pipeline
internal import Platform
internal import Spatial
internal import Telemetry

/// Remote management at the start of the agent: the stored state, and the resulting configuration.
struct RemoteStart: Sendable {
  let manager: RemoteManager
  let folder: RemoteFolder
  let topics: RemoteTopics
  /// The remote regions; nil if there are none, so that the configuration's are monitored.
  let regions: RemoteRegions?

  /// Nil if remote management is disabled, or the origin of the configuration is unknown.
  ///
  /// - Throws: `SystemError` if the folder cannot be created; `ConfigurationError`.
  init?(
    _ configuration: AgentConfiguration, layers: ConfigurationLayers?, topics: TopicScheme, log: Logger
  ) throws {
    guard configuration.remote.isEnabled, let layers else { return nil }
    folder = RemoteFolder(path: configuration.remote.path)
    self.topics = RemoteTopics(
      topics: topics, ownTracks: configuration.profiles.ownTracks?.topics,
      responses: configuration.remote.responses, receivesBeacons: configuration.beacons.receives)
    try folder.make()
    var memory = RemoteMemory()
    do {
      memory = try folder.memory()
    } catch {
      // The vehicle must start in any case; a retained message of the broker restores the settings.
      log.warning(
        .remoteSettingsLost, "remote settings are lost: the file is damaged", metadata: ["reason": "\(error)"]
      )
    }
    do {
      regions = try folder.regions().map { try RemoteRegions(parsing: $0) }
    } catch {
      regions = nil
      log.warning(
        .remoteRegionsLost, "remote regions are lost: the file is damaged", metadata: ["reason": "\(error)"])
    }
    manager = try RemoteManager(
      layers: layers, memory: memory, at: .now)
    let keys = manager.inForce.values.keys.sorted()
    if !keys.isEmpty {
      log.info(
        .remoteSettingsInForce, "remote settings in force",
        metadata: ["keys": "\(keys.joined(separator: " "))"])
    }
  }
}
