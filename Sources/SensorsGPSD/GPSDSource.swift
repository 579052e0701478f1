internal import Platform
public import Sensors
internal import Spatial

/// The receivers of a gpsd, live.
///
/// A thread of its own watches gpsd while positions are wanted, and hands over one `PositionFix` for each report
/// (gpsd's TPV). It outlives everything on the other side: a gpsd that is not running yet, one that is restarted, a
/// receiver that is unplugged. It says so once, tries again with jittered back-off, and says once that reports come
/// again.
///
/// Demand: `.off` leaves the watch and closes the connection, whereupon gpsd lets the receiver sleep; a duty cycle
/// watches for the on phase of every period only; a rate watches all the time. A receiver's rate is its own and
/// shared with gpsd's other clients, so it is left alone: of a rate below 1 Hz the reports between are left out. With a
/// latency of two seconds or more, reports wait in the socket for as long, ten seconds at most, and come as one block.
public final class GPSDSource: SensorSource {
  public let name: String
  public let kinds: Set<SensorKind> = [.positioning]

  private let address: GPSDAddress
  private let device: String?
  private let thread: ServiceThread
  private let assists: Bool
  private let orders = Locked(Orders())
  private let sink = Locked<SensorSink?>(nil)

  /// What others want of the thread.
  fileprivate struct Orders {
    var demand = SensorDemand.off
    /// Until the thread has taken it.
    var aid: PositionAid?
  }

  /// - Parameters:
  ///   - address: where gpsd listens.
  ///   - device: the path of the only receiver to hear, as gpsd knows it ("/dev/ttyACM0"); nil for all.
  ///   - assists: whether `assist` tells u-blox receivers that have no fix where they are about. gpsd passes that on unless it was
  ///     started with `-b`, and does not say whether it did.
  /// - Throws: `SystemError` when the process has no file descriptor left.
  public init(_ address: GPSDAddress = GPSDAddress(), device: String? = nil, assists: Bool = false) throws {
    self.address = address
    self.device = device
    self.assists = assists
    name = address.description + (device.map { " (\($0))" } ?? "")
    thread = try ServiceThread()
  }

  /// - Throws: `SystemError` when the kernel has no room for another thread. A second call does nothing.
  public func start(_ sink: @escaping SensorSink) throws {
    self.sink.withLock { $0 = sink }
    try thread.start(name: "gpsd") { [self] in run(sink, $0) }
  }

  /// Asks gpsd for its receivers, without waking one. A missing gpsd or receiver is reported as unavailable.
  public func waitForDiscovery(seconds: Double) {
    var reason: String?
    do {
      let probe = try GPSDProbe.run(address, timeLimit: .seconds(max(0.1, min(seconds, 60))))
      if !probe.devices.contains(where: { device == nil || $0.path == device }) {
        reason = "\(address) has no receiver\(device.map { " \($0)" } ?? ""); name one in gpsd's DEVICES"
      }
    } catch {
      reason = "\(error)"
    }
    guard let reason, let sink = sink.withLock({ $0 }) else { return }
    let now = Timestamp(nanoseconds: SystemClock.boottime)
    sink(
      .status(
        SourceStatus(timestamp: now, source: name, kinds: kinds, state: .unavailable(reason: reason))))
  }

  public func setDemand(_ demand: SensorDemand, for kind: SensorKind) {
    guard kind == .positioning else { return }
    orders.withLock { $0.demand = demand }
    thread.wake.signal()
  }

  public func assist(_ aid: PositionAid) {
    guard assists else { return }
    orders.withLock { $0.aid = aid }
    thread.wake.signal()
  }

  public func stop() {
    sink.withLock { $0 = nil }
    thread.stop()
  }

