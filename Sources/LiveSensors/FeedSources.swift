internal import Platform
package import Sensors
package import Spatial

/// A running feed: its sources, the demands on them, and the time on its time line.
///
/// Hardware pushes on the machine's clock; a recording has a time line of its own, on which only its events move time on. It
/// is played at a pace by a thread of its own, or pulled as fast as the machine can. On a recording's time line a sensor that
/// sleeps would stop time, if it is the only one: so all that is ever wanted is played, and what sleeping sensors would not
/// have said is left out here.
package struct FeedSources: Sendable {
  /// Whether the machine's clock moves time on.
  package let isLive: Bool
  private var recording: (any SensorRecording)?
  private let sources: [any SensorSource]
  private var activeSources: Int
  private var awake = DemandFilter(fixDelay: FixDelay())
  /// Time of the newest event.
  private var newest: Timestamp

  package init(_ feed: SensorFeed) {
    newest = Timestamp(nanoseconds: SystemClock.boottime)
    switch feed {
    case .live(let sources): (isLive, self.sources) = (true, sources)
    // It is played on the machine's time line, from where that stands at the start.
    case .paced(let source): (isLive, sources) = (false, [source])
    case .recorded(let recording):
      (isLive, sources) = (false, [])
      self.recording = recording
      newest = Timestamp(nanoseconds: 0)
    }
    activeSources = max(1, sources.count)
  }

  /// The time on the time line.
  package var now: Timestamp { isLive ? Timestamp(nanoseconds: SystemClock.boottime) : newest }

  /// Whether events are pulled rather than pushed.
  package var isPulled: Bool { recording != nil }

  /// Whether every source that pushes has ended.
  package var isOver: Bool { activeSources <= 0 }

  /// Returns the status of a pulled recording as a source; nil for other feeds.
  package func status(_ state: SourceStatus.State) -> SensorEvent? {
    recording.map {
      .status(
        SourceStatus(
          timestamp: newest, source: $0.name, kinds: $0.kinds, state: state, skipped: $0.skipped))
    }
  }

  /// - Throws: an error of a source that cannot run at all.
  package func start(_ sink: @escaping SensorSink) throws {
    for source in sources { try source.start(sink) }
  }

  /// Stops every source: their threads hold hardware.
  package func stop() { for source in sources { source.stop() } }

  /// The next event of a recording that is pulled; nil at its end.
  /// - Throws: an error of a recording that cannot be read on.
  package mutating func pull() throws -> SensorEvent? {
    guard let event = try recording?.next() else { return nil }
    observe(event)
    return event
  }

  /// Observes an event that was pushed.
  package mutating func observe(_ event: SensorEvent) {
    if let timestamp = event.timestamp { newest = max(newest, timestamp) }
    if case .status(let status) = event, status.state == .finished { activeSources -= 1 }
  }

  /// Returns the part of an event that is in demand; nil if there is none.
  package mutating func admit(_ event: SensorEvent) -> SensorEvent? { isLive ? event : awake.admit(event) }

  /// Sets the demands on the sensors.
  /// - Parameters:
  ///   - changed: nil when they are as they were.
  ///   - full: what may ever be demanded under this configuration; nil when it is the one as before.
  package mutating func setDemands(
    _ changed: [SensorKind: SensorDemand]?, full: [SensorKind: SensorDemand]? = nil
  ) {
    if let demands = isLive ? changed : full { demand(demands) }
    guard !isLive, let changed else { return }
    // Demands count from now on, not from the last event that was admitted: a receiver that wakes has its time to fix before it.
    _ = awake.admit(.status(SourceStatus(timestamp: newest, source: "", kinds: [], state: .idle)))
    for kind in SensorKind.allCases { awake.setDemand(changed[kind] ?? .off, for: kind) }
  }

  /// Passes an approximate position to receivers.
  package func assist(_ aid: PositionAid) { for source in sources { source.assist(aid) } }

  /// Every kind of every source, because a source may find hardware later that it does not know of yet.
  private mutating func demand(_ demands: [SensorKind: SensorDemand]) {
    for kind in SensorKind.allCases {
      let demand = demands[kind] ?? .off
      for source in sources { source.setDemand(demand, for: kind) }
      recording?.setDemand(demand, for: kind)
    }
  }
}
