internal import Platform
package import Sensors
package import Spatial

/// The running sources of a feed, the demands on them, and the current time.
///
/// Hardware pushes events with times of the machine's clock. A recording is either pushed by its own thread
/// at a configured speed, or pulled as fast as possible; only its events advance the time. If a sleeping
/// sensor were the recording's only one, it would deliver no events, and time would stop. Recordings
/// therefore deliver all events that could be requested, and this type omits events of sleeping sensors.
package struct FeedSources: Sendable {
  /// True if the machine's clock advances the time; false for a recording, whose events advance it.
  package let isLive: Bool
  private var recording: (any SensorRecording)?
  private let sources: [any SensorSource]
  private var activeSources: Int
  private var awake = DemandFilter(fixDelay: FixDelay())
  /// Time of the newest event.
  private var newest: Timestamp

  package init(_ feed: SensorFeed) {
    newest = Timestamp.now
    switch feed {
    case .live(let sources): (isLive, self.sources) = (true, sources)
    // A recording at a configured speed has times of the machine's clock, from its start on.
    case .paced(let source): (isLive, sources) = (false, [source])
    case .recorded(let recording):
      (isLive, sources) = (false, [])
      self.recording = recording
      newest = Timestamp(nanoseconds: 0)
    }
    activeSources = max(1, sources.count)
  }

  /// The current time: by the machine's clock for hardware, otherwise that of the newest event.
  package var now: Timestamp { isLive ? Timestamp.now : newest }

  /// True for a recording whose events are pulled; false if sources push events.
  package var isPulled: Bool { recording != nil }

  /// True if every source that pushes events has ended.
  package var isOver: Bool { activeSources <= 0 }

  /// Returns a status event of a pulled recording; nil for other feeds.
  package func status(_ state: SourceStatus.State) -> SensorEvent? {
    recording.map {
      .status(
        SourceStatus(
          timestamp: newest, source: $0.name, kinds: $0.kinds, state: state, skipped: $0.skipped))
    }
  }

  /// Starts the sources.
  /// - Throws: an error of a source that cannot run.
  package func start(_ sink: @escaping SensorSink) throws {
    for source in sources { try source.start(sink) }
  }

  /// Stops the sources, which release their threads and hardware.
  package func stop() { for source in sources { source.stop() } }

  /// Returns the next event of a pulled recording; nil at its end.
  /// - Throws: an error if the rest of the recording is unreadable.
  package mutating func pull() throws -> SensorEvent? {
    guard let event = try recording?.next() else { return nil }
    observe(event)
    return event
  }

  /// Updates the time and the number of running sources with an event.
  package mutating func observe(_ event: SensorEvent) {
    if let timestamp = event.timestamp { newest = max(newest, timestamp) }
    if case .status(let status) = event, status.state == .finished { activeSources -= 1 }
  }

  /// Returns the part of an event that is of sensors in demand; nil if there is none.
  package mutating func admit(_ event: SensorEvent) -> SensorEvent? { isLive ? event : awake.admit(event) }

  /// Sets the demands on the sensors.
  /// - Parameters:
  ///   - changed: the current demands; nil if unchanged.
  ///   - full: the maximum demands that this configuration can cause; nil if unchanged.
  package mutating func setDemands(
    _ changed: [SensorKind: SensorDemand]?, full: [SensorKind: SensorDemand]? = nil
  ) {
    if let demands = isLive ? changed : full { demand(demands) }
    guard !isLive, let changed else { return }
    // The filter must know that time has passed since its last event: a receiver that wakes up now needs some
    // time to its first fix.
    _ = awake.admit(.status(SourceStatus(timestamp: newest, source: "", kinds: [], state: .idle)))
    for kind in SensorKind.allCases { awake.setDemand(changed[kind] ?? .off, for: kind) }
  }

  /// Passes an approximate position to receivers.
  package func assist(_ aid: PositionAid) { for source in sources { source.assist(aid) } }

  /// Sets the demand of every kind of sensor on every source, because a source can find more kinds of
  /// hardware later.
  private mutating func demand(_ demands: [SensorKind: SensorDemand]) {
    for kind in SensorKind.allCases {
      let demand = demands[kind] ?? .off
      for source in sources { source.setDemand(demand, for: kind) }
      recording?.setDemand(demand, for: kind)
    }
  }
}
