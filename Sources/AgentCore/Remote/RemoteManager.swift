internal import MQTT
internal import Pipeline
internal import Spatial
internal import Telemetry

/// Decides what becomes of settings that are wanted remotely. Documents, connection news and time go in; decisions come
/// out. It does nothing itself.
///
/// A document is applied whole or not at all. New settings are on trial until the broker was reached under them, twice for
/// another schedule of bursts. If that takes too long, or the agent restarts too often, the previous settings are restored.
/// Each decision is stored *before* it is executed, so that a loss of power leaves one of the two.
struct RemoteManager: Sendable {
  /// What is to be done, in this order.
  enum Decision: Hashable, Sendable {
    case remember(RemoteMemory)
    case apply(AgentConfiguration)
    case report(Report)
  }

  /// What became of a document.
  struct Report: Hashable, Sendable {
    enum State: String, Hashable, Sendable {
      case applied, trial, refused, rolledBack
    }

    var state: State
    var version: String?
    var problem: String?
    var accepted: [String] = []
    var refused: [RemoteDocument.Refusal] = []
    /// The remote settings in force.
    var settings: [String: ConfigurationKey.Value]
  }

  /// What became of the keys whose values a file that was read again has changed.
  struct Reloaded: Hashable, Sendable {
    /// Those that were applied.
    var changed: [String]
    /// Those that take a restart.
    var needsRestart: [String]
    /// Those over which a flag, a variable or what was set remotely stands, as before.
    var overridden: [String]
    var decisions: [Decision] = []
  }

  private(set) var memory: RemoteMemory
  /// The configuration in force.
  private(set) var active: AgentConfiguration
  private(set) var layers: ConfigurationLayers
  private var trial: Trial?
  private var isConnected = false
  private var lastProblem: String?

  private struct Trial {
    var deadline: Timestamp
    /// Connections that must still be made under the settings; 0 if the present one is sufficient.
    var connectionsNeeded: Int
    /// Time of the first connection under the settings.
    var firstConnection: Timestamp?
    /// Start of the present connection; nil without one, or if only a new one counts.
    var connectedSince: Timestamp?
  }

  /// Settings that need no new connection are confirmed when there was one for so long (s) after they came into force.
  static let settlingTime = 10.0
  /// An agent that is started so often under new settings goes back to those before: they may be what ends it.
  static let startsOnTrial = 3

  /// Begins with what is remembered.
  ///
  /// - Throws: `ConfigurationError` when the configuration is wrong even without remote settings.
  init(layers: ConfigurationLayers, memory: RemoteMemory, at start: Timestamp) throws(ConfigurationError) {
    self.layers = layers
    self.memory = memory
    let own = try layers.configuration()
    active = own
    for index in 0..<2 {
      let isTrial = index == 0
      guard let settings = isTrial ? self.memory.trial?.settings : self.memory.settings else { continue }
      if isTrial, (self.memory.trial?.starts ?? 0) >= Self.startsOnTrial {
        lastProblem = "the agent was started \(Self.startsOnTrial) times under them"
        continue
      }
      guard let configuration = try? layers.configuration(remote: Self.usable(settings, own, layers)) else {
        continue
      }
      active = configuration
      if isTrial {
        self.memory.trial?.starts += 1
        trial = Trial(
          deadline: start.advanced(bySeconds: own.remote.rollbackAfter),
          connectionsNeeded: connectionsNeeded(by: configuration))
      }
      return
    }
  }

  /// What is left to say about how the agent began.
  mutating func begin() -> [Decision] {
    if trial != nil { return [.remember(memory)] }
    guard let failed = memory.trial else { return [] }
    memory.trial = nil
    return [.remember(memory), .report(rolledBack(failed.settings))]
  }

