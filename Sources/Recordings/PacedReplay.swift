internal import Platform
public import Sensors
internal import Spatial

/// Plays a recording like a live source: on its own thread, at real speed or a multiple of it.
///
/// The first event occurs when the source is started. At real speed, the timestamps are then those of
/// `CLOCK_BOOTTIME`. At another speed the intervals between timestamps are unchanged and only the waiting is
/// shorter. Without demand the recording continues, and its events are dropped, as if the sensors were off.
/// Events are delayed and delivered together as far as the demand's latency allows, at most 50 ms. A
/// recording that cannot be read further is reported as unavailable, with its error, and then finished.
public final class PacedReplay: SensorSource {
  public let name: String
  public let kinds: Set<SensorKind>

  private let speed: Double
  private let recording: any SensorRecording
  private let thread: ServiceThread
  private let demands: Locked<[SensorKind: SensorDemand]>

  /// - Parameters:
  ///   - recording: the recording, played from its current position.
  ///   - speed: seconds of the recording per second; `.infinity` plays without waiting, and values that are
  ///     not positive count as 1.
  /// - Throws: `SystemError` if no file descriptor is available.
  public init(_ recording: any SensorRecording, speed: Double = 1) throws {
    name = recording.name
    kinds = recording.kinds
    self.speed = speed > 0 ? speed : 1
    self.recording = recording
    thread = try ServiceThread()
    // As with hardware, nothing is powered before the first demand.
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
    var schedule = ReplaySchedule()
    let started = Timestamp.now.nanoseconds
    let startedWaiting = MonotonicTime.now
    var origin: Int64?
    var now = Timestamp(nanoseconds: started)
    func report(_ state: SourceStatus.State) {
      sink(
        .status(
          SourceStatus(
            timestamp: now, source: name, kinds: kinds, state: state, skipped: recording.skipped)))
    }
    /// Waits for the time of a group and delivers it. Returns false if the source is stopped meanwhile.
    func deliver(_ group: ReplaySchedule.Group?) -> Bool {
      guard let group else { return true }
      let due = startedWaiting.advanced(bySeconds: Double(group.due) * 1e-9 / speed)
      guard waits(until: due, heartbeat), !thread.isStopping else { return false }
      now = Timestamp(nanoseconds: started &+ group.due)
      // Only demands above `off` reach the recording. If all its sensors were off, it would return no events,
      // and time would not advance. `filter` drops the events without demand.
      for (kind, demand) in schedule.adopt(demands.withLock { $0 }) where demand.isOn {
        recording.setDemand(demand, for: kind)
      }
      for event in group.events { if let rest = schedule.filter.admit(event) { sink(rest) } }
      return true
    }
    report(.active(rates: [:]))
    do {
      while let event = try recording.next() {
        let time = event.timestamp?.nanoseconds
        let start = origin ?? time ?? 0
        if time != nil { origin = start }
        let shifted = event.shifted(byNanoseconds: started &- start)
        guard deliver(schedule.add(shifted, at: time.map { $0 &- start })) else { return }
      }
      guard deliver(schedule.removeGroup()) else { return }
    } catch {
      guard deliver(schedule.removeGroup()) else { return }
      report(.unavailable(reason: "\(error)"))
    }
    report(.finished)
  }

  /// Sleeps until a time. Returns false if the source is stopped meanwhile.
  private func waits(until deadline: MonotonicTime, _ heartbeat: Heartbeat) -> Bool {
    while true {
      heartbeat.beat()
      let left = deadline.secondsRemaining
      if left <= 0 { return true }
      _ = thread.wake.wait(seconds: left)
      if thread.isStopping { return false }
    }
  }
}

/// Groups the events of a recording that are delivered together, so that a thread wakes once for nearly
/// simultaneous events. Events without demand cause no wakeups, except to advance time. Pure.
struct ReplaySchedule {
  struct Group: Equatable {
    /// Nanoseconds since the recording's first event.
    var due: Int64
    var events: [SensorEvent]
  }

  /// Removes events without demand.
  var filter = DemandFilter()
  private var demands: [SensorKind: SensorDemand] = [:]
  private var group: Group?
  /// Grid in ns. Events are delayed to the next multiple of it.
  private var grid: Int64 = 1
  /// Time of the last delivered group in ns since the recording's first event.
  private var told: Int64 = .min / 2

  /// Maximum time in ns between delivered groups. After it, even a group without demand is delivered, so that
  /// time advances.
  private static let longestSilence: Int64 = 500_000_000
  /// Permitted delay of events: the smallest demanded latency divided by `latenessShare`, but at most
  /// `longestLateness` (ns).
  private static let latenessShare: Int64 = 10
  private static let longestLateness: Int64 = 50_000_000

  /// Adopts demands. Returns those that have changed.
  mutating func adopt(_ new: [SensorKind: SensorDemand]) -> [SensorKind: SensorDemand] {
    let changed = new.filter { demands[$0.key] != $0.value }
    guard !changed.isEmpty else { return changed }
    for (kind, demand) in changed { filter.setDemand(demand, for: kind) }
    demands = new
    let latencies = new.values.compactMap { demand -> Int64? in
      guard case .rate(_, let latency) = demand else { return nil }
      return Int64(min(3600, max(0, latency / .seconds(1))) * 1e9)
    }
    grid = max(1, min(Self.longestLateness, (latencies.min() ?? 0) / Self.latenessShare))
    return changed
  }

  /// Adds an event.
  /// - Parameter time: nanoseconds since the first event. Nil for an event without a time, which belongs to
  ///   the group of the previous event.
  /// - Returns: the previous group if it is complete and must be delivered; nil otherwise.
  mutating func add(_ event: SensorEvent, at time: Int64?) -> Group? {
    let due = time.map { ($0 &+ grid &- 1) / grid &* grid } ?? group?.due ?? max(0, told)
    if group?.due == due {
      group?.events.append(event)
      return nil
    }
    var before = group
    group = Group(due: due, events: [event])
    if let unheard = before, isUnheard(unheard) { before = nil }
    if let before { told = before.due }
    return before
  }

  /// Removes and returns the last group at the end of the recording; nil if there is none.
  mutating func removeGroup() -> Group? {
    defer { group = nil }
    return group
  }

  /// Returns whether a group can be skipped, because none of its events is in demand and the last delivery
  /// was less than half a second before.
  private mutating func isUnheard(_ group: Group) -> Bool {
    guard group.due &- told < Self.longestSilence else { return false }
    var looking = filter
    guard group.events.allSatisfy({ looking.admit($0) == nil }) else { return false }
    filter = looking
    return true
  }
}
