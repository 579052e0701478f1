internal import LiveSensors
internal import Logging
internal import Pipeline
internal import Platform
internal import Positioning
internal import Sensors
internal import Spatial
internal import StoreAndForward
internal import Telemetry

/// The agent's main loop on the pipeline's thread: receives the next input, lets the pipeline decide, and
/// delivers the results.
struct AgentLoop: ~Copyable {
  /// Stores, services and settings around the pipeline.
  struct Services: Sendable {
    /// Fleet and vehicle, for snapshots.
    var vehicle = ""
    /// The configured preset, for snapshots.
    var preset = ""
    /// Reads the computer's health for `status`; nil omits it.
    var probe: SystemProbe?
    /// Preserves the region states across restarts.
    var regionStates: RegionStates?
    /// Stored state of the motion sensors.
    var memory = MotionMemory.Plan()
    /// Store of traces; nil stores none.
    var traces: TraceStore?
    /// Beacon learning and sharing; nil if neither is configured.
    var beacons: BeaconMemory.Plan?
    /// Remote management; nil if disabled.
    var remote: RemoteService.Plan?
    /// The machine's clock; nil if timestamps are those of recorded or simulated input.
    var clock: (@Sendable () -> SystemTime)?
    /// Snapshots; nil without readers.
    var snapshots: SnapshotBoard?
    /// Server for programs on this machine; nil if it is off.
    var local: LocalServer?
    /// Orientation and compass for programs on this machine; nil if it is off.
    var sensorProxy: SensorProxyHost?
    /// Region events for programs on this machine; nil without sockets.
    var regionNotifier: RegionNotifier?
    /// Search for the devices of `iio.mount_matrix`; nil if timestamps are those of recorded or simulated input.
    var mounting: MountingCheck?
    /// Functions that could not start, with the reasons.
    var problems: [String] = []
    /// Messages that are delivered first.
    var announcements: [VehicleMessage] = []
    /// State to store in the commit with the first messages.
    var documents: [PreservedDocument] = []
  }

  private var pipeline: AgentPipeline
  private var feed: FeedSources
  private let inbox: AgentInbox
  private let delivery: any MessageDelivery
  private var memory: MotionMemory
  private var beacons: BeaconMemory?
  private var traces: TraceStore?
  private let remote: RemoteService?
  private var services: Services
  private let log: Logger
  private var activity = SensorActivity()
  private var sourceLog = SourceLog()
  private var messages: [VehicleMessage] = []
  /// Logged state of the clock, and number of times that time went back.
  private var clock: (source: StatusMessage.Clock, step: Double?, regressions: Int)
  /// True if a disagreement with the vehicle's own odometer was logged.
  private var odometerDisagrees = false
  /// Time at which unavailable outputs are logged; nil after that, and for recordings.
  private var limitationsDue: Timestamp?
  /// Time of the next check of the machine's clock.
  private var clockDue = Timestamp(nanoseconds: 0)

  /// Time in s after the start within which existing sources report their state.
  private static let startupTime = 60.0
  /// Interval in s between checks of the machine's clock.
  private static let clockInterval = 1.0
  /// Time limit in s for stopping: slow sources, and a slow broker that must accept the remaining messages.
  private static let farewellLimit = 60.0

  /// - Throws: `ConfigurationError` if a required file cannot be opened.
  init(
    pipeline: AgentPipeline, sensors: SensorFeed, inbox: AgentInbox, delivery: any MessageDelivery,
    services: Services = Services(), log: Logger
  ) throws(ConfigurationError) {
    self.pipeline = pipeline
    clock = (pipeline.clock, nil, 0)
    feed = FeedSources(sensors)
    self.inbox = inbox
    self.delivery = delivery
    self.services = services
    self.log = log
    memory = try MotionMemory(services.memory, log: log)
    beacons = services.beacons.map(BeaconMemory.init)
    traces = services.traces
    remote = services.remote.map(RemoteService.init)
  }

