internal import Logging

/// Event name of a log message, independent of its wording: `event=…` in each line of the log.
/// `Config/log-events.md` lists all of them.
package enum AgentEvent: String, CaseIterable, Sendable {
  case agentStarted = "agent.started"
  case agentStopping = "agent.stopping"
  case agentStopped = "agent.stopped"
  case agentStuck = "agent.stuck"
  case agentRecovered = "agent.recovered"
  case libraryMessage = "agent.library"
  case clockChanged = "agent.clock"
  case reloadIgnored = "agent.reload_ignored"
  case brokerConnected = "broker.connected"
  case brokerUnreachable = "broker.unreachable"
  case brokerReconnecting = "broker.reconnecting"
  case brokerNotAnswering = "broker.not_answering"
  case brokerDuplicateClient = "broker.duplicate_client"
  case messageDropped = "broker.message_dropped"
  case publishRefused = "publish.refused"
  case publishPaused = "publish.paused"
  case publishResumed = "publish.resumed"
  case linkChanged = "link.changed"
  case reconnectRefused = "link.reconnect_refused"
  case sourceActive = "source.active"
  case sourceRestricted = "source.restricted"
  case sourceIdle = "source.idle"
  case sourceUnavailable = "source.unavailable"
  case sourceFinished = "source.finished"
  case inputSkipped = "source.input_skipped"
  case outputUnavailable = "output.unavailable"
  case outputDegraded = "output.degraded"
  case stateAdopted = "state.adopted"
  case stateForeign = "state.foreign"
  case stateFolderMissing = "state.folder_missing"
  case stateUnclaimed = "state.unclaimed"
  case storeDegraded = "store.degraded"
  case storeRecovered = "store.recovered"
  case storeSetAside = "store.set_aside"
  case storeDamaged = "store.damaged"
  case storeNewEpoch = "store.new_epoch"
  case storeDropped = "store.dropped"
  case storeLeft = "store.left"
  case storeLost = "store.lost"
  case commandsDropped = "remote.commands_dropped"
  case responseTopicRefused = "remote.response_topic_refused"
  case remoteRefused = "remote.refused_by_broker"
  case remoteSettings = "remote.settings"
  case remoteSettingsInForce = "remote.settings_in_force"
  case remoteSettingRefused = "remote.setting_refused"
  case remoteNotKept = "remote.not_kept"
  case remoteRegions = "remote.regions"
  case remoteRegionsAnswered = "remote.regions_answered"
  case commandAnswered = "remote.command"
  case ownTracksRefused = "remote.owntracks_refused"
  case locationSimulated = "remote.location_simulated"
  case historyMissing = "history.unavailable"
  case historyNotWritten = "history.not_written"
  case configurationReload = "configuration.reloaded"
  case configurationNotReloaded = "configuration.not_reloaded"
  case settingIneffective = "configuration.ineffective"
  case regionsWatched = "regions.watched"
  case regionsUnreadable = "regions.unreadable"
  case regionRefused = "regions.refused"
  case regionStatesLost = "regions.states_lost"
  case calibrationLoaded = "calibration.loaded"
  case calibrationNotRead = "calibration.not_read"
  case calibrationDamaged = "calibration.damaged"
  case calibrationDiscarded = "calibration.discarded"
  case calibrationNotKept = "calibration.not_kept"
  case beaconsDamaged = "beacons.damaged"
  case beaconsNotKept = "beacons.not_kept"
  case beaconsForgotten = "beacons.forgotten"
  case beaconsReceived = "beacons.received"
  case beaconsRefused = "beacons.refused"
  case odometerSet = "odometer.set"
  case odometerDisagrees = "odometer.disagrees"
  case traceKept = "trace.kept"
  case traceNotKept = "trace.not_kept"
  case recorderRecovered = "recorder.recovered"
  case recorderStarted = "recorder.started"
  case recorderFailed = "recorder.failed"
  case controlUnavailable = "control.unavailable"
  case localListening = "local.listening"
  case localUnavailable = "local.unavailable"
  case metricsNotWritten = "metrics.not_written"
  case metricsWritten = "metrics.written"
}

extension Logger {
  func info(
    _ event: AgentEvent, _ message: @autoclosure () -> Message, metadata: @autoclosure () -> Metadata = [:]
  ) { log(.info, event, message(), metadata()) }

  func notice(
    _ event: AgentEvent, _ message: @autoclosure () -> Message, metadata: @autoclosure () -> Metadata = [:]
  ) { log(.notice, event, message(), metadata()) }

  func warning(
    _ event: AgentEvent, _ message: @autoclosure () -> Message, metadata: @autoclosure () -> Metadata = [:]
  ) { log(.warning, event, message(), metadata()) }

  func error(
    _ event: AgentEvent, _ message: @autoclosure () -> Message, metadata: @autoclosure () -> Metadata = [:]
  ) { log(.error, event, message(), metadata()) }

  private func log(
    _ level: Level, _ event: AgentEvent, _ message: @autoclosure () -> Message,
    _ metadata: @autoclosure () -> Metadata
  ) {
    guard logLevel <= level else { return }
    var metadata = metadata()
    metadata[JournalLogHandler.eventKey] = .string(event.rawValue)
    log(level: level, message(), metadata: metadata)
  }
}