  private func run(_ sink: @escaping SensorSink, _ heartbeat: Heartbeat) {
    var worker = GPSDWorker(
      name: name, address: address, device: device, wake: thread.wake, heartbeat: heartbeat, sink: sink)
    while !thread.isStopping {
      heartbeat.beat()
      let orders = orders.withLock { orders in
        defer { orders.aid = nil }
        return orders
      }
      if let aid = orders.aid { worker.assist(aid) }
      worker.work(demand: orders.demand)
    }
  }
}

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
  private var gathering = ReportGathering()
  private var assistance: ReceiverAssistance
  /// Fixes that waited, until all that did were read.
  private var gathered: [PositionFix] = []

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
    assistance = ReceiverAssistance(device: device)
  }

  /// Brings the watch in line with the demand, then waits for reports until the demand may have changed.
  mutating func work(demand: SensorDemand) {
    gathering.setDemand(demand, at: SystemClock.monotonic)
    // Before a watch is left: what waited for it was wanted.
    if gathering.isBehind { catchUp() }
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
      case .report(let report): process(report)
      case .unreadable(let line, let text): report(unreadable: line, text)
      }
    }
  }

  /// Reports input that is not of gpsd, as from a forwarder with another protocol.
  private func report(unreadable line: Int, _ text: String) {
    let skipped = SkippedInput(
      first: "\(name): line \(line) is not a report of gpsd in JSON (\(text)); check what listens there")
    sink(
      .status(
        SourceStatus(
          timestamp: now, source: name, kinds: [.positioning], state: .active(rates: [:]), skipped: skipped)))
  }

  /// Tells receivers without a fix where they are about.
  mutating func assist(_ aid: PositionAid) {
    assistance.update(aid)
    assistReceivers()
  }

  private mutating func assistReceivers() {
    guard watch.isWatching else { return }
    do {
      for request in assistance.requests(at: now) { try session?.pass(request.bytes, to: request.path) }
    } catch {
      close()
      handle(.disconnected(reason: "\(error)"))
    }
  }

  /// Waits for the next report, the next decision's time or a signal.
  private mutating func wait() -> GPSDSession.Outcome {
    let now = SystemClock.monotonic
    let deadline = watch.deadline(at: now)
    let pause = watch.isWatching ? gathering.pause(at: now) : nil
    if pause == nil, let outcome = nextReport(deadline: deadline, at: now) { return outcome }
    let end = [pause, deadline].compactMap { $0 }.min()
    let left = end.map { Double(max(0, $0 - SystemClock.monotonic)) * 1e-9 + 0.001 } ?? 86_400
    return wake.wait(seconds: left) ? .interrupted : .timedOut
  }

  /// The next report, of those that are there already where they are gathered; nil without a connection.
  private mutating func nextReport(deadline: Int64?, at now: Int64) -> GPSDSession.Outcome? {
    do {
      let isGathering = gathering.takesOnlyWhatIsThere
      let outcome = try session?.nextReport(deadline: isGathering ? now : deadline, wake: wake)
      if isGathering, outcome == .timedOut {
        gathering.caughtUp(at: now)
        handOver()
      }
      return outcome
    } catch {
      close()
      handle(.disconnected(reason: "\(error)"))
      return .timedOut
    }
  }

  /// Takes what is there already.
  private mutating func catchUp() {
    while true {
      switch nextReport(deadline: nil, at: SystemClock.monotonic) {
      case .report(let report): process(report)
      case .unreadable(let line, let text): report(unreadable: line, text)
      default: return handOver()
      }
    }
  }

  private mutating func handOver() {
    if !gathered.isEmpty { sink(.position(gathered)) }
    gathered.removeAll()
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
    handOver()
    session = nil
    assembler = GPSDFixAssembler()
    assistance.reset()
  }

  private mutating func process(_ report: GPSDReport) {
    switch report {
    case .sky(let sky): assembler.update(sky, at: now)
    case .device(let device):
      assistance.observe(device)
      if !device.isActive { handle(.deviceClosed(path: device.path)) }
    case .devices(let devices): for device in devices { assistance.observe(device) }
    case .fix(let report):
      assistance.observe(report)
      assistReceivers()
      let fix = assembler.fix(report, at: gathering.arrival(of: report.time, takenAt: now))
      handle(.reported(device: report.device))
      if thinning.admits(fix.timestamp) { gathered.append(fix) }
      if !gathering.takesOnlyWhatIsThere { handOver() }
    default: return
    }
  }

  private var now: Timestamp { Timestamp(nanoseconds: SystemClock.boottime) }
}