  /// Runs until the sensors have ended or a stop is requested, and returns after the farewell.
  /// - Parameter heartbeat: receives a beat with each input.
  mutating func run(heartbeat: Heartbeat = Heartbeat(name: "pipeline") {}) throws {
    do {
      // No source may outlive this call.
      defer { feed.stop() }
      defer { remote?.close() }
      try start()
      loop: while let input = try feed.next(through: inbox, until: deadline) {
        heartbeat.beat()
        if case .stop = input { break loop }
        try process(input)
      }
      heartbeat.expectPause(seconds: Self.farewellLimit)
    }
    try finish()
  }

  /// Starts the sources. `run` calls this.
  mutating func start() throws {
    feed.setDemands(pipeline.drainDemands(), full: pipeline.fullDemands)
    try feed.start { [inbox] in inbox.push(.sensor($0)) }
    if feed.isLive { limitationsDue = feed.now.advanced(bySeconds: Self.startupTime) }
    messages += services.announcements
    if let announcement = feed.announcement { pipeline.process(announcement) { messages.append($0) } }
    remote?.begin(&pipeline)
    messages += remote?.drain() ?? []
    // Publishes the traces that the previous run could not complete.
    messages += traces?.resume(pipeline.exactPlaces) ?? []
  }

  /// Processes a pulled recording up to a time, after `start`, instead of `run`.
  /// - Returns: energy used by each part of the device since the start.
  mutating func advance(recordingTo time: Timestamp) throws -> [EnergyComponent: EnergyAccount] {
    while feed.now < time, let input = try feed.next(through: inbox, until: nil) { try process(input) }
    updateEnvironment()
    return pipeline.energy(at: feed.now)
  }

  /// Next deadline on the machine's clock. The time of a recording advances only with its input.
  private var deadline: Timestamp? {
    [feed.isLive ? pipeline.nextDeadline : nil, remote?.nextDeadline, limitationsDue].compactMap { $0 }.min()
  }

  private mutating func process(_ input: AgentInput) throws {
    observeClock()
    reportLimitations()
    for line in sourceLog.advance(to: feed.now) { report(line) }
    if !input.isSensor { advance(to: feed.now) }
    switch input {
    case .sensor(let event): process(event)
    case .request(let request) where request.subject == .beacons:
      beacons?.accept(request.payload, at: feed.now)
    case .request(let request):
      let count = pipeline.odometerSetCount
      remote?.process(request, &pipeline, &memory, &traces)
      // The new odometer reading is stored before the command is answered.
      if pipeline.odometerSetCount != count { memory.keepOdometer(&pipeline, at: feed.now, isSet: true) }
    case .link(let change):
      remote?.observe(change, &pipeline)
      if case .connected(let sessionStart, _) = change { pipeline.beginSession(at: sessionStart) }
    case .localDemand(let demand): pipeline.observe(demand)
    case .localMotionDemand(let demand): pipeline.observe(demand)
    case .reload: remote?.reload(&pipeline)
    case .snapshotRequest: publishSnapshot()
    case .powerFailing: pipeline.saveTraces()
    case .tick, .stop: break
    }
    let isReconfigured = remote?.advance(&pipeline) == true
    if isReconfigured { feed.setDemands(pipeline.drainDemands(), full: pipeline.fullDemands) }
    messages += remote?.drain() ?? []
    if isReconfigured, let remote {
      // The positions until now were selected with the former settings.
      try handOver()
      delivery.observe(PositionDisclosure(remote.manager.active))
    }
    if !input.isSensor {
      // The processed request may have created a deadline that is due immediately.
      advance(to: feed.now)
    } else if feed.isLive {
      // The current time is used, because a sample's timestamp is always slightly old, and older if the
      // processor is busy.
      pipeline.planPower(at: feed.now)
    }
    if feed.isLive { feed.setDemands(pipeline.drainDemands()) }
    if let aid = pipeline.drainAid() { feed.assist(aid) }
    messages += beacons?.process(&pipeline, at: feed.now) ?? []
    delivery.observe(isAtRest: pipeline.isAtRest, at: feed.now)
    remote?.answerPending(&pipeline)
    // A completed request no longer requires its sensors.
    if feed.isLive { feed.setDemands(pipeline.drainDemands()) }
    messages += remote?.drain() ?? []
    try handOver()
  }

