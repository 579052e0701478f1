internal import Logging
internal import Platform
internal import Sensors
internal import Spatial

/// Drives the pipeline on its thread: takes events from a feed, lets time pass between them, hands on what comes out.
final class PipelineRunner: Sendable {
  private let initial: AgentPipeline
  private let delivery: any MessageDelivery
  private let log: Logger
  private let statusRequested: Flag
  private let stopRequested = Flag()

  init(pipeline: AgentPipeline, delivery: any MessageDelivery, statusRequested: Flag, log: Logger) {
    initial = pipeline
    self.delivery = delivery
    self.statusRequested = statusRequested
    self.log = log
  }

  func requestStop() { stopRequested.raise() }

  /// Returns when the feed has ended or a stop was requested, after the farewell.
  func run(_ feed: SensorFeed, queue: BoundedQueue<SensorEvent>) throws {
    var pipeline = initial
    switch feed {
    case .live(let sources):
      try pump(sources, queue, clock: { Timestamp(nanoseconds: SystemClock.boottime) }, into: &pipeline)
    case .paced(let source):
      try pump([source], queue, clock: nil, into: &pipeline)
    case .recorded(let recording):
      try play(recording, into: &pipeline)
    }
  }

  /// Takes pushed events until the stop. Without a clock only events move time on, as in a recording.
  private func pump(
    _ sources: [any SensorSource], _ queue: BoundedQueue<SensorEvent>, clock: (@Sendable () -> Timestamp)?,
    into pipeline: inout AgentPipeline
  ) throws {
    var last = clock?() ?? Timestamp(nanoseconds: 0)
    var finished = 0
    // Whatever happens, no source outlives this call: its threads hold hardware.
    defer { for source in sources { source.stop() } }
    var asleep = DemandFilter()
    for source in sources {
      // Every kind, because a source may find hardware later that it does not know of yet.
      for kind in SensorKind.allCases {
        source.setDemand(Self.demand(for: kind, of: pipeline, isLive: clock != nil), for: kind)
      }
      try source.start { queue.push($0) }
    }
    var drafts: [MessageDraft] = []
    while !stopRequested.isRaised, finished < max(1, sources.count) {
      if statusRequested.take() {
        refresh(&pipeline, isLive: clock != nil, overflow: queue.overflowCount)
        pipeline.requestStatus()
        pipeline.advance(to: clock?() ?? last) { drafts.append($0) }
      }
      switch queue.pop(until: deadline(of: pipeline, clock: clock)) {
      case .element(let event):
        last = max(last, event.timestamp ?? last)
        if case .status(let status) = event {
          report(status)
          if status.state == .finished { finished += 1 }
        }
        if clock == nil {
          sift(event, with: &asleep, into: &pipeline) { drafts.append($0) }
        } else {
          pipeline.process(event) { drafts.append($0) }
          // Samples tell of a moment ago, and more so when the processor is behind.
          if let clock { pipeline.planPower(at: clock()) }
        }
      case .timedOut:
        if let clock {
          last = clock()
          refresh(&pipeline, isLive: true, overflow: queue.overflowCount)
          pipeline.advance(to: last) { drafts.append($0) }
        }
      case .closed: finished = .max
      }
      if clock != nil, let changed = pipeline.takeChangedDemands() {
        for source in sources {
          for kind in SensorKind.allCases { source.setDemand(changed[kind] ?? .off, for: kind) }
        }
      }
      if !drafts.isEmpty {
        refresh(&pipeline, isLive: clock != nil, overflow: queue.overflowCount)
        try delivery.accept(drafts)
        drafts.removeAll(keepingCapacity: true)
      }
    }
    for source in sources { source.stop() }
    refresh(&pipeline, isLive: clock != nil, overflow: queue.overflowCount)
    try delivery.stop(farewell: pipeline.farewell(at: clock?() ?? last))
  }

  /// What to demand at the start. On a recording's time line a sensor that sleeps would stop time, if it is the only one:
  /// all that is ever wanted is played, and what sleeping sensors say is left out here.
  private static func demand(
    for kind: SensorKind, of pipeline: AgentPipeline, isLive: Bool
  ) -> SensorDemand {
    (isLive ? pipeline.demands : pipeline.fullDemands)[kind] ?? .off
  }

  /// Takes an event of a recording in, as far as its sensor is awake at its time.
  private func sift(
    _ event: SensorEvent, with asleep: inout DemandFilter, into pipeline: inout AgentPipeline,
    _ send: (MessageDraft) -> Void
  ) {
    if let timestamp = event.timestamp { pipeline.planPower(at: timestamp) }
    if let changed = pipeline.takeChangedDemands() {
      for kind in SensorKind.allCases { asleep.setDemand(changed[kind] ?? .off, for: kind) }
    }
    if let rest = asleep.admit(event) { pipeline.process(rest, into: send) }
  }

  /// Brings the pipeline what is counted outside of it.
  private func refresh(_ pipeline: inout AgentPipeline, isLive: Bool, overflow: Int) {
    pipeline.externalCounters = delivery.counters.merging(["dropped.events": overflow]) { $1 }
    // A recording's time is not the machine's, and the same recording is to give the same output.
    if isLive { pipeline.note(usage: MachineUsage(radio: delivery.radio)) }
  }

  /// The monotonic time, ns, at which the pipeline wants to be called; nil for not at all.
  private func deadline(of pipeline: AgentPipeline, clock: (@Sendable () -> Timestamp)?) -> Int64? {
    guard let clock, let deadline = pipeline.nextDeadline else { return nil }
    return SystemClock.monotonic &+ max(0, deadline.nanoseconds &- clock().nanoseconds)
  }

  private func play(_ recording: any SensorRecording, into pipeline: inout AgentPipeline) throws {
    var recording = recording
    for kind in recording.kinds {
      recording.setDemand(Self.demand(for: kind, of: pipeline, isLive: false), for: kind)
    }
    var last = Timestamp(nanoseconds: 0)
    var asleep = DemandFilter()
    var drafts: [MessageDraft] = []
    let active = SourceStatus(
      timestamp: last, source: recording.name, kinds: recording.kinds, state: .active(rates: [:]))
    pipeline.process(.status(active)) { drafts.append($0) }
    while !stopRequested.isRaised, let event = try recording.next() {
      last = max(last, event.timestamp ?? last)
      if statusRequested.take() { pipeline.requestStatus() }
      sift(event, with: &asleep, into: &pipeline) { drafts.append($0) }
      if !drafts.isEmpty {
        pipeline.externalCounters = delivery.counters
        try delivery.accept(drafts)
        drafts.removeAll(keepingCapacity: true)
      }
    }
    try delivery.stop(farewell: pipeline.farewell(at: last))
  }

  private func report(_ status: SourceStatus) {
    switch status.state {
    case .active(let rates):
      let shown = rates.sorted { $0.key < $1.key }.map { "\($0.key.rawValue)=\($0.value)Hz" }
      log.info(
        "source active", metadata: ["source": "\(status.source)", "rates": "\(shown.joined(separator: " "))"])
    case .idle: log.info("source idle", metadata: ["source": "\(status.source)"])
    case .unavailable(let reason):
      log.warning("source unavailable", metadata: ["source": "\(status.source)", "reason": "\(reason)"])
    case .finished: log.info("recording finished", metadata: ["source": "\(status.source)"])
    }
  }
}
