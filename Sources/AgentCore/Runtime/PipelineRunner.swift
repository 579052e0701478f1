internal import Logging
internal import Platform
internal import Positioning
internal import Sensors
internal import Spatial
internal import Telemetry

/// Drives the pipeline on its thread: takes events from a feed, lets time pass between them, hands on what comes out.
final class PipelineRunner: Sendable {
  private let initial: AgentPipeline
  private let delivery: any MessageDelivery
  private let log: Logger
  private let statusRequested: Flag
  private let probe: SystemProbe?
  private let regionStates: RegionStateFile?
  private let stopRequested = Flag()

  /// Seconds that the end may take: sources that have to be waited for, and a broker that is slow to take the rest.
  private static let farewellLimit = 60.0
  private let memory: MotionMemory.Plan
  private let remote: RemoteService.Plan?
  private let desk: SnapshotDesk?

  /// - Parameters:
  ///   - probe: looks at the computer for `status`; nil leaves that out.
  ///   - regionStates: keeps across restarts which regions the vehicle is in.
  ///   - memory: what is kept of the motion sensors beyond this run.
  ///   - desk: where word is left of how things stand; nil where nobody asks.
  ///   - remote: nil is not managed remotely. A recording that is pulled as fast as the machine can never is.
  init(
    pipeline: AgentPipeline, delivery: any MessageDelivery, statusRequested: Flag, probe: SystemProbe? = nil,
    regionStates: RegionStateFile? = nil, memory: MotionMemory.Plan = .init(),
    remote: RemoteService.Plan? = nil, desk: SnapshotDesk? = nil, log: Logger
  ) {
    self.desk = desk
    self.memory = memory
    self.remote = remote
    initial = pipeline
    self.probe = probe
    self.regionStates = regionStates
    self.delivery = delivery
    self.statusRequested = statusRequested
    self.log = log
  }

  func requestStop() { stopRequested.raise() }

  /// Returns when the feed has ended or a stop was requested, after the farewell.
  /// - Parameter heartbeat: beats with each turn.
  func run(
    _ feed: SensorFeed, queue: BoundedQueue<SensorEvent>,
    heartbeat: Heartbeat = Heartbeat(name: "pipeline") {}
  )
    throws
  {
    var pipeline = initial
    var memory = try MotionMemory(memory, log: log)
    switch feed {
    case .live(let sources):
      try pump(
        sources, queue, heartbeat, clock: { Timestamp(nanoseconds: SystemClock.boottime) }, into: &pipeline,
        &memory)
    case .paced(let source):
      try pump([source], queue, heartbeat, clock: nil, into: &pipeline, &memory)
    case .recorded(let recording):
      try play(recording, heartbeat, into: &pipeline, &memory)
    }
  }

  /// Takes pushed events until the stop. Without a clock only events move time on, as in a recording.
  private func pump(
    _ sources: [any SensorSource], _ queue: BoundedQueue<SensorEvent>, _ heartbeat: Heartbeat,
    clock: (@Sendable () -> Timestamp)?, into pipeline: inout AgentPipeline, _ memory: inout MotionMemory
  ) throws {
    var last = clock?() ?? Timestamp(nanoseconds: 0)
    var finished = 0
    // Whatever happens, no source outlives this call: its threads hold hardware.
    defer { for source in sources { source.stop() } }
    var asleep = DemandFilter()
    Self.demand(clock == nil ? pipeline.fullDemands : pipeline.demands, of: sources)
    for source in sources { try source.start { queue.push($0) } }
    var messages: [VehicleMessage] = []
    let remote = remote.map(RemoteService.init)
    defer { remote?.close() }
    var activity = SensorActivity()
    while !stopRequested.isRaised, finished < max(1, sources.count) {
      heartbeat.beat()
      // Taken before what was asked for is done, so that what is left then shows it.
      let isAsked = desk?.takeWish() ?? false
      if let remote, remote.turn(&pipeline, &messages), clock == nil {
        Self.demand(pipeline.fullDemands, of: sources)
      }
      if clock != nil, let changed = pipeline.takeChangedDemands() { Self.demand(changed, of: sources) }
      if isAsked { leaveWord(&pipeline, activity, at: clock?() ?? last, dropped: queue.overflowCount) }
      if statusRequested.take() {
        pipeline.beginSession(at: delivery.sessionStart)
        let now = clock?() ?? last
        inform(&pipeline, at: now, dropped: queue.overflowCount)
        pipeline.advance(to: now) { messages.append($0) }
      }
      let deadlines = [deadline(of: pipeline, clock: clock), remote?.deadline]
      switch queue.pop(until: deadlines.compactMap { $0 }.min()) {
      case .element(let event):
        last = max(last, event.timestamp ?? last)
        if case .status(let status) = event {
          report(status)
          if status.state == .finished { finished += 1 }
        }
        if desk != nil { activity.note(event) }
        inform(&pipeline, at: last, dropped: queue.overflowCount)
        if let event = awake(event, &asleep, &pipeline, isLive: clock != nil) {
          pipeline.process(event) { messages.append($0) }
          memory.take(event, pipeline)
        }
        // Samples tell of a moment ago, and more so when the processor is behind.
        if let clock { pipeline.planPower(at: clock()) }
        remote?.note(pipeline)
      case .timedOut:
        if let clock {
          last = clock()
          inform(&pipeline, at: last, dropped: queue.overflowCount)
          pipeline.advance(to: last) { messages.append($0) }
        }
      case .closed: finished = .max
      }
      delivery.note(isAtRest: pipeline.isAtRest, at: last)
      try handOver(&messages, of: pipeline)
    }
    heartbeat.expectPause(seconds: Self.farewellLimit)
    for source in sources { source.stop() }
    memory.close(pipeline, at: clock?() ?? last)
    try finish(&pipeline, at: clock?() ?? last, dropped: queue.overflowCount)
  }

