internal import Platform
public import Sensors
internal import Spatial

/// A live receiver of a gpsd. A dedicated thread watches gpsd while positions are in demand, and delivers
/// one `PositionFix` for each report (gpsd's TPV) of one receiver, which `ReceiverChoice` selects. It survives all failures of the other side: a gpsd that is
/// not running yet or is restarted, and a receiver that is unplugged. It reports each cause of a failure once, retries with
/// a jittered back-off, and reports once that reports arrive again.
///
/// Demand: `.off` closes the connection, and gpsd lets the receiver sleep. A duty cycle watches only in the
/// on phase of every period; a rate watches all the time. A receiver's rate is shared with gpsd's other
/// clients, so it is not changed. At a demanded rate below 1 Hz, the additional reports are skipped. At a
/// latency of two seconds or more, reports wait in the socket for the latency, at most ten seconds, and
/// arrive as one block.
public final class GPSDSource: SensorSource {
  public let name: String
  public let kinds: Set<SensorKind> = [.positioning]

  private let address: GPSDAddress
  private let device: String?
  private let thread: ServiceThread
  private let assists: Bool
  private let orders = Locked(Orders())
  /// Nil before the start and after the stop, so that events of an abandoned thread are dropped.
  private let sink = Locked<Sink?>(nil)

  /// Time limit in s for stopping the thread. A thread that waits for the answer of a name server is then abandoned.
  private static let stopTimeout = 2.0

  /// A closure alone, as the value of a generic type, would be wrapped once more by each access.
  private struct Sink: Sendable {
    let receive: SensorSink
  }

  /// Requests of other threads.
  fileprivate struct Orders {
    var demand = SensorDemand.off
    /// Pending aid, until the thread has processed it.
    var aid: PositionAid?
  }

  /// - Parameters:
  ///   - address: address of gpsd.
  ///   - device: path of the only receiver to use, as in gpsd ("/dev/ttyACM0"); nil to choose one.
  ///   - assists: true if `assist` sends approximate positions to u-blox receivers without a fix. gpsd
  ///     forwards them unless it was started with `-b`, and does not report whether it did.
  /// - Throws: `SystemError` if no file descriptor is available.
  public init(_ address: GPSDAddress = GPSDAddress(), device: String? = nil, assists: Bool = false) throws {
    self.address = address
    self.device = device
    self.assists = assists
    name = address.description + (device.map { " (\($0))" } ?? "")
    thread = try ServiceThread()
  }

  /// Starts the thread. Further calls have no effect.
  /// - Throws: `SystemError` if no thread can be created.
  public func start(_ sink: @escaping SensorSink) throws {
    self.sink.withLock { $0 = Sink(receive: sink) }
    try thread.start(name: "gpsd") { [self] heartbeat in
      run({ [sink = self.sink] event in sink.withLock { $0 }?.receive(event) }, heartbeat)
    }
  }

