internal import Platform
public import Sensors
internal import Spatial

/// A radio that can scan its surroundings.
public enum Radio: Hashable, Sendable {
  /// A wireless interface with its name, such as "wlan0".
  case wifi(interface: String)
  /// The first usable modem of ModemManager.
  case modem

  public var kind: SensorKind {
    switch self {
    case .wifi: .wifi
    case .modem: .cellular
    }
  }
}

/// A live source of radio scans.
///
/// Its thread scans on demand and delivers one `RadioScan` each time, possibly empty. If the radio is
/// missing, blocked or switched off, it reports this once with the remedy, and retries after 10 s to 10 min.
///
/// Demand: with `.off` the thread sleeps and nothing is open. A rate means an immediate scan, then one every
/// `1 / hertz` seconds; a duty cycle means one per period. The minimum interval is 5 s. A scan that is no
/// longer in demand is aborted; its cost so far is reported, too.
///
/// Wi-Fi scans are passive: the radio transmits no probe requests. They require CAP_NET_ADMIN; without it the
/// source reports this once, and delivers the results of other programs' scans. Network names never leave
/// this module. Networks with hidden names, or whose owners opted out of mapping (`_nomap`, `_optout`), are
/// omitted, and so are addresses that do not permanently identify one device.
///
/// For a modem, ModemManager is queried for cells with a globally unique identity.
public final class RadioSource: SensorSource {
  public let name: String
  public let kinds: Set<SensorKind>

  private let kind: SensorKind
  private let scan: RadioWorker.Scan
  private let thread: ServiceThread
  private let demand = Locked(SensorDemand.off)

  /// Creates a source for a radio; a missing radio is not an error.
  ///
  /// - Throws: `SystemError` if the process has no free file descriptors.
  public convenience init(_ radio: Radio) throws {
    switch radio {
    case .wifi(let interface):
      try self.init(name: "wifi:\(interface)", kind: .wifi) { wait throws(SourceError) in
        try WiFiScanner(interface: interface).scan(wait)
      }
    case .modem:
      try self.init(name: "modem", kind: .cellular) { wait throws(SourceError) in
        try ModemScanner().scan(wait)
      }
    }
  }

  /// Creates a source with a scan function.
  ///
  /// - Parameter scan: scans with the radio; returns nil if it was abandoned before it caused any cost.
  init(name: String, kind: SensorKind, scan: @escaping RadioWorker.Scan) throws {
    self.name = name
    self.kind = kind
    self.scan = scan
    kinds = [kind]
    thread = try ServiceThread()
  }

  /// Starts the thread; a second call has no effect.
  ///
  /// - Throws: `SystemError` if the kernel cannot create a thread.
  public func start(_ sink: @escaping SensorSink) throws {
    try thread.start(name: kind.rawValue) { [self] in run(sink, $0) }
  }

  public func setDemand(_ demand: SensorDemand, for kind: SensorKind) {
    guard kind == self.kind else { return }
    self.demand.withLock { $0 = demand }
    thread.wake.signal()
  }

  /// Stops the thread, with a time limit: a bus that accepts a connection but never answers blocks the thread
  /// inside the library.
  public func stop() { thread.stop(timeout: 5) }

  private func run(_ sink: @escaping SensorSink, _ heartbeat: Heartbeat) {
    let wait = ScanWait(
      wake: thread.wake, beat: { heartbeat.beat() }, expectPause: { heartbeat.expectPause(seconds: $0) },
      isWanted: { [demand, thread] in !thread.isStopping && demand.withLock { $0.isOn } })
    var worker = RadioWorker(name: name, kind: kind, scan: scan, wait: wait, sink: sink)
    while !thread.isStopping {
      heartbeat.beat()
      worker.work(demand: demand.withLock { $0 })
    }
  }
}

/// The loop of a `RadioSource`'s thread.
struct RadioWorker: ~Copyable {
  typealias Scan = @Sendable (ScanWait) throws(SourceError) -> ScanResult?

  private let name: String
  private let kind: SensorKind
  private let scan: Scan
  private let wait: ScanWait
  private let sink: SensorSink

  private var schedule = ScanSchedule()
  private var generator = SystemRandomNumberGenerator()
  private var reported: SourceStatus.State?

  init(
    name: String, kind: SensorKind, scan: @escaping Scan, wait: ScanWait, sink: @escaping SensorSink
  ) {
    self.name = name
    self.kind = kind
    self.scan = scan
    self.wait = wait
    self.sink = sink
  }

  /// Scans if a scan is due; otherwise waits for that time or for a change of the demand.
  mutating func work(demand: SensorDemand) {
    schedule.setDemand(demand, at: now)
    guard let due = schedule.due else {
      if case .active? = reported { report(.idle) }
      _ = waitUntilReadable([wait.wake.descriptor])
      wait.wake.drain()
      return
    }
    let left = due.seconds(since: now)
    if left > 0 { _ = wait.wake.wait(seconds: left) } else { look() }
  }

  private mutating func look() {
    schedule.begin(at: now)
    do throws(SourceError) {
      guard let result = try scan(wait) else { return }
      guard result.scan.isComplete else {
        sink(.radio([result.scan]))
        return
      }
      schedule.succeed()
      if let notice = result.notice {
        report(.unavailable(reason: "\(notice)"))
      } else {
        report(.active(rates: schedule.interval.map { [kind: 1 / $0] } ?? [:]))
      }
      sink(.radio([result.scan]))
    } catch {
      schedule.fail(at: now, using: &generator)
      report(.unavailable(reason: "\(error)"))
    }
  }

  /// Reports each change of the state once.
  private mutating func report(_ state: SourceStatus.State) {
    guard state != reported else { return }
    reported = state
    sink(.status(SourceStatus(timestamp: now, source: name, kinds: [kind], state: state)))
  }

  private var now: Timestamp { Timestamp.now }
}
