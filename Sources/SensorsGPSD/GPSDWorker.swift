internal import Platform
internal import Sensors
internal import Spatial

/// What the thread of a `GPSDSource` does: carries out what `GPSDWatch` decides and passes reports on.
struct GPSDWorker: ~Copyable {
  /// Nanoseconds after which a connection attempt is given up.
  private static let connectTimeLimit: Int64 = 5_000_000_000

  private let name: String
  private let address: GPSDAddress
  private let device: String?
  private let wake: EventDescriptor
  private let heartbeat: Heartbeat
  private let sink: SensorSink
  private let decoder = GPSDReportDecoder()

  private var watch: GPSDWatch
  private var generator = SystemRandomNumberGenerator()
  private var session: GPSDSession?
  private var assembler = GPSDFixAssembler()
  private var thinning = DemandGate()

  init(
    name: String, address: GPSDAddress, device: String?, wake: EventDescriptor, heartbeat: Heartbeat,
    sink: @escaping SensorSink
  ) {
    self.name = name
    self.address = address
    self.device = device
    self.wake = wake
    self.heartbeat = heartbeat
    self.sink = sink
    watch = GPSDWatch(source: address.description, device: device)
  }

  /// Brings the watch in line with the demand, then waits for reports until the demand may have changed.
  mutating func work(demand: SensorDemand) {
    if case .rate = demand {
      thinning.setDemand(demand, at: nil)
    } else {
      thinning = DemandGate()
    }
    handle(.demand(demand))
    while true {
      switch wait() {
      case .interrupted:
        wake.drain()
        return
      case .timedOut: handle(.tick)
      case .report(let report): take(report)
      }
    }
  }

  /// Waits for the next report, the next decision's time or a signal.
  private mutating func wait() -> GPSDSession.Outcome {
    let deadline = watch.deadline(at: SystemClock.monotonic)
    do {
      if let outcome = try session?.nextReport(deadline: deadline, wake: wake) { return outcome }
    } catch {
      close()
      handle(.disconnected(reason: "\(error)"))
      return .timedOut
    }
    let left = deadline.map { Double(max(0, $0 - SystemClock.monotonic)) * 1e-9 } ?? 86_400
    return wake.wait(seconds: left) ? .interrupted : .timedOut
  }

  private mutating func handle(_ event: GPSDWatch.Event) {
    for action in watch.handle(event, at: SystemClock.monotonic, using: &generator) {
      switch action {
      case .disconnect: close()
      case .say(let state):
        sink(.status(SourceStatus(timestamp: now, source: name, kinds: [.positioning], state: state)))
      case .connect: connect()
      }
    }
  }

  private mutating func connect() {
    // A name lookup cannot be interrupted.
    heartbeat.expectPause(seconds: 120)
    defer { heartbeat.beat() }
    do {
      let opened = try GPSDSession(
        to: address, decoder: decoder, deadline: SystemClock.monotonic + Self.connectTimeLimit, wake: wake)
      try opened.watch(device: device)
      session = consume opened
      handle(.connected)
    } catch {
      // Whoever interrupted has left a new demand, which decides what comes next.
      if error.kind != .interrupted { handle(.disconnected(reason: "\(error)")) }
    }
  }

  private mutating func close() {
    session = nil
    assembler = GPSDFixAssembler()
  }

  private mutating func take(_ report: GPSDReport) {
    switch report {
    case .sky(let sky): assembler.take(sky, at: now)
    case .device(let device) where !device.isActive: handle(.deviceClosed(path: device.path))
    case .fix(let report):
      let fix = assembler.fix(report, at: now)
      handle(.reported(device: report.device))
      if thinning.admits(fix.timestamp) { sink(.position([fix])) }
    default: return
    }
  }

  private var now: Timestamp { Timestamp(nanoseconds: SystemClock.boottime) }
}