  /// Requests gpsd's receivers, without waking one. A missing gpsd or receiver is reported as unavailable.
  public func waitForDiscovery(seconds: Double) {
    var reason: String?
    do {
      let probe = try GPSDProbe.run(address, timeLimit: .seconds(max(0.1, min(seconds, 60))))
      reason = GPSDWatch.absence(of: device, in: probe.devices.map(\.path)).map { "\(address) \($0)" }
    } catch {
      reason = "\(error)"
    }
    guard let reason, let sink = sink.withLock({ $0 })?.receive else { return }
    let now = Timestamp.now
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

  /// Closes the connection and returns when the thread has ended. A thread in a host name lookup is abandoned after
  /// two seconds and delivers nothing afterwards.
  public func stop() {
    sink.withLock { $0 = nil }
    thread.stop(timeout: Self.stopTimeout)
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

/// The work of a `GPSDSource`'s thread: executes the decisions of `GPSDWatch` and delivers reports.
struct GPSDWorker: ~Copyable {
  /// Time limit of a connection attempt in s.
  private static let connectTimeLimit = 5.0

  private let name: String
  private let address: GPSDAddress
  private let device: String?
  private let wake: EventDescriptor
  private let heartbeat: Heartbeat
  private let sink: SensorSink
  private let decoder = GPSDReportDecoder()

  private var watch: GPSDWatch
  private var generator = SystemRandomNumberGenerator()
  private var session: GPSDClientSession?
  private var assembler = GPSDFixAssembler()
  private var speeds = SpeedCheck()
  private var thinning = DemandGate()
  private var gathering = ReportGathering()
  private var choice = ReceiverChoice()
  private var reportedRestriction: String?
  private var assistance: ReceiverAssistance
  /// Fixes collected until all waiting ones are read.
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

  /// Applies the demand to the watch, then waits for reports until the demand may have changed.
  mutating func work(demand: SensorDemand) {
    gathering.setDemand(demand, at: .now)
    // Reports that wait in the socket were requested by the previous demand, so they are read before the new
    // demand can end the watch.
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

  /// Reports input that does not come from gpsd, for example from a forwarder with another protocol.
  private mutating func report(unreadable line: Int, _ text: String) {
    send(
      .active(rates: [:]),
      skipped: SkippedInput(
        first: "\(name): line \(line) is not a report of gpsd in JSON (\(text)); check what listens there"))
  }

  /// Sends an approximate position to receivers without a fix.
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
      handle(.disconnected(error.kind, reason: "\(error)"))
    }
  }

  /// Waits for the next report, the next deadline or a signal.
  private mutating func wait() -> GPSDClientSession.Outcome {
    let now = MonotonicTime.now
    let deadline = watch.deadline(at: now)
    let pause = watch.isWatching ? gathering.pause(at: now) : nil
    if pause == nil, let outcome = nextReport(deadline: deadline, at: now) { return outcome }
    let end = [pause, deadline].compactMap { $0 }.min()
    let left = end.map { max(0, $0.secondsRemaining) + 0.001 } ?? 86_400
    return wake.wait(seconds: left) ? .interrupted : .timedOut
  }

  /// Returns the next report; nil without a connection. While reports are gathered, it returns only reports
  /// that are already available and does not wait.
  private mutating func nextReport(deadline: MonotonicTime?, at now: MonotonicTime) -> GPSDClientSession
    .Outcome?
  {
    do {
      let isGathering = gathering.drainsWithoutWaiting
      let outcome = try session?.nextReport(deadline: isGathering ? now : deadline, wake: wake)
      if isGathering, outcome == .timedOut {
        gathering.caughtUp(at: now)
        handOver()
      }
      return outcome
    } catch {
      close()
      handle(.disconnected(error.kind, reason: "\(error)"))
      return .timedOut
    }
  }

  /// Processes all available reports.
  private mutating func catchUp() {
    while true {
      switch nextReport(deadline: nil, at: .now) {
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
    for action in watch.handle(event, at: .now, using: &generator) {
      switch action {
      case .disconnect: close()
      case .report(let state): send(state)
      case .connect: connect()
      }
    }
  }

  /// The notices about an active source, for the operator: missing speeds, several receivers; nil if there are none.
  private var restriction: String? {
    let notices = [speeds.restriction, choice.notice].compactMap { $0 }
    return notices.isEmpty ? nil : notices.joined(separator: "; ")
  }

  private mutating func reportRestriction() {
    if watch.isActive, restriction != reportedRestriction { send(.active(rates: [:])) }
  }

  private mutating func send(_ state: SourceStatus.State, skipped: SkippedInput? = nil) {
    reportedRestriction = restriction
    var status = SourceStatus(
      timestamp: now, source: name, kinds: [.positioning], state: state, skipped: skipped)
    if case .active = state { status.restriction = reportedRestriction }
    sink(.status(status))
  }

  private mutating func connect() {
    // A name lookup cannot be interrupted, so a long pause of the thread is announced to the watchdog.
    heartbeat.expectPause(seconds: 120)
    defer { heartbeat.beat() }
    do {
      let opened = try GPSDClientSession(
        to: address, decoder: decoder, deadline: .after(Self.connectTimeLimit), wake: wake)
      // gpsd refuses to watch a receiver that it does not have, and then does not list those that it has.
      if device != nil { try opened.requestDevices() }
      try opened.watch(device: device)
      session = consume opened
      handle(.connected)
    } catch {
      // After an interruption there is a new demand, which determines the next step.
      if error.kind != .interrupted { handle(.disconnected(error.kind, reason: "\(error)")) }
    }
  }

  private mutating func close() {
    handOver()
    session = nil
    assembler = GPSDFixAssembler()
    choice.pause()
    assistance.reset()
  }

  private mutating func process(_ report: GPSDReport) {
    switch report {
    case .sky(let sky): assembler.update(sky, at: now)
    case .device(let device):
      assistance.observe(device)
      if !device.isActive {
        choice.remove(device.path)
        handle(.deviceClosed(path: device.path))
      }
    case .devices(let devices):
      let paths = devices.map(\.path)
      choice.retain(paths)
      handle(.listed(paths: paths))
      for device in devices { assistance.observe(device) }
    case .fix(let report):
      assistance.observe(report)
      assistReceivers()
      let arrival = gathering.arrival(of: report.time, from: report.device ?? "", takenAt: now)
      var fix = assembler.fix(report, at: arrival)
      guard choice.admits(fix) else { return reportRestriction() }
      fix.timestamp = gathering.delivery(of: arrival)
      handle(.reported(device: report.device, isRepeated: choice.isRepeated))
      speeds.observe(fix)
      reportRestriction()
      if thinning.admits(fix.timestamp) { gathered.append(fix) }
      if !gathering.drainsWithoutWaiting { handOver() }
    case .error(let message): handle(.refused(message: message))
    case .version, .other: return
    }
  }

  private var now: Timestamp { Timestamp.now }
}
