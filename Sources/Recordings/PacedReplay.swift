internal import Platform
public import Sensors
internal import Spatial

/// Plays a recording as if it were live: on its own thread, at life speed or a multiple of it.
///
/// The recording's first event happens when the source is started; from there its time line runs on, so that at
/// life speed the timestamps are those of `CLOCK_BOOTTIME`. At another speed the intervals stay what they were
/// and only the waiting is shorter. While nothing is demanded the recording runs on unheard, as the world does; what is
/// demanded says how long samples may wait for others, as far as the recording can tell.
/// A recording that cannot be read further is said to be unavailable, with its error, and then finished.
public final class PacedReplay: SensorSource {
  public let name: String
  public let kinds: Set<SensorKind>

  private let speed: Double
  private let wake: EventDescriptor
  private let shared: Locked<Shared>

  private struct Shared {
    var recording: any SensorRecording
    var demands: [SensorKind: SensorDemand]
    var isStopping = false
    var thread: DedicatedThread?
  }

  /// - Parameters:
  ///   - recording: what to play, from where it stands.
  ///   - speed: how many seconds of the recording pass in one second; `.infinity` plays without waiting, anything
  ///     that is not positive counts as 1.
  /// - Throws: `SystemError` when the process has no file descriptor left.
  public init(_ recording: any SensorRecording, speed: Double = 1) throws {
    name = recording.name
    kinds = recording.kinds
    self.speed = speed > 0 ? speed : 1
    wake = try EventDescriptor()
    // As with hardware, nothing is powered until something is demanded.
    let demands = Dictionary(uniqueKeysWithValues: recording.kinds.map { ($0, SensorDemand.off) })
    shared = Locked(Shared(recording: recording, demands: demands))
  }

  public func start(_ sink: @escaping SensorSink) throws {
    try shared.withLock { shared in
      guard shared.thread == nil, !shared.isStopping else { return }
      let recording = shared.recording
      shared.thread = try DedicatedThread.startWatched(
        name: "replay", call: { [wake] in wake.signal() },
        {
          [self] in play(recording, into: sink, $0)
        })
    }
  }

  public func setDemand(_ demand: SensorDemand, for kind: SensorKind) {
    shared.withLock { if kinds.contains(kind) { $0.demands[kind] = demand } }
  }

  public func stop() {
    let thread = shared.withLock { shared in
      shared.isStopping = true
      defer { shared.thread = nil }
      return shared.thread
    }
    wake.signal()
    thread?.join()
  }

  private func play(_ recording: any SensorRecording, into sink: SensorSink, _ heartbeat: Heartbeat) {
    var recording = recording
    var filter = DemandFilter()
    var asked: [SensorKind: SensorDemand] = [:]
    let started = SystemClock.boottime
    let startedWaiting = SystemClock.monotonic
    var origin: Int64?
    var now = Timestamp(nanoseconds: started)
    func say(_ state: SourceStatus.State) {
      sink(.status(SourceStatus(timestamp: now, source: name, kinds: kinds, state: state)))
    }
    say(.active(rates: [:]))
    do {
      // How far the waiting has come, in nanoseconds of the recording's time line.
      var waited: Int64 = .min / 2
      while let event = try recording.next() {
        let start = origin ?? event.timestamp?.nanoseconds ?? 0
        if event.timestamp != nil { origin = start }
        let shifted = event.shifted(byNanoseconds: started &- start)
        if let time = event.timestamp {
          // Nobody wakes for what nobody wants, as long as time moves on all the same.
          var looking = filter
          if time.nanoseconds &- waited < Self.longestSleep, looking.admit(shifted) == nil {
            filter = looking
            continue
          }
          waited = time.nanoseconds
          let elapsed = Double(time.nanoseconds &- start) / speed
          guard waits(until: startedWaiting &+ Int64(min(elapsed, 4e18)), heartbeat) else { return }
          now = Timestamp(nanoseconds: started &+ (time.nanoseconds &- start))
        }
        guard let demands = demandsUnlessStopping() else { return }
        for (kind, demand) in demands where asked[kind] != demand {
          filter.setDemand(demand, for: kind)
          // Without any sensor, time would stand still.
          if demand.isOn { recording.setDemand(demand, for: kind) }
          asked[kind] = demand
        }
        if let rest = filter.admit(shifted) { sink(rest) }
      }
    } catch {
      say(.unavailable(reason: "\(error)"))
    }
    say(.finished)
  }

  /// Nanoseconds of the recording that may pass without a wait.
  private static let longestSleep: Int64 = 500_000_000

  private func demandsUnlessStopping() -> [SensorKind: SensorDemand]? {
    shared.withLock { $0.isStopping ? nil : $0.demands }
  }

  /// Sleeps until a point of `SystemClock.monotonic`; false when the source is stopped meanwhile.
  private func waits(until deadline: Int64, _ heartbeat: Heartbeat) -> Bool {
    while true {
      heartbeat.beat()
      let left = deadline &- SystemClock.monotonic
      if left <= 0 { return true }
      _ = wake.wait(seconds: Double(left) * 1e-9)
      if demandsUnlessStopping() == nil { return false }
    }
  }
}
