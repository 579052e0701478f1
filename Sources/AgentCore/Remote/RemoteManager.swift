internal import MQTT
internal import Pipeline
internal import Platform
package import Settings
package import Spatial
internal import Telemetry

/// Decides about remote settings. Documents, connection changes and time go in, decisions come out. It does
/// no I/O.
///
/// A document is applied as a whole or not at all. New settings are on trial until the broker has
/// acknowledged a message with them. If that does not happen in time, or the agent is restarted repeatedly, the previous settings
/// are restored. Every decision is stored *before* it is executed, so that a loss of power at any moment
/// leads to one of the two states.
package struct RemoteManager: Sendable {
  /// An action to execute. A returned array of decisions is executed in order.
  package enum Decision: Hashable, Sendable {
    case remember(RemoteMemory)
    case apply(AgentConfiguration)
    case report(Report)
  }

  /// The outcome of a document.
  package struct Report: Hashable, Sendable {
    package enum State: String, Hashable, Sendable {
      case applied, trial, refused, rolledBack
    }

    package var state: State
    package var version: String?
    package var problem: String?
    package var accepted: [String] = []
    package var refused: [RemoteDocument.Refusal] = []
    /// The remote settings in effect.
    package var settings: [String: ConfigurationKey.Value]
  }

  /// The outcome for each changed key of a reloaded file.
  package struct Reloaded: Hashable, Sendable {
    /// Keys whose changes were applied.
    package var changed: [String]
    /// Keys whose changes require a restart.
    package var needsRestart: [String]
    /// Keys whose changes have no effect, because an option, a variable or a remote setting overrides them.
    package var overridden: [String]
    package var decisions: [Decision] = []
  }

  package private(set) var memory: RemoteMemory
  /// The configuration in effect.
  package private(set) var active: AgentConfiguration
  package private(set) var layers: ConfigurationLayers
  /// Stored settings that are not in effect, because the vehicle's own configuration no longer permits them.
  package private(set) var refused: [RemoteDocument.Refusal] = []
  /// The reason why `begin` ends a trial; nil if it does not.
  private var failure: String?
  private var trial: Trial?
  private var isConnected = false
  private var lastProblem: String?

  private struct Trial {
    var deadline: Timestamp
    /// Number of connections that must still be established with the new settings; 0 if the existing
    /// connection is sufficient.
    var connectionsNeeded: Int
    /// Time of the first connection with the new settings; nil before it.
    var firstConnection: Timestamp?
    /// Start of the current connection; nil if there is none, or if the settings require a new connection.
    var connectedSince: Timestamp?
  }

  /// Duration in s of a connection that confirms settings which require no new one.
  static let settlingTime = 10.0
  /// Number of starts with new settings after which the previous ones are restored, because the new ones may
  /// crash the agent.
  package static let startsOnTrial = 3

  /// Starts with the stored state.
  ///
  /// - Throws: `ConfigurationError` if the configuration is invalid even without remote settings.
  package init(layers: ConfigurationLayers, memory: RemoteMemory, at start: Timestamp)
    throws(ConfigurationError)
  {
    (self.layers, self.memory) = (layers, memory)
    active = try layers.configuration()
    if let stored = memory.trial {
      let usable = try self.usable(stored.settings)
      if stored.starts >= Self.startsOnTrial {
        failure = "the agent was started \(Self.startsOnTrial) times with the new settings"
      } else if let refusal = usable.refused.first {
        failure = "the vehicle's own configuration no longer permits \(refusal.key): \(refusal.reason)"
      } else {
        active = usable.configuration
        self.memory.trial?.starts += 1
        trial = Trial(
          deadline: start.advanced(bySeconds: active.remote.rollbackAfter),
          connectionsNeeded: connectionsNeeded(by: active))
        return
      }
    }
    let usable = try self.usable(memory.settings)
    (active, refused) = (usable.configuration, usable.refused)
  }

  /// Returns the pending decisions after a start.
  package mutating func begin() -> [Decision] {
    if trial != nil { return [.remember(memory)] }
    if let failed = memory.trial {
      memory.trial = nil
      let report = rolledBack(failed.settings, problem: failure ?? "")
      return [.remember(noteRefusals()), .report(report)]
    }
    // The retained report of an earlier run is replaced if other settings are refused now.
    guard memory.refused != refused.map(\.key) else { return [] }
    return [.remember(noteRefusals())] + (reportInForce.map { [.report($0)] } ?? [])
  }

  /// Stores the keys of refused settings.
  private mutating func noteRefusals() -> RemoteMemory {
    memory.refused = refused.map(\.key)
    return memory
  }

  /// Decides on a `config/desired` document.
  ///
  /// A version older than the newest accepted one is refused, whether the document is retained or not: the
  /// result must not depend on whether the vehicle was connected when it was published. A version that is a
  /// time in the future is refused, too.
  /// - Parameters:
  ///   - isRetained: true if the broker had retained the document. The same retained document arrives at each
  ///     connection, and is decided on once.
  ///   - isOwnTracks: true for a document made of an OwnTracks command. The retained document remains decided on.
  ///   - civilTime: current time of a trusted clock; nil without one.
  package mutating func desired(
    _ payload: [UInt8], isRetained: Bool, isOwnTracks: Bool = false, at now: Timestamp,
    civilTime: UTCTime? = nil
  ) -> [Decision] {
    if !isOwnTracks {
      let before = memory.desired
      guard memory.desired.admit(payload, isRetained: isRetained) else {
        return memory.desired == before ? [] : [.remember(memory)]
      }
    }
    let document = RemoteDocument(parsing: payload, changeable: active.remote.keys, layers: layers)
    var report = Report(
      state: .refused, version: document.settings.version, problem: document.problem,
      accepted: document.accepted, refused: document.refused, settings: inForce.values)
    if let version = document.settings.version, let problem = problem(of: version, at: civilTime) {
      report.accepted = []
      report.problem = problem
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
      // A key of the document that causes the error is refused by name, so that its sender can omit it.
      if let key = document.settings.values.keys.first(where: error.isAbout) {
        report.accepted.removeAll { $0 == key }
        report.refused.append(RemoteDocument.Refusal(key: key, reason: error.reason(for: key)))
      }
      return [.remember(memory), .report(report)]
    }
    report.settings = document.settings.values
    (refused, memory.refused) = ([], [])
    if let version = document.settings.version, RemoteSettings.hasOrder(version) {
      memory.newestVersion = version
    }
    guard configuration != active else {
      // The configuration does not change; a trial in progress continues with the new document's settings.
      if memory.trial != nil {
        memory.trial?.settings = document.settings
      } else {
        memory.settings = document.settings
      }
      // `trial` is reported only if another report follows. That is the case only while the settings still
      // require a connection.
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

  /// Returns the reason to refuse a version; nil to accept it. Each of several brokers may retain a document.
  /// Without an order of versions, the settings could alternate between the documents of two brokers.
  private func problem(of version: String, at civilTime: UTCTime?) -> String? {
    if RemoteSettings.isTooLarge(version) {
      return "version \(version) is above \(RemoteSettings.largestNumber), the largest number of a version; "
        + "give a smaller number, or a time"
    }
    if let civilTime, RemoteSettings.isFuture(version, at: civilTime) {
      return
        "version \(version) is in the future; it is now \(civilTime.rfc3339); correct the clock of the sender"
    }
    // An earlier version of the agent accepted larger numbers, which `isOlder` ignores.
    guard let newest = memory.newestVersion, RemoteSettings.isOlder(version, than: newest) else { return nil }
    // The newest version is a time in the future: it was accepted while the clock was wrong, and no longer
    // counts.
    if let civilTime, RemoteSettings.isFuture(newest, at: civilTime) { return nil }
    return "version \(version) is older than \(newest), which this vehicle has accepted; give a newer version"
  }

  /// Records the processed `regions/desired` documents.
  ///
  /// - Returns: the state to store; nil if it has not changed.
  mutating func processed(regions: RemoteMemory.Decided) -> RemoteMemory? {
    guard memory.regions != regions else { return nil }
    memory.regions = regions
    return memory
  }

  /// Processes a reloaded configuration file.
  ///
  /// - Throws: `ConfigurationError` for an invalid file; then nothing is changed.
  package mutating func reload(_ layers: ConfigurationLayers) throws(ConfigurationError) -> Reloaded {
    let wanted = try UsableSettings(stored, changeable: active.remote.keys, layers: layers)
    // The previous content of the file, with only those changes that can take effect immediately.
    var file = self.layers.file ?? ConfigurationLayer()
    let differing = ConfigurationKey.all.map(\.path).filter { file[$0]?.value != layers.file?[$0]?.value }
    let isOverridden = { (key: String) in layers.override(of: key) != nil || wanted.values[key] != nil }
    let isLive = { (key: String) in RemoteKeys.effect(of: key) == .immediate }
    let free = differing.filter { !isOverridden($0) }
    var reloaded = Reloaded(
      changed: free.filter(isLive), needsRestart: free.filter { !isLive($0) },
      overridden: differing.filter(isOverridden))
    // An overridden change takes effect when its override is removed.
    for key in differing.filter(isLive) { file[key] = layers.file?[key] }
    let applicable = ConfigurationLayers(
      flags: layers.flags, environment: layers.environment, file: file, fileName: layers.fileName,
      folders: layers.folders)
    let usable = try UsableSettings(stored, changeable: active.remote.keys, layers: applicable)
    if trial != nil, let refusal = usable.refused.first {
      throw ConfigurationError(
        .conflict, place: "config/desired",
        problem: "\(refusal.key), which is on trial: \(refusal.reason); reload again after the trial")
    }
    self.layers = applicable
    if usable.configuration != active {
      active = usable.configuration
      reloaded.decisions = [.apply(active)]
    }
    if usable.refused != refused {
      refused = usable.refused
      reloaded.decisions.insert(.remember(noteRefusals()), at: 0)
      if let report = reportInForce { reloaded.decisions.append(.report(report)) }
    }
    return reloaded
  }

  /// Processes a change of the connection, with the reason for a failure.
  /// - Parameter isConnected: true if the broker has acknowledged a message of this connection. An accepted
  ///   connection is not sufficient: a broker may accept connections and store nothing.
  package mutating func connectionChanged(isConnected: Bool, problem: String?, at now: Timestamp)
    -> [Decision]
  {
    self.isConnected = isConnected
    if let problem { lastProblem = problem }
    guard let current = trial else { return [] }
    guard current.connectionsNeeded > 0 else {
      trial?.connectedSince = isConnected ? now : nil
      return []
    }
    guard isConnected else { return [] }
    // Urgent messages open the link, too. Therefore the second connection counts only if at least one
    // interval has passed since the first.
    if let first = current.firstConnection, case .bursts(_, let interval?) = active.mqtt.resting.policy,
      now.seconds(since: first) < interval - 1
    {
      return []
    }
    trial?.firstConnection = current.firstConnection ?? now
    trial?.connectionsNeeded -= 1
    return current.connectionsNeeded > 1 ? [] : confirm(isNews: true)
  }

  /// The settings that the connection uses. While other burst times are on trial, the link uses its policy
  /// for rest immediately. Otherwise a moving vehicle would confirm the burst times before it had used them.
  package var connection: AgentConfiguration.MQTT {
    var settings = active.mqtt
    if trial.map({ $0.connectionsNeeded > 0 }) == true, hasNewBursts(active) {
      settings.client.linkPolicy = settings.resting.policy
    }
    return settings
  }

  /// Returns the number of connections that confirm the settings. A connection with an acknowledged message
  /// proves that the broker is usable. Settings with another schedule of bursts must also prove that the next connection follows in
  /// time.
  private func connectionsNeeded(by configuration: AgentConfiguration) -> Int {
    hasNewBursts(configuration) ? 2 : 1
  }

  /// Returns whether a configuration has bursts whose times differ from those of the settings that a failed
  /// trial restores.
  private func hasNewBursts(_ configuration: AgentConfiguration) -> Bool {
    // The policy at rest is sufficient: a link that uses bursts while the vehicle moves also uses them at
    // rest.
    guard case .bursts = configuration.mqtt.resting.policy else { return false }
    let before = try? usable(memory.settings).configuration.mqtt
    return before.map {
      $0.client.linkPolicy != configuration.mqtt.client.linkPolicy
        || $0.resting.policy != configuration.mqtt.resting.policy
    } ?? true
  }

  /// The next time at which `advance` must be called.
  package var nextDeadline: Timestamp? {
    trial.map { trial in
      trial.connectedSince.map { min($0.advanced(bySeconds: Self.settlingTime), trial.deadline) }
        ?? trial.deadline
    }
  }

  /// Advances the time.
  package mutating func advance(to now: Timestamp) -> [Decision] {
    guard let current = trial else { return [] }
    if let since = current.connectedSince, now >= since.advanced(bySeconds: Self.settlingTime) {
      return confirm(isNews: false)
    }
    guard now >= current.deadline, let failed = memory.trial else { return [] }
    // If the deadline precedes the end of the settling time, an existing connection is sufficient.
    if current.connectedSince != nil { return confirm(isNews: false) }
    // The restored settings were in effect before, and the configuration file in memory is unchanged. A file
    // to which they refer (privacy.path) may have become invalid; then the rollback is retried later.
    guard let usable = try? self.usable(memory.settings) else {
      trial?.deadline = now.advanced(bySeconds: active.remote.rollbackAfter)
      return []
    }
    // The first of two required connections was established, but the second was not.
    let isLate = current.connectionsNeeded == 1 && hasNewBursts(active)
    trial = nil
    memory.trial = nil
    (active, refused) = (usable.configuration, usable.refused)
    let problem =
      isLate
      ? "no second connection within \(Int(active.remote.rollbackAfter)) s: mqtt.burst_interval must be shorter than "
        + "remote.rollback_after, which is set in the vehicle's configuration"
      : "the broker could not be reached, or acknowledged no message in time"
    let report = rolledBack(failed.settings, problem: problem + (lastProblem.map { "; \($0)" } ?? ""))
    return [.remember(noteRefusals()), .apply(active), .report(report)]
  }

  private func usable(_ settings: RemoteSettings) throws(ConfigurationError) -> UsableSettings {
    try UsableSettings(settings, changeable: active.remote.keys, layers: layers)
  }

  /// The accepted remote settings that have no effect because of another setting.
  package var ineffectiveSettings: [IneffectiveSetting] {
    layers.ineffectiveSettings(remote: inForce.values)
  }

  /// The stored settings that apply now: those on trial, or the confirmed ones.
  private var stored: RemoteSettings {
    trial == nil ? memory.settings : memory.trial?.settings ?? memory.settings
  }

  /// The remote settings in effect.
  package var inForce: RemoteSettings {
    var settings = stored
    for refusal in refused { settings.values[refusal.key] = nil }
    return settings
  }

  /// A report on the stored settings; nil if there are none.
  package var reportInForce: Report? {
    let settings = inForce
    guard !settings.values.isEmpty || !refused.isEmpty else { return nil }
    let state: Report.State = (trial?.connectionsNeeded ?? 0) > 0 ? .trial : .applied
    return Report(
      state: settings.values.isEmpty ? .refused : state, version: settings.version,
      problem: refused.isEmpty ? nil : "the vehicle's own configuration no longer permits all settings",
      accepted: settings.values.keys.sorted(), refused: refused, settings: settings.values)
  }

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

  private func rolledBack(_ failed: RemoteSettings, problem: String) -> Report {
    Report(
      state: .rolledBack, version: failed.version, problem: problem, accepted: failed.values.keys.sorted(),
      refused: refused, settings: inForce.values)
  }

  /// Checks bounds that are defined by the MQTT client.
  static func check(_ configuration: AgentConfiguration) throws(ConfigurationError) {
    do throws(OperationError) { try configuration.mqtt.client.validate() } catch {
      throw ConfigurationError(.invalidValue, place: "config/desired", problem: error.description)
    }
  }
}