  /// A `config/desired` document.
  ///
  /// - Parameter isRetained: whether the broker had kept it: the same one comes at each connection, and is decided once.
  mutating func desired(_ payload: [UInt8], isRetained: Bool, at now: Timestamp) -> [Decision] {
    let digest = RemoteMemory.digest(payload)
    if isRetained, digest == memory.lastDesired { return [] }
    memory.lastDesired = digest
    let document = RemoteDocument(parsing: payload, changeable: active.remote.keys, layers: layers)
    var report = Report(
      state: .refused, version: document.settings.version, problem: document.problem,
      accepted: document.accepted, refused: document.refused, settings: inForce.values)
    // Each broker may retain a document: without an order, two of them could send the vehicle back and forth.
    if isRetained, let version = document.settings.version, let newest = memory.newestVersion,
      RemoteSettings.isOlder(version, than: newest)
    {
      report.accepted = []
      report.problem = "version \(version) is older than \(newest), which this vehicle has accepted"
      return [.remember(memory), .report(report)]
    }
    guard document.problem == nil, document.refused.isEmpty else {
      return [.remember(memory), .report(report)]
    }
    let configuration: AgentConfiguration
    do throws(ConfigurationError) {
      configuration = try layers.configuration(remote: document.settings.values)
      try Self.check(configuration)
    } catch {
      report.problem = error.problem
      // One of the document's own is refused by name, so that whoever wants it leaves it out the next time.
      if let key = document.settings.values.keys.first(where: { error.problem.hasPrefix("key \($0): ") }) {
        report.accepted.removeAll { $0 == key }
        let reason = String(error.problem.dropFirst("key \(key): ".count))
        report.refused.append(RemoteDocument.Refusal(key: key, reason: reason))
      }
      return [.remember(memory), .report(report)]
    }
    report.settings = document.settings.values
    memory.newestVersion = document.settings.version ?? memory.newestVersion
    guard configuration != active else {
      // Nothing changes; what is on trial stays on trial.
      if memory.trial != nil {
        memory.trial?.settings = document.settings
      } else {
        memory.settings = document.settings
      }
      // Only a trial of a connection says how it ended; whoever set this would wait for the other's end in vain.
      report.state = (trial?.connectionsNeeded ?? 0) > 0 ? .trial : .applied
      return [.remember(memory), .report(report)]
    }
    let isSameConnection = configuration.mqtt == active.mqtt
    let needed = isSameConnection ? trial?.connectionsNeeded ?? 0 : connectionsNeeded(by: configuration)
    memory.trial = RemoteMemory.Trial(settings: document.settings)
    trial = Trial(
      deadline: now.advanced(bySeconds: active.remote.rollbackAfter), connectionsNeeded: needed,
      connectedSince: isConnected && needed == 0 ? now : nil)
    if needed > 0 { (isConnected, lastProblem) = (false, nil) }
    active = configuration
    report.state = needed > 0 ? .trial : .applied
    return [.remember(memory), .apply(configuration), .report(report)]
  }

  /// A `regions/desired` document is being decided on.
  ///
  /// - Returns: what to remember first; nil when it is the one that was decided on last, handed over again by the broker.
  mutating func regionsDesired(_ payload: [UInt8], isRetained: Bool) -> RemoteMemory? {
    let digest = RemoteMemory.digest(payload)
    if isRetained, digest == memory.lastRegions { return nil }
    memory.lastRegions = digest
    return memory
  }

  /// The configuration file was read again.
  ///
  /// - Throws: `ConfigurationError` when what it says cannot be; nothing has changed then.
  mutating func reload(_ layers: ConfigurationLayers) throws(ConfigurationError) -> Reloaded {
    let listed = Self.usable(inForce, active, layers)
    let wanted = try layers.configuration(remote: listed)
    try Self.check(wanted)
    // The file with only those of its changes that can be in force at once.
    var file = self.layers.file ?? ConfigurationLayer()
    let differing = ConfigurationKey.all.map(\.path).filter { file[$0]?.value != layers.file?[$0]?.value }
    let isOverridden = { (key: String) in layers.override(of: key) != nil || listed[key] != nil }
    let isLive = { (key: String) in RemoteKeys.effect(of: key) == .immediate }
    let free = differing.filter { !isOverridden($0) }
    var reloaded = Reloaded(
      changed: free.filter(isLive), needsRestart: free.filter { !isLive($0) },
      overridden: differing.filter(isOverridden))
    // What something else stands over comes into force when that goes.
    for key in differing.filter(isLive) { file[key] = layers.file?[key] }
    let applicable = ConfigurationLayers(
      flags: layers.flags, environment: layers.environment, file: file, fileName: layers.fileName,
      folders: layers.folders)
    let configuration = try applicable.configuration(remote: listed)
    self.layers = applicable
    guard configuration != active else { return reloaded }
    active = configuration
    reloaded.decisions = [.apply(configuration)]
    return reloaded
  }

  /// There is a broker, or there is none and why.
  mutating func connectionChanged(isConnected: Bool, problem: String?, at now: Timestamp) -> [Decision] {
    self.isConnected = isConnected
    if let problem { lastProblem = problem }
    guard let current = trial else { return [] }
    guard current.connectionsNeeded > 0 else {
      trial?.connectedSince = isConnected ? now : nil
      return []
    }
    guard isConnected else { return [] }
    // Urgent messages open the link, too: the next connection counts from one interval after the first.
    if let first = current.firstConnection, case .bursts(_, let interval?) = active.mqtt.resting.policy,
      now.seconds(since: first) < interval - 1
    {
      return []
    }
    trial?.firstConnection = current.firstConnection ?? now
    trial?.connectionsNeeded -= 1
    return current.connectionsNeeded > 1 ? [] : confirm(isNews: true)
  }

