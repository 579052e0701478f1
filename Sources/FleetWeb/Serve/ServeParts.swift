package import Fleet
package import FleetStore
package import MQTT

/// The context for creating the server's parts.
package struct ServeContext: Sendable {
  package var configuration: ServeConfiguration
  /// The broker, for parts that send to vehicles.
  package let broker: MQTTConfiguration
  /// The served vehicles.
  package let selection: FleetSelection

  package init(configuration: ServeConfiguration, broker: MQTTConfiguration, selection: FleetSelection) {
    (self.configuration, self.broker, self.selection) = (configuration, broker, selection)
  }
}

/// A part of the server that exists as long as the server, and has its own threads or files.
package protocol ServePart: Sendable {
  /// Starts the part; called once, before the first request.
  func start() throws(FleetError)
  /// Stops the part; called once, after the last request.
  func stop()
}

/// The parts of the server in the order of their creation: observers before the feed, the feed before its
/// readers.
package struct ServeParts: Sendable {
  /// The observers of every message that changed a vehicle.
  package var observers: [any FleetObserver] = []
  /// The sources of further stream events.
  package var sources: [any StreamSource] = []
  /// The routes below `/api/v1`.
  package var subjects: [any RouteGroup] = []
  /// The routes at the root.
  package var roots: [any RouteGroup] = []
  /// The parts, started in this order and stopped in reverse.
  package var parts: [any ServePart] = []
  /// The sources of Prometheus metrics.
  package var metrics: [any MetricsSource] = []
  /// The additional origins of map tiles, such as `https://tile.example.org`.
  package var imageOrigins: [String] = []
  /// The actions for SIGHUP after the reloaded file was checked.
  package var reloads: [AccessMaintenance.Reload] = []
  /// Returns the progress of recording; nil if there is none.
  package var recording: @Sendable () -> SideRecorder.Progress? = { nil }
  /// The alerts; nil without rules.
  private var alerts: AlertPart?

  /// Creates the parts that do not need the feed.
  ///
  /// - Throws: `FleetError` for an invalid configuration.
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

  /// Adds the parts that need the feed.
  package mutating func add(_ fleet: LiveFleet, _ context: ServeContext) throws(FleetError) {
    if let alerts {
      let events = alerts.events(fleet.feed, context)
      parts.append(events)
      reloads.append { file in
        alerts.reload(file)
        events.reload()
      }
    } else {
      reloads.append { AlertPart.logSettingsThatNeedARestart($0) }
    }
    try addControl(fleet.feed, context)
  }
}
