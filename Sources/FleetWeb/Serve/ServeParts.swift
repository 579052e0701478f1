package import Fleet
package import FleetStore
package import MQTT

/// What a part of the server is made of.
package struct ServeContext: Sendable {
  package let configuration: ServeConfiguration
  /// How to reach the broker, for what sends to vehicles.
  package let broker: MQTTConfiguration
  /// Which vehicles are served.
  package let selection: FleetSelection

  package init(configuration: ServeConfiguration, broker: MQTTConfiguration, selection: FleetSelection) {
    (self.configuration, self.broker, self.selection) = (configuration, broker, selection)
  }
}

/// Something of the server that lives as long as it does, with threads or files of its own.
package protocol ServePart: Sendable {
  /// Called once, before the first request.
  func start() throws(FleetError)
  /// Called once, after the last.
  func stop()
}

/// What the server is put together from. What comes first is made first: observers before the feed, the feed before what
/// reads it.
package struct ServeParts: Sendable {
  /// See every message that changed something.
  package var observers: [any FleetObserver] = []
  /// Told on every stream.
  package var sources: [any StreamSource] = []
  /// Below `/api/v1`.
  package var subjects: [any RouteGroup] = []
  /// At the root.
  package var roots: [any RouteGroup] = []
  /// Started in this order, and stopped in the other.
  package var parts: [any ServePart] = []
  /// Tell Prometheus something.
  package var metrics: [any MetricsSource] = []
  /// Where map tiles come from beside this server, as in `https://tile.example.org`.
  package var imageOrigins: [String] = []
  /// What SIGHUP does once the file, read again, is known to have no mistake.
  package var reloads: [AccessKeeper.Reload] = []
  /// How recording goes on; nil where nothing is recorded.
  package var recording: @Sendable () -> SideRecorder.Progress? = { nil }
  /// Nil without rules.
  private var alerts: AlertPart?

  /// - Throws: `FleetError` for what makes no sense in the configuration.
  package init(_ context: ServeContext) throws(FleetError) {
    let history = try HistoryService.start(context)
    subjects.append(HistoryRoutes(history?.readers))
    sources.append(ServerAbilities(hasRecording: history != nil, hasControl: Self.canControl(context)))
    if let history {
      parts.append(history)
      metrics.append(history)
      recording = { history.progress }
    }
    try add(MapService(context.configuration.map))
    if let file = context.configuration.file { alerts = try AlertPart(file, context) }
    subjects.append(alerts?.routes ?? AlertRoutes(nil))
    alerts?.join(&self)
  }

  /// What needs the feed.
  package mutating func add(_ fleet: LiveFleet, _ context: ServeContext) throws(FleetError) {
    if let alerts {
      let events = alerts.events(fleet.feed, context)
      parts.append(events)
      reloads.append { file in
        alerts.reload(file)
        events.reload()
      }
    } else {
      reloads.append { AlertPart.sayWhatWantsARestart($0) }
    }
    try addControl(fleet.feed, context)
  }
}