  private mutating func process(_ event: SensorEvent) {
    if case .status(let status) = event {
      reportSkipped(status)
      if let line = sourceLog.observe(status, at: feed.now) { report(line) }
    }
    if services.snapshots != nil { activity.observe(event) }
    updateEnvironment(before: feed.now)
    if !feed.isLive {
      if let timestamp = event.timestamp { pipeline.planPower(at: timestamp) }
      feed.setDemands(pipeline.drainDemands())
    }
    guard let event = feed.admit(event) else {
      // The event comes from a sensor that is switched off. A deadline must be met even if no other sensor
      // delivers samples.
      let now = feed.now
      if let deadline = pipeline.nextDeadline, deadline <= now {
        pipeline.advance(to: now) { messages.append($0) }
      }
      return
    }
    pipeline.process(event) { messages.append($0) }
    services.local?.publish(event)
    memory.process(event, pipeline)
    if let timestamp = event.timestamp { memory.keepOdometer(&pipeline, at: timestamp) }
    reportOdometer()
    remote?.observe(event, &pipeline)
  }

  private mutating func advance(to now: Timestamp) {
    updateEnvironment(before: now)
    pipeline.advance(to: now) { messages.append($0) }
  }

  /// Publishes pending messages before the farewell.
  private mutating func finish() throws {
    let now = feed.now
    if let conclusion = feed.conclusion { reportSkipped(conclusion) }
    var documents = [memory.close(pipeline, at: now)].compactMap { $0 }
    messages += beacons?.close(pipeline) ?? []
    pipeline.finish { messages.append($0) }
    pipeline.finishTraces()
    try handOver(preserving: documents)
    // The next run must not repeat messages that are in the outbox.
    documents = [memory.keepTrips(&pipeline, at: now)].compactMap { $0 }
    if !documents.isEmpty { try delivery.accept([], preserving: documents) }
    let delivery = delivery
    try delivery.stop {
      updateEnvironment()
      return pipeline.farewell(at: now)
    }
  }

  private mutating func publishSnapshot() {
    guard let snapshots = services.snapshots else { return }
    updateEnvironment()
    let (now, known) = (feed.now, pipeline.lastKnown)
    snapshots.publish(
      AgentSnapshot(
        taken: .now, vehicle: services.vehicle, preset: services.preset,
        status: pipeline.report(.online, at: now),
        activity: activity.kinds(at: now), motion: pipeline.motionReport, location: known,
        locationAge: known.map { max(0, now.seconds(since: $0.location.timestamp)) },
        signals: pipeline.vehicleSignals, link: delivery.link, local: services.local?.reports ?? [],
        localReceiverSeconds: pipeline.localReceiverSeconds, sensorProxy: services.sensorProxy?.report))
  }

  /// Updates delivery counters and the computer's health before the next status.
  /// - Parameter timestamp: time to which the pipeline advances next; nil updates unconditionally.
  private mutating func updateEnvironment(before timestamp: Timestamp? = nil) {
    if let timestamp, let deadline = pipeline.nextDeadline, timestamp < deadline { return }
    var environment = AgentEnvironment(
      counters: delivery.counters.merging(["dropped.events": inbox.droppedEvents]) { $1 },
      storeProblem: delivery.storeProblem, deliveryProblem: delivery.deliveryProblem)
    let problems = services.problems + [memory.recorderProblem.map { "recorder: \($0)" }].compactMap { $0 }
    environment.functionProblem = problems.isEmpty ? nil : problems.joined(separator: "; ")
    // A recording's time is not the machine's, and equal recordings must give equal output.
    environment.radio = delivery.radio
    if let probe = services.probe {
      environment.device = probe.read()
      environment.isManagedRemotely = remote != nil
      environment.processor = .process
    }
    pipeline.environment = environment
  }

  /// Checks at every wakeup of the loop whether the machine's clock was set.
  private mutating func observeClock() {
    guard let system = services.clock, feed.now >= clockDue else { return }
    clockDue = feed.now.advanced(bySeconds: Self.clockInterval)
    pipeline.observe(system(), at: feed.now)
  }

