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
  private let remote: RemoteService.Plan?

  /// - Parameter remote: nil is not managed remotely. A recording that is pulled as fast as the machine can never is.
  init(
    pipeline: AgentPipeline, delivery: any MessageDelivery, statusRequested: Flag, log: Logger,
    remote: RemoteService.Plan? = nil
  ) {
    self.remote = remote
    initial = pipeline
    self.delivery = delivery
    self.statusRequested = statusRequested
    self.log = log
  }

  func requestStop() { stopRequested.raise() }

  /// Returns when the feed has ended or a stop was requested, after the farewell.
  func run(
    _ feed: SensorFeed, queue: BoundedQueue<SensorEvent>, demands: [SensorKind: SensorDemand]
  ) throws {
    var pipeline = initial
    switch feed {
    case .live(let sources):
      try pump(
        sources, queue, demands, clock: { Timestamp(nanoseconds: SystemClock.boottime) }, into: &pipeline)
    case .paced(let source):
      try pump([source], queue, demands, clock: nil, into: &pipeline)
    case .recorded(let recording):
      try play(recording, demands, into: &pipeline)
    }
  }

  /// Takes pushed events until the stop. Without a clock only events move time on, as in a recording.
  private func pump(
    _ sources: [any SensorSource], _ queue: BoundedQueue<SensorEvent>, _ demands: [SensorKind: SensorDemand],
    clock: (@Sendable () -> Timestamp)?, into pipeline: inout AgentPipeline
  ) throws {
    var last = clock?() ?? Timestamp(nanoseconds: 0)
    var finished = 0
    // Whatever happens, no source outlives this call: its threads hold hardware.
    defer { for source in sources { source.stop() } }
    for source in sources {
      // Every kind, because a source may find hardware later that it does not know of yet.
      for kind in SensorKind.allCases { source.setDemand(demands[kind] ?? .off, for: kind) }
      try source.start { queue.push($0) }
    }
    var drafts: [MessageDraft] = []
    let remote = remote.map(RemoteService.init)
    defer { remote?.close() }
    while !stopRequested.isRaised, finished < max(1, sources.count) {
      if let remote, remote.turn(&pipeline, &drafts) {
        for source in sources {
          for kind in SensorKind.allCases { source.setDemand(pipeline.demands[kind] ?? .off, for: kind) }
        }
      }
      if statusRequested.take() {
        pipeline.externalCounters = delivery.counters.merging(["dropped.events": queue.overflowCount]) { $1 }
        pipeline.requestStatus()
        pipeline.advance(to: clock?() ?? last) { drafts.append($0) }
      }
      let deadlines = [deadline(of: pipeline, clock: clock), remote?.deadline]
      switch queue.pop(until: deadlines.compactMap { $0 }.min()) {
      case .element(let event):
        last = max(last, event.timestamp ?? last)
        if case .status(let status) = event {
          report(status)
          if status.state == .finished { finished += 1 }
        }
        pipeline.process(event) { drafts.append($0) }
        remote?.note(pipeline)
      case .timedOut:
        if let clock {
          last = clock()
          pipeline.advance(to: last) { drafts.append($0) }
        }
      case .closed: finished = .max
      }
      if !drafts.isEmpty {
        pipeline.externalCounters = delivery.counters.merging(["dropped.events": queue.overflowCount]) { $1 }
        try delivery.accept(drafts)
        drafts.removeAll(keepingCapacity: true)
      }
    }
    for source in sources { source.stop() }
    try finish(&pipeline, at: clock?() ?? last)
  }

  /// What is pending goes out before the farewell.
  private func finish(_ pipeline: inout AgentPipeline, at timestamp: Timestamp) throws {
    var drafts: [MessageDraft] = []
    pipeline.finish { drafts.append($0) }
    if !drafts.isEmpty { try delivery.accept(drafts) }
    try delivery.stop(farewell: pipeline.farewell(at: timestamp))
  }

  /// The monotonic time, ns, at which the pipeline wants to be called; nil for not at all.
  private func deadline(of pipeline: AgentPipeline, clock: (@Sendable () -> Timestamp)?) -> Int64? {
    guard let clock, let deadline = pipeline.nextDeadline else { return nil }
    return SystemClock.monotonic &+ max(0, deadline.nanoseconds &- clock().nanoseconds)
  }

  private func play(
    _ recording: any SensorRecording, _ demands: [SensorKind: SensorDemand],
    into pipeline: inout AgentPipeline
  ) throws {
    var recording = recording
    for kind in recording.kinds { recording.setDemand(demands[kind] ?? .off, for: kind) }
    var last = Timestamp(nanoseconds: 0)
    var drafts: [MessageDraft] = []
    let active = SourceStatus(
      timestamp: last, source: recording.name, kinds: recording.kinds, state: .active(rates: [:]))
    pipeline.process(.status(active)) { drafts.append($0) }
    while !stopRequested.isRaised, let event = try recording.next() {
      last = max(last, event.timestamp ?? last)
      if statusRequested.take() { pipeline.requestStatus() }
      pipeline.process(event) { drafts.append($0) }
      if !drafts.isEmpty {
        pipeline.externalCounters = delivery.counters
        try delivery.accept(drafts)
        drafts.removeAll(keepingCapacity: true)
      }
    }
    try finish(&pipeline, at: last)
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
