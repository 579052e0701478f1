internal import Platform
public import Sensors
internal import Spatial

/// A radio whose surroundings can be asked for.
public enum Radio: Hashable, Sendable {
  /// A wireless interface, as `ip link` names it: "wlan0".
  case wifi(interface: String)
  /// The first modem of ModemManager that can be asked.
  case modem

  public var kind: SensorKind {
    switch self {
    case .wifi: .wifi
    case .modem: .cellular
    }
  }
}

/// What a radio of this machine hears of the transmitters around, live.
///
/// A thread of its own scans when that is demanded and hands over one `RadioScan` each time, also one of nothing. It outlives
/// a radio that is absent, forbidden or switched off: it says so once with what helps, and tries again after 10 s to 10 min.
///
/// Demand: `.off` sleeps and nothing is open; a rate is a scan at once and then one each `1 / hertz` seconds, a duty cycle one each
/// period; 5 s lie between two at least. A scan that is no longer demanded is broken off; what it cost until then is handed over too.
///
/// Wi-Fi is scanned passively: no probe leaves the antenna. That wants CAP_NET_ADMIN; without it the source says so once, and
/// hands over what scans of others have found. Names of networks stay here, and networks whose names are hidden, or whose owner
/// does not want them on maps (`_nomap`, `_optout`), are left out, as are addresses that are not one device's for good.
///
/// Of a modem, ModemManager is asked for the cells that have an identity in the world.
public final class RadioSource: SensorSource {
  public let name: String
  public let kinds: Set<SensorKind>

  private let kind: SensorKind
  private let scan: RadioWorker.Scan
  private let thread: ServiceThread
  private let demand = Locked(SensorDemand.off)

  /// - Throws: `SystemError` when the process has no file descriptor left. A radio that is not there is no error.
  public convenience init(_ radio: Radio) throws {
    switch radio {
    case .wifi(let interface):
      try self.init(name: "wifi:\(interface)", kind: .wifi) { wait throws(RadioError) in
        try WiFiScanner(interface: interface).scan(wait)
      }
    case .modem:
      try self.init(name: "modem", kind: .cellular) { wait throws(RadioError) in
        try ModemScanner().scan(wait)
      }
    }
  }

  /// - Parameter scan: asks the radio; nil when that was abandoned before it cost anything.
  init(name: String, kind: SensorKind, scan: @escaping RadioWorker.Scan) throws {
    self.name = name
    self.kind = kind
    self.scan = scan
    kinds = [kind]
    thread = try ServiceThread()
  }

  /// - Throws: `SystemError` when the kernel has no room for another thread. A second call does nothing.
  public func start(_ sink: @escaping SensorSink) throws {
    try thread.start(name: kind.rawValue) { [self] in run(sink, $0) }
  }

  public func setDemand(_ demand: SensorDemand, for kind: SensorKind) {
    guard kind == self.kind else { return }
    self.demand.withLock { $0 = demand }
    thread.wake.signal()
  }

  /// A bus that takes a connection and says nothing holds its thread inside the library, which nothing ends.
  public func stop() { thread.stop(patience: 5) }

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

/// What the thread of a `RadioSource` does.
struct RadioWorker: ~Copyable {
  typealias Scan = @Sendable (ScanWait) throws(RadioError) -> ScanResult?

  private let name: String
  private let kind: SensorKind
  private let scan: Scan
  private let wait: ScanWait
  private let sink: SensorSink

  private var schedule = ScanSchedule()
  private var generator = SystemRandomNumberGenerator()
  private var said: SourceStatus.State?

  init(
    name: String, kind: SensorKind, scan: @escaping Scan, wait: ScanWait, sink: @escaping SensorSink
  ) {
    self.name = name
    self.kind = kind
    self.scan = scan
    self.wait = wait
    self.sink = sink
  }

  /// Scans if it is time; else waits until then, or until the demand may have changed.
  mutating func work(demand: SensorDemand) {
    schedule.setDemand(demand, at: now)
    guard let due = schedule.due else {
      if case .active? = said { say(.idle) }
      _ = waitUntilReadable([wait.wake.descriptor])
      wait.wake.drain()
      return
    }
    let left = due.seconds(since: now)
    if left > 0 { _ = wait.wake.wait(seconds: left) } else { look() }
  }

  private mutating func look() {
    schedule.begin(at: now)
    do throws(RadioError) {
      guard let result = try scan(wait) else { return }
      guard result.scan.isComplete else {
        sink(.radio([result.scan]))
        return
      }
      schedule.succeed()
      if let notice = result.notice {
        say(.unavailable(reason: "\(notice)"))
      } else {
        say(.active(rates: schedule.interval.map { [kind: 1 / $0] } ?? [:]))
      }
      sink(.radio([result.scan]))
    } catch {
      schedule.fail(at: now, using: &generator)
      say(.unavailable(reason: "\(error)"))
    }
  }

  /// Each change once.
  private mutating func say(_ state: SourceStatus.State) {
    guard state != said else { return }
    said = state
    sink(.status(SourceStatus(timestamp: now, source: name, kinds: [kind], state: state)))
  }

  private var now: Timestamp { Timestamp(nanoseconds: SystemClock.boottime) }
}
