internal import Platform
public import Sensors
internal import Spatial

/// Plays a recording as if it were live: on its own thread, at life speed or a multiple of it.
///
/// The recording's first event happens when the source is started; from there its time line runs on, so that at
/// life speed the timestamps are those of `CLOCK_BOOTTIME`. At another speed the intervals stay what they were
/// and only the waiting is shorter. While nothing is demanded the recording runs on unheard, as the world does.
/// A recording that cannot be read further is said to be unavailable, with its error, and then finished.
public final class PacedReplay: SensorSource {
  public let name: String
  public let kinds: Set<SensorKind>

  private let speed: Double
  private let recording: any SensorRecording
  private let thread: ServiceThread
  private let demands: Locked<[SensorKind: SensorDemand]>

  /// - Parameters:
  ///   - recording: what to play, from where it stands.
  ///   - speed: how many seconds of the recording pass in one second; `.infinity` plays without waiting, anything
  ///     that is not positive counts as 1.
  /// - Throws: `SystemError` when the process has no file descriptor left.
  public init(_ recording: any SensorRecording, speed: Double = 1) throws {
    name = recording.name
    kinds = recording.kinds
    self.speed = speed > 0 ? speed : 1
    self.recording = recording
    thread = try ServiceThread()
    // As with hardware, nothing is powered until something is demanded.
    demands = Locked(Dictionary(uniqueKeysWithValues: recording.kinds.map { ($0, SensorDemand.off) }))
  }

  public func start(_ sink: @escaping SensorSink) throws {
    try thread.start(name: "replay") { [self] in play(into: sink, $0) }
  }

  public func setDemand(_ demand: SensorDemand, for kind: SensorKind) {
    if kinds.contains(kind) { demands.withLock { $0[kind] = demand } }
  }

  public func stop() { thread.stop() }

  private func play(into sink: SensorSink, _ heartbeat: Heartbeat) {
    var recording = recording
    var filter = DemandFilter()
    let started = SystemClock.boottime
    let startedWaiting = SystemClock.monotonic
    var origin: Int64?
    var now = Timestamp(nanoseconds: started)
    func say(_ state: SourceStatus.State) {
      sink(.status(SourceStatus(timestamp: now, source: name, kinds: kinds, state: state)))
    }
    say(.active(rates: [:]))
    do {
      while let event = try recording.next() {
        if let time = event.timestamp {
          let start = origin ?? time.nanoseconds
          origin = start
          let elapsed = Double(time.nanoseconds &- start) / speed
          guard waits(until: startedWaiting &+ Int64(min(elapsed, 4e18)), heartbeat) else { return }
          now = Timestamp(nanoseconds: started &+ (time.nanoseconds &- start))
        }
        guard !thread.isStopping else { return }
        for (kind, demand) in demands.withLock({ $0 }) { filter.setDemand(demand, for: kind) }
        let shifted = event.shifted(byNanoseconds: started &- (origin ?? 0))
        if let rest = filter.admit(shifted) { sink(rest) }
      }
    } catch {
      say(.unavailable(reason: "\(error)"))
    }
    say(.finished)
  }

  /// Sleeps until a point of `SystemClock.monotonic`; false when the source is stopped meanwhile.
  private func waits(until deadline: Int64, _ heartbeat: Heartbeat) -> Bool {
    while true {
      heartbeat.beat()
      let left = deadline &- SystemClock.monotonic
      if left <= 0 { return true }
      _ = thread.wake.wait(seconds: Double(left) * 1e-9)
      if thread.isStopping { return false }
    }
  }
}
