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
  /// The reason why the folder of remote management is missing; nil if it exists.
  let problem: String?

  /// Nil if remote management is disabled, or the origin of the configuration is unknown.
  ///
  /// - Throws: `SystemError` if the folder's path is wrong; `ConfigurationError`.
  init?(
    _ configuration: AgentConfiguration, layers: ConfigurationLayers?, topics: TopicScheme,
    store: StateStore, log: Logger
  ) throws {
    guard configuration.remote.isEnabled, let layers else { return nil }
    folder = RemoteFolder(path: configuration.remote.path, store: store, log: log)
    self.topics = RemoteTopics(
      topics: topics, ownTracks: configuration.profiles.ownTracks?.topics,
      responses: configuration.remote.responses, receivesBeacons: configuration.beacons.receives)
    problem = try folder.make().map { "remote: \($0)" }
    let now = UTCTime.now
    // The vehicle must start without readable settings, too; a retained message of the broker restores them.
    let memory = folder.memory(now: now)
    regions = folder.regions(now: now)
    manager = try RemoteManager(
      layers: layers, memory: memory, at: .now)
    let keys = manager.inForce.values.keys.sorted()
    if !keys.isEmpty {
      log.info(
        .remoteSettingsInForce, "remote settings in force",
        metadata: ["keys": "\(keys.joined(separator: " "))"])
    }
    for refusal in manager.refused {
      log.warning(
        .remoteSettingRefused, "stored remote setting not in effect",
        metadata: ["key": "\(refusal.key)", "reason": "\(refusal.reason)"])
    }
  }
}
