internal import LiveSensors
internal import Logging
internal import Pipeline
internal import Platform
internal import Positioning
internal import Sensors
internal import Spatial
internal import Telemetry

/// The agent's one loop, on the pipeline's thread: takes the next input, lets the pipeline decide, hands over what comes out.
struct AgentLoop: ~Copyable {
  /// What surrounds the pipeline.
  struct Surroundings: Sendable {
    /// Fleet and vehicle, for snapshots.
    var vehicle = ""
    /// The configuration's, for snapshots.
    var preset = ""
    /// Reads the computer's health for `status`; nil leaves that out.
    var probe: SystemProbe?
    /// Preserves across restarts which regions the vehicle is in.
    var regionStates: RegionStateFile?
    /// What is preserved of the motion sensors.
    var memory = MotionMemory.Plan()
    /// Nil where no traces are kept.
    var traces: TraceStore?
    /// Nil where nothing is made of the transmitters around.
    var beacons: BeaconMemory.Plan?
    /// Nil is not managed remotely.
    var remote: RemoteService.Plan?
    /// The machine's clock; nil where the time line is not the machine's.
    var clock: (@Sendable () -> SystemTime)?
    /// Nil where nobody asks for snapshots.
    var snapshots: SnapshotBoard?
    /// Messages that are delivered first.
    var announcements: [VehicleMessage] = []
  }

  private var pipeline: AgentPipeline
  private var feed: InputFeed
  private let inbox: AgentInbox
  private let delivery: any MessageDelivery
  private var memory: MotionMemory
  private var beacons: BeaconMemory?
  private var traces: TraceStore?
  private let remote: RemoteService?
  private let surroundings: Surroundings
  private let log: Logger
  private var activity = SensorActivity()
  private var messages: [VehicleMessage] = []
  /// What was logged of the clock, and how often time has gone back.
  private var clock: (source: StatusMessage.Clock, step: Double?, regressions: Int)
  /// Whether it was logged that the vehicle's own odometer disagrees.
  private var odometerDisagrees = false
  /// When it is logged what cannot be told; nil once it was, and of a recording.
  private var limitationsDue: Timestamp?
  /// When the machine's clock is looked at next.
  private var clockDue = Timestamp(nanoseconds: 0)

  /// Seconds after the start within which sources that are there have said so.
  private static let patience = 60.0
  /// Seconds between two looks at the machine's clock.
  private static let clockInterval = 1.0
  /// Seconds that the end may take: sources that have to be waited for, and a broker that is slow to take the rest.
  private static let farewellLimit = 60.0

  /// - Throws: `ConfigurationError` when a file that is written all the time cannot be had.
  init(
    pipeline: AgentPipeline, sensors: SensorFeed, inbox: AgentInbox, delivery: any MessageDelivery,
    surroundings: Surroundings = Surroundings(), log: Logger
  ) throws(ConfigurationError) {
    self.pipeline = pipeline
    clock = (pipeline.clock, nil, 0)
    feed = InputFeed(sensors, inbox: inbox)
    self.inbox = inbox
    self.delivery = delivery
    self.surroundings = surroundings
    self.log = log
    memory = try MotionMemory(surroundings.memory, log: log)
    beacons = surroundings.beacons.map(BeaconMemory.init)
    traces = surroundings.traces
    remote = surroundings.remote.map(RemoteService.init)
  }

  /// Returns when the sensors have said all or a stop came in, after the farewell.
  /// - Parameter heartbeat: beats with each input.
  mutating func run(heartbeat: Heartbeat = Heartbeat(name: "pipeline") {}) throws {
    do {
      // Whatever happens, no source outlives this call.
      defer { feed.stop() }
      defer { remote?.close() }
      try start()
      loop: while let input = try feed.next(until: deadline) {
        heartbeat.beat()
        if case .stop = input { break loop }
        try process(input)
      }
      heartbeat.expectPause(seconds: Self.farewellLimit)
    }
    try finish()
  }

  /// Starts the sources. `run` does that itself.
  mutating func start() throws {
    feed.setDemands(pipeline.drainDemands(), full: pipeline.fullDemands)
    try feed.start()
    if feed.isLive { limitationsDue = feed.now.advanced(bySeconds: Self.patience) }
    messages += surroundings.announcements
    if let announcement = feed.announcement { pipeline.process(announcement) { messages.append($0) } }
    remote?.begin(&pipeline)
    messages += remote?.drain() ?? []
    // What the run before could not finish.
    messages += traces?.resume(pipeline.exactPlaces) ?? []
  }

