internal import Bytes
internal import Glibc
internal import LiveSensors
package import Logging
internal import Pipeline
internal import Platform
internal import Sensors
internal import Settings
internal import Spatial
internal import Telemetry

/// The agent: reads sensors and publishes messages until it is stopped.
///
/// Threads: one per source, one for the pipeline, one for MQTT; the thread that calls `run` waits for
/// signals. All inputs reach the pipeline as `AgentInput` through one bounded queue.
package final class Agent: Sendable {
  /// Destination of messages.
  package enum Output: Sendable {
    case broker
    /// Standard output, a JSON line for each message.
    case print
  }

  private let configuration: AgentConfiguration
  /// Origin of the configuration; nil if it can neither be reloaded nor changed remotely.
  private let layers: ConfigurationLayers?
  private let output: Output
  private let ownsStandardError: Bool
  private let version: String
  private let log: Logger

  /// - Parameters:
  ///   - layers: origin of the configuration; nil if it can neither be reloaded nor changed remotely.
  ///   - ownsStandardError: true to log the output of libraries on standard error while the agent runs.
  package init(
    configuration: AgentConfiguration, layers: ConfigurationLayers? = nil, output: Output,
    ownsStandardError: Bool = false, version: String, log: Logger
  ) {
    self.configuration = configuration
    self.layers = layers
    self.output = output
    self.ownsStandardError = ownsStandardError
    self.version = version
    self.log = log
  }

  /// Runs until SIGTERM, SIGINT or the end of a recording, then stops cleanly. Call it on the main thread
  /// before other threads exist.
  ///
  /// - Throws: an error with a message for the operator, if the agent cannot start or continue.
  package func run() throws {
    // The parsers of arguments and configuration are not needed again.
    ProgramPages.release()
    SignalDescriptor.ignoreBrokenPipes()
    let signals = try SignalDescriptor([SIGTERM, SIGINT, SIGHUP, SIGPWR])
    let libraryMessages = ownsStandardError ? LibraryMessages(log: log) : nil
    defer { libraryMessages?.end() }
    let ended = try EventDescriptor()
    let topics = try TopicScheme(
      root: configuration.topicRoot, fleet: configuration.fleet, vehicle: configuration.vehicle)
    let claims = output == .broker ? try StateClaims(configuration, log: log) : nil
    defer { withExtendedLifetime(claims) {} }
    // Remote settings cannot change the store.
    let messageStore = output == .broker ? try AgentOutbox(configuration.store, log: log) : nil
    let store = StateStore(path: configuration.store.path, outbox: messageStore?.outbox)
    // Remote management requires a broker.
    let start =
      output == .broker
      ? try RemoteStart(configuration, layers: layers, topics: topics, store: store, log: log) : nil
    let configuration = start?.manager.active ?? configuration
    // The position of a real vehicle cannot be set by a command.
    let location = configuration.input == .hardware ? nil : SimulatedLocation()
    let feed = try SensorFeed(configuration, location: location)
    try RequiredSensors(configuration).check(feed)
    let (timestamp, time) = try feed.startOfTime(configuration.sensorInput)
    // Calibration from a recording does not apply to this machine's sensors.
    let calibrationPath = calibrationPath(configuration)
    var calibration = calibrationPath.map { CalibrationStore(path: $0, store: store, log: log) }
    var navigation = calibrationPath.map { navigationStore($0, store) }
    var odometer = odometerStore(store)
    let trips = tripStore(store)
    let beacons = beaconPlan()
    let now = UTCTime.now
    var initial = AgentPipeline(
      configuration: configuration.pipeline, start: timestamp, time: time,
      isClockSynchronized: UTCTime.isSynchronized, version: version,
      calibration: calibration?.load(now: now),
      navigation: navigation?.load(at: timestamp, now: now), odometer: odometer?.load(now: now),
      trips: trips?.load(now: now), beaconMap: beacons?.store)
    initial.observe(deniedNodes: DevicePermissions().denied(for: configuration))
    var services = AgentLoop.Services()
    if let regions = start?.regions {
      regions.watch(in: &initial.regions, log: log)
      initial.regionSource = .remote
    } else if let path = configuration.regions.path {
      let report: RegionsReportedMessage
      do throws(ConfigurationError) {
        report = try RegionFile(path).watch(in: &initial.regions, at: initial.civilTime, log: log)
        initial.regionSource = .file
      } catch {
        // An unreadable file must not stop the agent: its disk may have failed.
        log.error(.regionsUnreadable, "regions not monitored", metadata: ["reason": "\(error)"])
        services.problems.append("regions: \(error)")
        report = RegionsReportedMessage(
          time: initial.civilTime, state: .refused, source: .file, problem: "\(error)")
      }
      // Only the native format contains this report.
      if configuration.profiles.isNative { services.announcements.append(.regionsReported(report)) }
    }
    if let problem = start?.problem { services.problems.append(problem) }
    let inbox = AgentInbox()
    let discovery = FormerSetting(
      "home assistant", current: configuration.profiles.homeAssistant?.prefix ?? "",
      outbox: messageStore?.outbox)
    var formats = try MessageFormats(configuration.profiles, topics: topics, version: version)
    if let former = discovery.value {
      formats.remove(HomeAssistantDiscovery(prefix: former, topics: topics, version: version))
    }
    services.documents = discovery.change
    let delivery: any MessageDelivery
    // The output of an agent that prints must depend on its input alone, not on stored region states.
    if let messageStore {
      delivery = try BrokerDelivery(
        configuration: configuration, store: messageStore, formats: formats, log: log,
        remote: start?.topics ?? beaconTopics(topics), inbox: inbox)
      delivery.observe(PositionDisclosure(configuration))
      let states = RegionStates(path: configuration.regions.statePath, log: log)
      states.restore(&initial.regions, from: messageStore.outbox)
      services.regionStates = states
    } else {
      delivery = PrintDelivery(
        formats: formats,
        link: configuration.input == .hardware
          ? nil : LinkModel(configuration.mqtt, formats: formats, start: timestamp))
    }
    let pipeline = initial
    let duties = try duties(inbox)
    services.vehicle = configuration.vehicleName
    services.preset = configuration.preset.rawValue
    // The output of an agent that prints must depend on its input alone, not on this computer's health.
    if output == .broker { services.probe = SystemProbe(store: configuration.store.path) }
    if configuration.input == .hardware {
      services.mounting = MountingCheck(configuration.iio)
      services.clock = {
        SystemTime(
          time: .now, isSynchronized: UTCTime.isSynchronized)
      }
    }
    services.memory = MotionMemory.Plan(
      configuration, calibration: calibration, navigation: navigation, odometer: odometer, trips: trips)
    services.traces = traceStore()
    services.beacons = beacons
    services.snapshots = duties.snapshots
    services.local = localServer(feed, inbox)
    defer { services.local?.stop() }
    services.sensorProxy = sensorProxy(feed, inbox)
    defer { services.sensorProxy?.stop() }
    services.regionNotifier = try regionNotifier(feed)
    defer { services.regionNotifier?.stop() }
    if let start, let link = delivery as? any RemoteLink {
      services.remote = RemoteService.Plan(
        manager: start.manager, regions: start.regions, folder: start.folder, topics: start.topics,
        link: link, location: location, log: log)
    }
    // The start is logged before the pipeline's thread starts, which logs the states of the sources.
    log.info(
      .agentStarted, "started",
      metadata: [
        "vehicle": "\(configuration.vehicleName)",
        "preset": "\(configuration.preset.rawValue)",
        "version": "\(version)",
      ])
    (start?.manager.ineffectiveSettings ?? layers?.ineffectiveSettings() ?? []).report(to: log)
    ProgramPages.release()
    let outcome = Locked<(any Error)?>(nil)
    let worker = try DedicatedThread.startWatched(
      name: "pipeline", stackSize: 8 << 20, call: { inbox.push(.tick) },
      { [services, log] heartbeat in
        do {
          var loop = try AgentLoop(
            pipeline: pipeline, sensors: feed, inbox: inbox, delivery: delivery, services: services,
            log: log)
          try loop.run(heartbeat: heartbeat)
        } catch {
          outcome.withLock { $0 = error }
        }
        ended.signal()
      })
    var caretaker = Caretaker(
      signals: signals, ended: ended, duties: duties,
      actions: Caretaker.SignalActions(
        stop: { inbox.push(.stop) },
        powerFailing: { inbox.push(.powerFailing) },
        reload: {
          guard start != nil else { return false }
          return inbox.push(.reload)
        }), version: version, log: log)
    caretaker.run()
    worker.join()
    if let error = outcome.withLock({ $0 }) { throw error }
    log.info(.agentStopped, "stopped")
  }

  /// The alternative remedy for a missing socket; empty for root, which can write to the system's folders.
  private static var orRuntimeFolder: String {
    geteuid() == 0 ? "" : ", or XDG_RUNTIME_DIR to a folder that you own"
  }

  /// Returns the path of the calibration file of this vehicle's sensors. Nil if calibration is not stored,
  /// belongs to another vehicle, or if the sensors are recorded or simulated.
  private func calibrationPath(_ configuration: AgentConfiguration) -> String? {
    guard configuration.input == .hardware, let path = configuration.calibrationPath else { return nil }
    // With a broker, `StateClaims` has already refused another vehicle's folder.
    guard output == .print, let owner = StateClaim.owner(ofFolder: StateFolder.of(path)),
      owner != configuration.vehicleName
    else { return path }
    log.notice(
      .stateForeign, "calibration of another vehicle ignored",
      metadata: ["path": "\(path)", "owner": "\(owner)"])
    return nil
  }

  /// Returns the store of mounting and position.
  private func navigationStore(_ calibrationPath: String, _ store: StateStore) -> NavigationStore {
    // An agent that prints has no control socket by default, and must not use the state in memory of the
    // service.
    let hasSocket = output == .broker || configuration.operation.controlSocket != nil
    return NavigationStore(
      path: calibrationPath + ".navigation", memory: hasSocket ? memoryPath("navigation") : nil,
      store: store, log: log)
  }

  /// Returns the path of a file beside the control socket, for state that is written often. Its name differs
  /// for each store, so that agents with sockets in one folder do not share state.
  private func memoryPath(_ kind: String) -> String {
    let name = socket.hasSuffix(".socket") ? String(socket.dropLast(7)) : socket
    let own = String(FNV1a.hash64(Array(configuration.store.path.utf8)), radix: 16)
    return "\(name)-\(own).\(kind)"
  }

  /// A file in the user's own folder of shared memory, for agents whose socket is on a disk; nil if there is none.
  private func sharedMemoryPath(_ kind: String) -> String? {
    let folder = "/dev/shm/odograph-\(geteuid())"
    mkdir(folder, 0o700)
    let own = String(FNV1a.hash64(Array(configuration.store.path.utf8)), radix: 16)
    let path = "\(folder)/\(own).\(kind)"
    return AtomicFile.isInMemory(path) ? path : nil
  }

  /// The store of the odometer; nil with recorded or simulated sensors, and without a broker.
  private func odometerStore(_ store: StateStore) -> OdometerStore? {
    guard configuration.input == .hardware, output == .broker else { return nil }
    let memory = memoryPath("odometer")
    let shared = AtomicFile.isInMemory(memory) ? nil : sharedMemoryPath("odometer")
    return OdometerStore(
      path: configuration.state.odometer, memory: shared ?? memory, isMemoryShared: shared != nil,
      keepsPlace: configuration.calibrationPath != nil, store: store, log: log)
  }

  /// Returns the store of trips; nil under the same conditions as `odometerStore`.
  private func tripStore(_ store: StateStore) -> TripStore? {
    guard configuration.input == .hardware, output == .broker else { return nil }
    return TripStore(
      path: configuration.state.trips, keepsPlaces: configuration.calibrationPath != nil,
      store: store, log: log)
  }

  /// Returns the store of traces; nil if traces are off. Printed traces are not stored.
  private func traceStore() -> TraceStore? {
    guard var settings = configuration.traces else { return nil }
    if output == .print { settings.path = nil }
    return TraceStore(settings, log: log)
  }

  /// Returns the plan for beacons; nil if they are not used. Recorded input contains no beacons of this
  /// machine.
  private func beaconPlan() -> BeaconMemory.Plan? {
    let settings = configuration.beacons
    guard !configuration.radio.isEmpty else { return nil }
    // A test run must not create the file of beacons, because the service, which runs as another user, could
    // not open it.
    let learns = settings.learns && configuration.input == .hardware && output == .broker
    let exchangesBeacons = output == .broker && (settings.shares || settings.receives)
    guard learns || exchangesBeacons else { return nil }
    let store = BeaconStore(
      path: settings.path, limit: settings.limit, forgetAfter: settings.forgetAfter, log: log)
    return BeaconMemory.Plan(
      store: store, learns: learns, shares: exchangesBeacons && settings.shares,
      receives: exchangesBeacons && settings.receives,
      log: log)
  }

  /// Returns the topics of an agent without remote management; nil for none.
  private func beaconTopics(_ topics: TopicScheme) -> RemoteTopics? {
    guard configuration.beacons.receives, !configuration.radio.isEmpty else { return nil }
    return RemoteTopics(topics: topics, ownTracks: nil, isManaged: false, receivesBeacons: true)
  }

  /// Starts the services for programs on this machine; nil if they are off. A service that cannot start is logged,
  /// and the agent starts without it.
  private func localServer(_ feed: SensorFeed, _ inbox: AgentInbox) -> LocalServer? {
    guard !configuration.local.isEmpty else { return nil }
    var listeners: [LocalListeners] = []
    let openFiles = ProgramLimit.openFiles
    for finding in configuration.local.limitFindings(openFiles: openFiles) {
      log.warning(
        .localUnavailable, "fewer programs than configured",
        metadata: ["service": "\(finding.subject)", "reason": "\(finding.message)"])
    }
    for service in configuration.local.limited(openFiles: openFiles) {
      let name = service.name
      do {
        if case .recorded = feed { throw Self.tooFast }
        listeners.append(try LocalListeners(service, version: version))
        log.info(.localListening, "positions for other programs", metadata: ["service": "\(name)"])
      } catch {
        log.warning(
          .localUnavailable, "no positions for other programs",
          metadata: ["service": "\(name)", "reason": "\(error)"])
      }
    }
    guard !listeners.isEmpty else { return nil }
    do throws(SystemError) {
      let server = try LocalServer()
      try server.start(listeners) { inbox.push(.localDemand($0)) }
      return server
    } catch {
      log.warning(
        .localUnavailable, "no positions for other programs", metadata: ["reason": "\(error)"])
      return nil
    }
  }

  /// Starts the service of orientation and compass; nil if it is off or cannot start.
  private func sensorProxy(_ feed: SensorFeed, _ inbox: AgentInbox) -> SensorProxyHost? {
    guard configuration.hasSensorProxy else { return nil }
    do {
      if case .recorded = feed { throw Self.tooFast }
      return try SensorProxyHost(log: log) { inbox.push(.localMotionDemand($0)) }
    } catch {
      SensorProxyHost.report("\(error)", to: log)
      return nil
    }
  }

  /// Starts the delivery of region events to other programs; nil without sockets, and for recordings at full speed.
  /// - Throws: `SystemError` if the process has no free descriptors or threads.
  private func regionNotifier(_ feed: SensorFeed) throws -> RegionNotifier? {
    guard !configuration.regions.notified.isEmpty else { return nil }
    if case .recorded = feed {
      log.warning(
        .localUnavailable, "no region events for other programs",
        metadata: ["service": "regions.notify", "reason": "\(Self.tooFast)"])
      return nil
    }
    return try RegionNotifier(paths: configuration.regions.notified, log: log)
  }

  /// The error of services for other programs, whose reports of a recording at full speed would be thousands of times
  /// too early.
  private static var tooFast: ConfigurationError {
    ConfigurationError(
      .conflict, place: "input.speed", problem: "0 is too fast for other programs; set it to 1")
  }

  private var socket: String { configuration.operation.controlSocket ?? AgentFolders.system.socket }

  /// Returns the duties of the main thread. If the control socket cannot be created, the agent logs this and
  /// starts without it.
  private func duties(_ inbox: AgentInbox) throws -> Caretaker.Duties {
    let environment = ProcessEnvironment.variables
    var duties = Caretaker.Duties()
    duties.notifier = ServiceNotifier(environment: environment)
    let settings = configuration.operation
    // Of several agents on one machine, those that print have no default control socket.
    if settings.hasControlSocket, output == .broker || settings.controlSocket != nil {
      do throws(SystemError) {
        duties.control = try ControlSocket(path: socket)
      } catch {
        log.notice(
          .controlUnavailable, "odographd status cannot reach this agent",
          metadata: ["reason": "\(error); set control.socket\(Self.orRuntimeFolder)"])
      }
    }
    duties.metrics = settings.metricsFile.map { MetricsFile(path: $0, interval: settings.metricsInterval) }
    if duties.notifier != nil || duties.control != nil || duties.metrics != nil {
      duties.snapshots = try SnapshotBoard(inbox: inbox)
    }
    return duties
  }
}
