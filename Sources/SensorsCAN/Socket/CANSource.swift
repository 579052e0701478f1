internal import Glibc
internal import Platform
public import Sensors
internal import Spatial

/// A live CAN bus of this machine.
///
/// A dedicated thread reads the frames that pass the kernel's filters and delivers readings, at most twenty
/// times a second. If an interface is missing, goes down or is unplugged, it reports this once with a remedy,
/// and retries every five seconds. A silent bus causes no wakeups.
///
/// Nothing is ever sent unless the configuration enables OBD-II; then `OBDRequester` decides. Demands do not
/// apply to a bus.
public final class CANSource: SensorSource {
  public let name: String
  public let kinds: Set<SensorKind> = []

  private let worker: CANWorker.Plan
  private let thread: ServiceThread

  /// - Throws: `SourceError` for a DBC file that is unreadable or lacks a requested signal, `SystemError` if no
  ///   file descriptor is available. A missing interface is not an error.
  public convenience init(_ bus: CANBus) throws {
    try self.init(bus) { filters throws(SourceError) in
      try CANSocket(interface: bus.interface, filters: filters)
    }
  }

  /// - Parameter open: creates the socket, for tests.
  init(
    _ bus: CANBus,
    open: @escaping @Sendable ([CANFilter]) throws(SourceError) -> CANSocket
  ) throws {
    name = "can:\(bus.interface)"
    worker = CANWorker.Plan(bus: bus, decoder: try CANDecoder(bus.configuration), open: open)
    thread = try ServiceThread()
  }

  /// Starts the thread. Further calls have no effect.
  /// - Throws: `SystemError` if no thread can be created.
  public func start(_ sink: @escaping SensorSink) throws {
    try thread.start(name: "can") { [self] in run(sink, $0) }
  }

  public func setDemand(_ demand: SensorDemand, for kind: SensorKind) {}

  public func stop() { thread.stop() }

  private func run(_ sink: @escaping SensorSink, _ heartbeat: Heartbeat) {
    var worker = CANWorker(worker, wake: thread.wake, sink: sink)
    while !thread.isStopping {
      heartbeat.beat()
      worker.work()
    }
  }
}

/// The work of a `CANSource`'s thread.
struct CANWorker: ~Copyable {
  struct Plan: Sendable {
    var bus: CANBus
    var decoder: CANDecoder
    var open: @Sendable ([CANFilter]) throws(SourceError) -> CANSocket
  }

  private let plan: Plan
  private let wake: EventDescriptor
  private let sink: SensorSink
  private var decoder: CANDecoder
  private var requester: OBDRequester?
  private var surroundings: BusSurroundings
  private var socket: CANSocket?
  private var reported: SourceStatus.State?

  /// Interval in s between attempts to open a missing interface.
  private static let retryInterval = 5.0
  /// Time in s for which frames are collected, so that a busy bus does not keep the processor awake.
  private static let gatherInterval = 0.05

  init(_ plan: Plan, wake: EventDescriptor, sink: @escaping SensorSink) {
    self.plan = plan
    self.wake = wake
    self.sink = sink
    decoder = plan.decoder
    requester = plan.decoder.requester
    surroundings = BusSurroundings(interface: plan.bus.interface, voltageFile: plan.bus.voltageFile)
  }

  /// Opens the bus if necessary, reads the available frames, and waits for more.
  mutating func work() {
    do throws(SourceError) {
      if socket == nil {
        socket = try plan.open(decoder.filters)
        report(.active(rates: [:]))
      }
      try serve()
    } catch {
      socket = nil
      report(.unavailable(reason: "\(error)"))
      // Without an interface, the bus is as silent as without frames: derived signals end.
      passTime()
      let left = decoder.nextDeadline.map { max(0, $0.seconds(since: now)) + 0.001 }
      _ = wake.wait(seconds: min(Self.retryInterval, left ?? .infinity))
    }
  }

  private mutating func passTime() {
    let passed = decoder.advance(to: now)
    if !passed.isEmpty { sink(.vehicle(passed)) }
  }