  /// Processes a recording that is pulled up to a moment, after `start`, in place of `run`.
  /// - Returns: what each part of the device used since the start.
  mutating func advance(recordingTo time: Timestamp) throws -> [EnergyComponent: EnergyAccount] {
    while feed.now < time, let input = try feed.next(until: nil) { try process(input) }
    updateEnvironment()
    return pipeline.energy(at: feed.now)
  }

  /// On the machine's clock. A recording's time does not pass while nothing comes.
  private var deadline: Timestamp? {
    [feed.isLive ? pipeline.nextDeadline : nil, remote?.nextDeadline, limitationsDue].compactMap { $0 }.min()
  }

  private mutating func process(_ input: AgentInput) throws {
    observeClock()
    reportLimitations()
    if !input.isSensor { advance(to: feed.now) }
    switch input {
    case .sensor(let event): process(event)
    case .request(let request) where request.subject == .beacons:
      beacons?.accept(request.payload, at: feed.now)
    case .request(let request):
      let count = pipeline.odometerSetCount
      remote?.process(request, &pipeline, &memory, &traces)
      // The answer leaves after that.
      if pipeline.odometerSetCount != count { memory.keepOdometer(&pipeline, at: feed.now, isSet: true) }
    case .link(let change):
      remote?.observe(change, &pipeline)
      if case .connected(let sessionStart) = change { pipeline.beginSession(at: sessionStart) }
    case .reload: remote?.reload(&pipeline)
    case .snapshotRequest: publishSnapshot()
    case .powerFailing: pipeline.saveTraces()
    case .tick, .stop: break
    }
    if remote?.advance(&pipeline) == true {
      feed.setDemands(pipeline.drainDemands(), full: pipeline.fullDemands)
    }
    messages += remote?.drain() ?? []
    if !input.isSensor {
      // What was asked for may be due at once.
      advance(to: feed.now)
    } else if feed.isLive {
      // Samples tell of a moment ago, and more so when the processor is behind.
      pipeline.planPower(at: feed.now)
    }
    if feed.isLive { feed.setDemands(pipeline.drainDemands()) }
    if let aid = pipeline.drainAid() { feed.assist(aid) }
    messages += beacons?.process(&pipeline, at: feed.now) ?? []
    delivery.observe(isAtRest: pipeline.isAtRest, at: feed.now)
    remote?.answerPending(&pipeline)
    // What ended just now needs its sensors no longer.
    if feed.isLive { feed.setDemands(pipeline.drainDemands()) }
    messages += remote?.drain() ?? []
    try handOver()
  }

  private mutating func process(_ event: SensorEvent) {
    if case .status(let status) = event { report(status) }
    if surroundings.snapshots != nil { activity.observe(event) }
    updateEnvironment(before: feed.now)
    if !feed.isLive {
      if let timestamp = event.timestamp { pipeline.planPower(at: timestamp) }
      feed.setDemands(pipeline.drainDemands())
    }
    guard let event = feed.admit(event) else {
      // Sensors that sleep hold up no deadline.
      let now = feed.now
      if let deadline = pipeline.nextDeadline, deadline <= now {
        pipeline.advance(to: now) { messages.append($0) }
      }
      return
    }
    pipeline.process(event) { messages.append($0) }
    memory.process(event, pipeline)
    if let timestamp = event.timestamp { memory.keepOdometer(&pipeline, at: timestamp) }
    reportOdometer()
    remote?.observe(event, &pipeline)
  }

  private mutating func advance(to now: Timestamp) {
    updateEnvironment(before: now)
    pipeline.advance(to: now) { messages.append($0) }
  }

  /// Publishes what is pending before the farewell.
  private mutating func finish() throws {
    let now = feed.now
    if let conclusion = feed.conclusion { reportSkipped(conclusion) }
    memory.close(pipeline, at: now)
    messages += beacons?.close() ?? []
    pipeline.finish { messages.append($0) }
    pipeline.finishTraces()
    try handOver()
    // Of what is in the outbox now the next run need not know.
    memory.keepTrips(&pipeline, at: now)
    updateEnvironment()
    try delivery.stop(farewell: pipeline.farewell(at: now))
  }

  private mutating func publishSnapshot() {
    guard let snapshots = surroundings.snapshots else { return }
    updateEnvironment()
    let (now, known) = (feed.now, pipeline.lastKnown)
    snapshots.publish(
      AgentSnapshot(
        taken: SystemClock.monotonic, vehicle: surroundings.vehicle, preset: surroundings.preset,
        status: pipeline.report(.online, at: now),
        activity: activity.kinds(at: now), motion: pipeline.motionReport, location: known,
        locationAge: known.map { max(0, now.seconds(since: $0.location.timestamp)) },
        signals: pipeline.vehicleSignals, link: delivery.link))
  }