  /// The settings that the connection uses. On trial, a link that opens for bursts at rest does so immediately: a moving
  /// vehicle would otherwise confirm it before its next stop.
  var connection: AgentConfiguration.MQTT {
    var settings = active.mqtt
    if trial.map({ $0.connectionsNeeded > 0 }) == true, hasNewBursts(active) {
      settings.client.linkPolicy = settings.resting.policy
    }
    return settings
  }

  /// A connection proves that the broker is reachable. Another schedule of bursts also has to prove that the next connection
  /// follows in time.
  private func connectionsNeeded(by configuration: AgentConfiguration) -> Int {
    hasNewBursts(configuration) ? 2 : 1
  }

  /// Whether the link opens for bursts, at other times than under the settings that a failed trial restores.
  private func hasNewBursts(_ configuration: AgentConfiguration) -> Bool {
    // A link that is always in bursts is so at rest, too.
    guard case .bursts = configuration.mqtt.resting.policy else { return false }
    let before = try? layers.configuration(remote: Self.usable(memory.settings, active, layers)).mqtt
    return before.map {
      $0.client.linkPolicy != configuration.mqtt.client.linkPolicy
        || $0.resting.policy != configuration.mqtt.resting.policy
    } ?? true
  }

  /// When `advance` has something to do.
  var nextDeadline: Timestamp? {
    trial.map { trial in
      trial.connectedSince.map { min($0.advanced(bySeconds: Self.settlingTime), trial.deadline) }
        ?? trial.deadline
    }
  }

  /// Lets time pass.
  mutating func advance(to now: Timestamp) -> [Decision] {
    guard let current = trial else { return [] }
    if let since = current.connectedSince, now >= since.advanced(bySeconds: Self.settlingTime) {
      return confirm(isNews: false)
    }
    guard now >= current.deadline, let failed = memory.trial else { return [] }
    // A short time allowed may end before the settling; a broker that is there is enough then.
    if current.connectedSince != nil { return confirm(isNews: false) }
    // They were in force before, and the file that was read with them is still what it was. What it leads to (privacy.path)
    // may not be: then later.
    guard
      let configuration = try? layers.configuration(remote: Self.usable(memory.settings, active, layers))
    else {
      trial?.deadline = now.advanced(bySeconds: active.remote.rollbackAfter)
      return []
    }
    // One connection was made, and none followed.
    let isLate = current.connectionsNeeded == 1 && hasNewBursts(active)
    trial = nil
    memory.trial = nil
    active = configuration
    return [.remember(memory), .apply(configuration), .report(rolledBack(failed.settings, isLate: isLate))]
  }

  /// What of remembered settings may be in force: the list of keys, or what stands over them, may have changed meanwhile.
  private static func usable(
    _ settings: RemoteSettings, _ configuration: AgentConfiguration, _ layers: ConfigurationLayers
  ) -> [String: ConfigurationKey.Value] {
    settings.values.filter {
      configuration.remote.keys.contains($0.key) && layers.problem(remote: $0.key, value: $0.value) == nil
    }
  }

  /// The settings in force that have no effect.
  var ineffectiveSettings: [IneffectiveSetting] {
    layers.ineffectiveSettings(remote: Self.usable(inForce, active, layers))
  }

  /// The remote settings in force.
  var inForce: RemoteSettings { memory.trial?.settings ?? memory.settings }

  private mutating func confirm(isNews: Bool) -> [Decision] {
    trial = nil
    guard let passed = memory.trial else { return [] }
    memory.settings = passed.settings
    memory.trial = nil
    let report = Report(
      state: .applied, version: passed.settings.version, accepted: passed.settings.values.keys.sorted(),
      settings: passed.settings.values)
    return [.remember(memory)] + (isNews ? [.report(report)] : [])
  }

  private func rolledBack(_ failed: RemoteSettings, isLate: Bool = false) -> Report {
    let limit = active.remote.rollbackAfter
    let problem =
      isLate
      ? "no second connection within \(Int(limit)) s: mqtt.burst_interval must be shorter than remote.rollback_after, "
        + "which is set in the vehicle's file"
      : "the broker could not be reached in time"
    let why = lastProblem.map { "; \($0)" } ?? ""
    return Report(
      state: .rolledBack, version: failed.version, problem: problem + why,
      accepted: failed.values.keys.sorted(), settings: memory.settings.values)
  }

  /// Bounds that only the client knows.
  private static func check(_ configuration: AgentConfiguration) throws(ConfigurationError) {
    do throws(MQTTError) { try configuration.mqtt.client.validate() } catch {
      throw ConfigurationError(.invalidValue, place: "config/desired", problem: error.description)
    }
  }
}