  /// Every kind of every source, because a source may find hardware later that it does not know of yet.
  private static func demand(_ demands: [SensorKind: SensorDemand], of sources: [any SensorSource]) {
    for source in sources {
      for kind in SensorKind.allCases { source.setDemand(demands[kind] ?? .off, for: kind) }
    }
  }

  /// Of an event of a recording, what sensors say that are awake at its time. On a recording's time line a sensor that
  /// sleeps would stop time, if it is the only one: so all that is ever wanted is played, and left out here.
  private func awake(
    _ event: SensorEvent, _ asleep: inout DemandFilter, _ pipeline: inout AgentPipeline, isLive: Bool
  ) -> SensorEvent? {
    guard !isLive else { return event }
    if let timestamp = event.timestamp { pipeline.planPower(at: timestamp) }
    if let changed = pipeline.takeChangedDemands() {
      for kind in SensorKind.allCases { asleep.setDemand(changed[kind] ?? .off, for: kind) }
    }
    return asleep.admit(event)
  }

  /// What is pending goes out before the farewell.
  private func finish(_ pipeline: inout AgentPipeline, at timestamp: Timestamp, dropped: Int = 0) throws {
    var messages: [VehicleMessage] = []
    pipeline.finish { messages.append($0) }
    try handOver(&messages, of: pipeline)
    inform(&pipeline, at: nil, dropped: dropped)
    try delivery.stop(farewell: pipeline.farewell(at: timestamp))
  }

  /// The monotonic time, ns, at which the pipeline wants to be called; nil for not at all.
  private func deadline(of pipeline: AgentPipeline, clock: (@Sendable () -> Timestamp)?) -> Int64? {
    guard let clock, let deadline = pipeline.nextDeadline else { return nil }
    return SystemClock.monotonic &+ max(0, deadline.nanoseconds &- clock().nanoseconds)
  }

  private func play(
    _ recording: any SensorRecording, _ heartbeat: Heartbeat, into pipeline: inout AgentPipeline,
    _ memory: inout MotionMemory
  ) throws {
    var recording = recording
    let demands = pipeline.fullDemands
    for kind in recording.kinds { recording.setDemand(demands[kind] ?? .off, for: kind) }
    var asleep = DemandFilter()
    var last = Timestamp(nanoseconds: 0)
    var messages: [VehicleMessage] = []
    let active = SourceStatus(
      timestamp: last, source: recording.name, kinds: recording.kinds, state: .active(rates: [:]))
    pipeline.process(.status(active)) { messages.append($0) }
    var activity = SensorActivity()
    while !stopRequested.isRaised, let event = try recording.next() {
      heartbeat.beat()
      if let desk {
        activity.note(event)
        if desk.takeWish() { leaveWord(&pipeline, activity, at: last, dropped: 0) }
      }
      last = max(last, event.timestamp ?? last)
      if statusRequested.take() { pipeline.beginSession(at: delivery.sessionStart) }
      inform(&pipeline, at: last)
      if let event = awake(event, &asleep, &pipeline, isLive: false) {
        pipeline.process(event) { messages.append($0) }
        memory.take(event, pipeline)
      }
      try handOver(&messages, of: pipeline)
    }
    heartbeat.expectPause(seconds: Self.farewellLimit)
    memory.close(pipeline, at: last)
    try finish(&pipeline, at: last)
  }

  /// Leaves word of how things stand, for who has asked.
  private func leaveWord(
    _ pipeline: inout AgentPipeline, _ activity: SensorActivity, at now: Timestamp, dropped: Int
  ) {
    inform(&pipeline, at: nil, dropped: dropped)
    let known = pipeline.lastKnown
    desk?.leave(
      AgentSnapshot(
        taken: SystemClock.monotonic,
        vehicle: "\(pipeline.configuration.fleet)/\(pipeline.configuration.vehicle)",
        status: pipeline.report(.online, at: now), activity: activity.kinds(at: now),
        motion: pipeline.motionReport, location: known,
        locationAge: known.map { max(0, now.seconds(since: $0.location.timestamp)) }, link: delivery.link))
  }

  /// Shows the pipeline what it cannot see, when it is about to tell it.
  /// - Parameters:
  ///   - timestamp: where the pipeline is led next; nil shows it in any case.
  ///   - dropped: events that the queue had no room for.
  private func inform(_ pipeline: inout AgentPipeline, at timestamp: Timestamp?, dropped: Int = 0) {
    if let timestamp, let deadline = pipeline.nextDeadline, timestamp < deadline { return }
    pipeline.externalCounters = delivery.counters.merging(["dropped.events": dropped]) { $1 }
    pipeline.storeProblem = delivery.storeProblem
    pipeline.deviceHealth = probe?.read()
    // A recording's time is not the machine's, and the same recording is to give the same output.
    if probe != nil { pipeline.note(usage: MachineUsage(radio: delivery.radio)) }
  }

  private func handOver(_ messages: inout [VehicleMessage], of pipeline: AgentPipeline) throws {
    if !messages.isEmpty {
      try delivery.accept(messages)
      messages.removeAll(keepingCapacity: true)
    }
    // Only now: the states go with events that are safe.
    regionStates?.keep(pipeline.regions.monitor)
  }

  private func report(_ status: SourceStatus) {
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