  /// Copies delivery counters and the computer's health in before the next status.
  /// - Parameter timestamp: where the pipeline advances to next; nil copies in any case.
  private mutating func updateEnvironment(before timestamp: Timestamp? = nil) {
    if let timestamp, let deadline = pipeline.nextDeadline, timestamp < deadline { return }
    var environment = AgentEnvironment(
      counters: delivery.counters.merging(["dropped.events": inbox.droppedEvents]) { $1 },
      storeProblem: delivery.storeProblem, deliveryProblem: delivery.deliveryProblem)
    // A recording's time is not the machine's, and the same recording is to give the same output.
    environment.radio = delivery.radio
    if let probe = surroundings.probe {
      environment.device = probe.read()
      environment.isManagedRemotely = remote != nil
      environment.processor = .process
    }
    pipeline.environment = environment
  }

  /// What wakes the loop anyway looks whether somebody has set the clock.
  private mutating func observeClock() {
    guard let system = surroundings.clock, feed.now >= clockDue else { return }
    clockDue = feed.now.advanced(bySeconds: Self.clockInterval)
    pipeline.observe(system(), at: feed.now)
  }

  /// Logs what is asked for and cannot be told for want of a sensor, once.
  private mutating func reportLimitations() {
    guard let due = limitationsDue, feed.now >= due else { return }
    limitationsDue = nil
    for limitation in pipeline.limitations {
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

  /// Logs a change of the clock; messages whose times may be before those of others get another epoch.
  private mutating func reportClockChange() {
    guard (pipeline.clock, pipeline.lastClockStep) != (clock.source, clock.step) else { return }
    if surroundings.clock != nil {
      log.notice(
        .clockChanged, "civil time",
        metadata: [
          "clock": "\(pipeline.clock)", "step_s": "\(pipeline.lastClockStep.map { "\($0)" } ?? "none")",
        ])
    }
    if pipeline.timeRegressions != clock.regressions { delivery.beginEpoch() }
    clock = (pipeline.clock, pipeline.lastClockStep, pipeline.timeRegressions)
  }

  /// Logs that the vehicle's own odometer disagrees, once.
  private mutating func reportOdometer() {
    let disagreement = pipeline.odometerDisagreement
    defer { odometerDisagrees = disagreement != nil }
    guard let disagreement, !odometerDisagrees else { return }
    log.warning(
      .odometerDisagrees, "the vehicle's odometer disagrees with the way that was measured",
      metadata: ["percent": "\((1000 * disagreement).rounded() / 10)"])
  }

  private mutating func handOver() throws {
    reportClockChange()
    memory.keepTrips(&pipeline, at: feed.now)
    // Taken out also where nobody keeps them, as of a recording.
    let steps = pipeline.drainTraceSteps()
    messages += traces?.process(steps) ?? []
    let states = surroundings.regionStates?.change(of: pipeline.regions)
    if !messages.isEmpty || states != nil {
      try delivery.accept(messages, regionStates: states)
      pipeline.observe(messages: messages.count)
      for message in messages {
        if case .trip(let trip) = message { pipeline.confirm(trip) }
        if case .drivingEvent(let event) = message { pipeline.confirm(event) }
      }
      messages.removeAll(keepingCapacity: true)
    }
    let delivery = delivery
    traces?.confirm { delivery.storeProblem == nil }
    // Only now: the copy must not be ahead of events that are safe.
    if let states { surroundings.regionStates?.keep(states) }
  }

  private func reportSkipped(_ status: SourceStatus) {
    guard let skipped = status.skipped else { return }
    log.warning(
      .inputSkipped, "input skipped",
      metadata: ["source": "\(status.source)", "count": "\(skipped.count)", "first": "\(skipped.first)"])
  }

  private func report(_ status: SourceStatus) {
    reportSkipped(status)
    switch status.state {
    case .active(let rates):
      let shown = rates.sorted { $0.key < $1.key }.map { "\($0.key.rawValue)=\($0.value)Hz" }
      log.info(
        .sourceActive, "source active",
        metadata: ["source": "\(status.source)", "rates": "\(shown.joined(separator: " "))"])
    case .idle: log.info(.sourceIdle, "source idle", metadata: ["source": "\(status.source)"])
    case .unavailable(let reason):
      log.warning(
        .sourceUnavailable, "source unavailable",
        metadata: ["source": "\(status.source)", "reason": "\(reason)"])
    case .finished: log.info(.sourceFinished, "recording finished", metadata: ["source": "\(status.source)"])
    }
  }
}