  /// Logs once which requested outputs are unavailable because a sensor is missing.
  private mutating func reportLimitations() {
    guard let due = limitationsDue, feed.now >= due else { return }
    limitationsDue = nil
    services.mounting?.reportInBackground(to: log)
    for limitation in pipeline.limitationsByCause {
      let (output, reason) = (limitation.output, limitation.reason)
      if limitation.isUnavailable {
        log.notice(
          .outputUnavailable, "output unavailable", metadata: ["output": "\(output)", "reason": "\(reason)"])
      } else {
        log.notice(
          .outputDegraded, "output degraded", metadata: ["output": "\(output)", "reason": "\(reason)"])
      }
    }
  }

  /// Logs a change of the clock. If later messages may have earlier times, they receive a new epoch.
  private mutating func reportClockChange() {
    guard (pipeline.clock, pipeline.lastClockStep) != (clock.source, clock.step) else { return }
    if services.clock != nil {
      log.notice(
        .clockChanged, "civil time",
        metadata: [
          "clock": "\(pipeline.clock)", "step_s": "\(pipeline.lastClockStep.map { "\($0)" } ?? "none")",
        ])
    }
    if pipeline.timeRegressions != clock.regressions { delivery.beginEpoch() }
    clock = (pipeline.clock, pipeline.lastClockStep, pipeline.timeRegressions)
  }

  /// Logs once that the vehicle's own odometer disagrees.
  private mutating func reportOdometer() {
    let disagreement = pipeline.odometerDisagreement
    defer { odometerDisagrees = disagreement != nil }
    guard let disagreement, !odometerDisagrees else { return }
    log.warning(
      .odometerDisagrees, "the vehicle's odometer disagrees with the measured distance",
      metadata: ["percent": "\((1000 * disagreement).rounded() / 10)"])
  }

  /// - Parameter documents: state to store in the same commit, unless it has changed since.
  private mutating func handOver(preserving documents: [PreservedDocument] = []) throws {
    if let local = services.local {
      for epoch in pipeline.drainLocal() { local.publish(epoch) }
      local.publish(pipeline.localSources)
    }
    if let host = services.sensorProxy, let state = pipeline.drainLocalMotion() { host.update(state) }
    if let notifier = services.regionNotifier {
      for case .region(let event) in messages { notifier.publish(event) }
    }
    reportClockChange()
    let trips = memory.keepTrips(&pipeline, with: messages, at: feed.now)
    // The steps are removed from the pipeline even if there is no store, as with recordings.
    let steps = pipeline.drainTraceSteps()
    messages += traces?.process(steps) ?? []
    let states = services.regionStates?.change(of: pipeline.regions)
    // A later document replaces one of the same name.
    var documents = documents + [trips, states].compactMap { $0 }
    if !messages.isEmpty {
      documents = services.documents + documents
      services.documents = []
    }
    if !messages.isEmpty || !documents.isEmpty {
      try delivery.accept(messages, preserving: documents)
      pipeline.observe(messages: messages.count)
      pipeline.confirm(messages)
      messages.removeAll(keepingCapacity: true)
    }
    let delivery = delivery
    traces?.confirm { delivery.storeProblem == nil }
  }

  private func reportSkipped(_ status: SourceStatus) {
    guard let skipped = status.skipped else { return }
    log.warning(
      .inputSkipped, "input skipped",
      metadata: ["source": "\(status.source)", "count": "\(skipped.count)", "first": "\(skipped.first)"])
  }

  private func report(_ line: SourceLog.Line) {
    let status = line.status
    var metadata: Logger.Metadata = ["source": "\(status.source)"]
    if line.suppressed > 0 { metadata["suppressed"] = "\(line.suppressed)" }
    switch status.state {
    case .active(let rates):
      metadata["rates"] =
        "\(rates.sorted { $0.key < $1.key }.map { "\($0.key.rawValue)=\($0.value)Hz" }.joined(separator: " "))"
      guard let restriction = status.restriction else {
        return log.info(.sourceActive, "source active", metadata: metadata)
      }
      metadata["reason"] = "\(restriction)"
      log.warning(.sourceRestricted, "source restricted", metadata: metadata)
    case .idle: log.info(.sourceIdle, "source idle", metadata: metadata)
    case .unavailable(let reason):
      metadata["reason"] = "\(reason)"
      log.warning(.sourceUnavailable, "source unavailable", metadata: metadata)
    case .finished: log.info(.sourceFinished, "recording finished", metadata: metadata)
    }
  }
}
