internal import Platform
package import Sensors
package import Spatial

/// A running feed: its sources, the demands on them, and the time on its time line.
///
/// Hardware pushes on the machine's clock; a recording has its own time line, on which only its events
/// advance the time. A recording is played at a pace by its own thread, or pulled as fast as the machine can.
/// On its time line a sleeping sensor would stop time if it is the only one: so all possible demands are
/// played, and events of sleeping sensors are omitted here.
package struct FeedSources: Sendable {
  /// True if the machine's clock advances the time.
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
    // Played on the machine's time line, from its present time at the start.
    case .paced(let source): (isLive, sources) = (false, [source])
    case .recorded(let recording):
      (isLive, sources) = (false, [])
      self.recording = recording
      newest = Timestamp(nanoseconds: 0)
    }
    activeSources = max(1, sources.count)
  }

  /// The current time: that of the machine for live input, otherwise that of the newest event.
  package var now: Timestamp { isLive ? Timestamp(nanoseconds: SystemClock.boottime) : newest }

  /// True if events are pulled rather than pushed.
  package var isPulled: Bool { recording != nil }

  /// True if every pushing source has ended.
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

  /// Returns the next event of a pulled recording; nil at its end.
  /// - Throws: an error of a recording with unreadable remaining data.
  package mutating func pull() throws -> SensorEvent? {
    guard let event = try recording?.next() else { return nil }
    observe(event)
    return event
  }

  /// Observes a pushed event.
  package mutating func observe(_ event: SensorEvent) {
    if let timestamp = event.timestamp { newest = max(newest, timestamp) }
    if case .status(let status) = event, status.state == .finished { activeSources -= 1 }
  }

  /// Returns the requested part of an event; nil if there is none.
  package mutating func admit(_ event: SensorEvent) -> SensorEvent? { isLive ? event : awake.admit(event) }

  /// Sets the demands on the sensors.
  /// - Parameters:
  ///   - changed: nil if unchanged.
  ///   - full: all possible demands under this configuration; nil if unchanged.
  package mutating func setDemands(
    _ changed: [SensorKind: SensorDemand]?, full: [SensorKind: SensorDemand]? = nil
  ) {
    if let demands = isLive ? changed : full { demand(demands) }
    guard !isLive, let changed else { return }
    // Demands apply from now on, not from the last admitted event: a receiver that wakes has time to fix
    // before it.
    _ = awake.admit(.status(SourceStatus(timestamp: newest, source: "", kinds: [], state: .idle)))
    for kind in SensorKind.allCases { awake.setDemand(changed[kind] ?? .off, for: kind) }
  }

  /// Passes an approximate position to receivers.
  package func assist(_ aid: PositionAid) { for source in sources { source.assist(aid) } }

  /// Sets the demand of every kind at every source, because a source may find hardware of another kind later.
  private mutating func demand(_ demands: [SensorKind: SensorDemand]) {
    for kind in SensorKind.allCases {
      let demand = demands[kind] ?? .off
      for source in sources { source.setDemand(demand, for: kind) }
      recording?.setDemand(demand, for: kind)
    }
  }
}