  private mutating func serve() throws(SourceError) {
    try takeFrames()
    passTime()
    try request()
    guard let descriptor = socket?.descriptor else { return }
    switch waitUntilReadable([descriptor, wake.descriptor], seconds: secondsLeft) {
    case wake.descriptor: wake.drain()
    case nil: break
    default:
      // While an answer is pending, each frame may be the answer.
      if requester?.isWaiting != true { _ = wake.wait(seconds: Self.gatherInterval) }
    }
  }

  /// Time in s until something is due; nil for no limit.
  private var secondsLeft: Double? {
    let due = [decoder.nextDeadline, requester?.nextDeadline].compactMap { $0 }.min()
    let left = due.map { max(0, $0.seconds(since: now)) + 0.001 }
    return requester == nil ? left : min(left ?? .infinity, BusSurroundings.interval)
  }

  private mutating func takeFrames() throws(SourceError) {
    var readings: [VehicleReading] = []
    // The number of frames per call is limited, so that the thread also advances time and sends requests on a
    // busy bus.
    for _ in 0..<1024 {
      guard case .some(let received) = try socket?.receive() else { break }
      if case .nothing = received { break }
      guard case .frame(let frame, let stamp) = received else { continue }
      if let error = CANBusError(frame) {
        observe(error)
        continue
      }
      if case .unavailable? = reported { report(.active(rates: [:])) }
      readings += try take(frame, at: time(of: stamp))
    }
    if !readings.isEmpty { sink(.vehicle(readings)) }
  }

  private mutating func take(_ frame: CANFrame, at time: Timestamp) throws(SourceError) -> [VehicleReading] {
    let decoding = decoder.decode(frame, at: time)
    if requester != nil {
      if let answer = decoding.answer { requester?.observe(answer, at: time) }
      // If no request is pending, the long answer is for another device, which must send the flow control
      // itself.
      if let reply = decoding.reply, requester?.isWaiting == true { try send(reply) }
      let isAnswer = plan.bus.configuration.diagnostics?.answers.admits(frame.identifier) ?? false
      surroundings.observe(isAnswer: isAnswer, at: time)
      if !isAnswer, decoding.readings.contains(where: Self.showsRunning) {
        requester?.observeRunning(at: time)
      }
    }
    return decoding.readings
  }

  private static func showsRunning(_ reading: VehicleReading) -> Bool {
    guard case .number(let number)? = reading.value else { return false }
    return reading.path == VehicleSignal.engineSpeed && number >= OBDRequester.idleSpeed
  }

  private mutating func request() throws(SourceError) {
    guard requester != nil else { return }
    let now = now
    surroundings.look(at: now)
    let (isAwake, voltage) = (surroundings.isBusAwake(at: now), surroundings.voltage)
    let frame = requester?.advance(to: now, isBusAwake: isAwake, voltage: voltage)
    decoder.observe(requestInterval: requester?.requestInterval ?? 0)
    if let frame { try send(frame) }
  }

  private mutating func send(_ frame: CANFrame) throws(SourceError) {
    try socket?.send(frame)
    surroundings.observeSent()
  }

  private mutating func observe(_ error: CANBusError) {
    switch error {
    case .busOff:
      report(
        .unavailable(
          reason:
            "\(plan.bus.interface): the controller is off the bus after too many errors; check the bit rate and the "
            + "wiring, and let it restart automatically (ip link set \(plan.bus.interface) type can restart-ms 100)"
        ))
    case .errorPassive:
      report(
        .unavailable(
          reason:
            "\(plan.bus.interface): the controller sees only errors; check the bit rate, the wiring and the terminators"
        ))
    case .restarted: report(.active(rates: [:]))
    }
  }

  /// Reports each change once.
  private mutating func report(_ state: SourceStatus.State) {
    guard state != reported else { return }
    reported = state
    sink(.status(SourceStatus(timestamp: now, source: "can:\(plan.bus.interface)", kinds: [], state: state)))
  }

  private var now: Timestamp { Timestamp.now }

  /// Converts the kernel's civil time of a frame to the boot clock, which the other sensors use.
  private func time(of stamp: UTCTime?) -> Timestamp {
    let (now, civil) = (Timestamp.now, UTCTime.now)
    // A frame without a stamp, or with one from before a change of the civil clock, gets the current time.
    guard let stamp, case let age = civil.seconds(since: stamp), (0...10).contains(age) else { return now }
    return now.advanced(bySeconds: -age)
  }
}
