internal import Glibc
internal import LocalProtocols
internal import Platform
internal import Sensors
internal import Spatial

/// The sensors and the position of a running `odographd`, for programs on the same machine.
///
/// A dedicated thread is connected to the agent's socket while the source runs, and sends it the demand of this program. The
/// agent powers its hardware for the union of the demands of all programs. A missing or stopped agent is reported
/// once; the source then retries with a jittered back-off.
final class AgentSource: SensorSource {
  let name: String

  private let address: AgentAddress
  private let thread: ServiceThread
  private let orders = Locked(Orders())
  private let state = Monitor(State())

  /// Demands of other threads.
  fileprivate struct Orders: Sendable {
    var demands: [SensorKind: SensorDemand] = [:]
    /// Time at which the demand on positions was set, from which a duty cycle starts.
    var positionsSince = MonotonicTime.now
  }

  /// State for other threads.
  fileprivate struct State: Sendable {
    /// Sensors of the agent. Before the first connection, the kinds that an agent can provide.
    var kinds = AgentOffer.sampleKinds.union([.positioning])
    /// True after the first answer or failure.
    var isDiscovered = false
  }

  /// - Throws: `SystemError` if no file descriptor is available.
  init(_ address: AgentAddress) throws(SystemError) {
    self.address = address
    name = address.description
    thread = try ServiceThread()
  }

  var kinds: Set<SensorKind> { state.withLock { $0.kinds } }

  func start(_ sink: @escaping SensorSink) throws {
    try thread.start(name: "agent client") { [address, thread, orders, state] heartbeat in
      var worker = AgentWorker(address, state: state, sink: sink)
      while !thread.isStopping {
        heartbeat.beat()
        worker.work(orders.withLock { $0 }, wake: thread.wake)
      }
    }
  }

  func setDemand(_ demand: SensorDemand, for kind: SensorKind) {
    let isChanged = orders.withLock { orders in
      guard orders.demands[kind] ?? .off != demand else { return false }
      orders.demands[kind] = demand
      if kind == .positioning { orders.positionsSince = .now }
      return true
    }
    if isChanged { thread.wake.signal() }
  }

  func waitForDiscovery(seconds: Double) {
    _ = state.wait(until: .after(max(0, min(seconds, 3600)))) { $0.isDiscovered ? () : nil }
  }

  func stop() { thread.stop() }
}

/// The work of an `AgentSource`'s thread.
private struct AgentWorker {
  private let address: AgentAddress
  private let state: Monitor<AgentSource.State>
  private let sink: SensorSink
  private var connection: AgentConnection?
  private var backoff = Backoff(floor: 0.2, base: 0.5, limit: 10)
  private var retryAt = MonotonicTime.start
  /// The last request of this connection; nil before the first.
  private var request: AgentRequest?
  private var offer: AgentOffer?
  /// The state of each kind of sensor that was reported last.
  private var reported: [SensorKind: Reported] = [:]

  private struct Reported: Equatable {
    var state: SourceStatus.State
    var access: PositionAccess?
  }

  init(_ address: AgentAddress, state: Monitor<AgentSource.State>, sink: @escaping SensorSink) {
    (self.address, self.state, self.sink) = (address, state, sink)
  }

  /// Connects if necessary, sends changed demands, and waits once for data, a deadline or a signal.
  mutating func work(_ orders: AgentSource.Orders, wake: EventDescriptor) {
    if connection == nil, retryAt.hasPassed { connect() }
    let cycle = DutyPhase(orders)
    if connection != nil {
      send(orders, isPositionWanted: cycle.isOn)
      report(orders)
    }
    var entries = [pollfd(fd: wake.descriptor, events: Int16(POLLIN), revents: 0)]
    if let connection { entries.append(pollfd(fd: connection.descriptor, events: Int16(POLLIN), revents: 0)) }
    let deadline = connection == nil ? retryAt : cycle.end
    // Rounded up: an early wakeup would only poll again.
    let left = deadline.map { max(0, min($0.secondsRemaining * 1000, 86_400_000)) + 1 }
    guard unsafe poll(&entries, nfds_t(entries.count), Int32(left ?? -1)) > 0 else { return }
    if entries[0].revents != 0 { wake.drain() }
    if entries.count > 1, entries[1].revents != 0 { receive() }
  }

  private mutating func connect() {
    do throws(SystemError) {
      connection = AgentConnection(try LocalSocket.connect(to: address.path))
    } catch {
      let isDenied = error.code == EACCES || error.code == EPERM
      let remedy =
        isDenied
        ? "add this user to the socket's group (gpsd_server.socket_group)"
        : "start odographd with gpsd_server.socket = \"\(address.path)\""
      disconnect("\(error); \(remedy)", isDenied ? .denied : .undetermined)
    }
  }

  /// Closes the connection, reports the reason, and plans the next attempt.
  private mutating func disconnect(_ reason: String, _ access: PositionAccess) {
    (connection, request, offer) = (nil, nil, nil)
    retryAt = .after(backoff.next())
    for kind in state.withLock({ $0.kinds }) { tell(kind, .unavailable(reason: reason), access) }
    state.update { $0.isDiscovered = true }
  }

  private mutating func send(_ orders: AgentSource.Orders, isPositionWanted: Bool) {
    var new = AgentRequest(
      samples: orders.demands.filter { AgentOffer.sampleKinds.contains($0.key) && $0.value.isOn })
    for case (let kind, .dutyCycle) in new.samples {
      new.samples[kind] = .rate(hertz: 1, latency: .seconds(1))
    }
    if isPositionWanted {
      new.interval = 1
      if case .rate(let hertz, _)? = orders.demands[.positioning] { new.interval = 1 / max(hertz, 0.01) }
    }
    guard new != request else { return }
    guard connection?.send(new.bytes) == true else {
      return disconnect("\(address) has closed the connection", .undetermined)
    }
    request = new
  }

  private mutating func receive() {
    switch connection?.receive() ?? .closed {
    case .reports(let reports):
      for report in reports {
        switch report {
        case .offer(let new):
          backoff.reset()
          offer = new
          state.update { $0.kinds = new.sensors.union([.positioning]) }
        case .event(let event): sink(event)
        }
      }
    case .failed(let reason): disconnect("\(address): \(reason)", .undetermined)
    case .closed: disconnect("\(address) has closed the connection", .undetermined)
    }
  }

  /// Reports the state of each sensor, if it has changed.
  private mutating func report(_ orders: AgentSource.Orders) {
    guard let offer else { return }
    let isOn = orders.demands[.positioning]?.isOn ?? false
    for kind in AgentOffer.sampleKinds {
      if !offer.sensors.contains(kind) {
        let reason = offer.access == .exact ? "has no \(kind.rawValue)" : "permits this program no samples"
        tell(kind, .unavailable(reason: "\(address) \(reason)"), nil)
      } else if case .rate(let hertz, _)? = orders.demands[kind] {
        tell(kind, .active(rates: [kind: hertz]), nil)
      } else {
        tell(kind, .idle, nil)
      }
    }
    // The access is reported last, because it counts as a discovery.
    if offer.access == .denied {
      let reason = "\(address) permits this program no positions; set gpsd_server.access"
      tell(.positioning, .unavailable(reason: reason), .denied)
    } else if !offer.isLocationEnabled {
      tell(.positioning, .unavailable(reason: "\(address) has location.enabled = false"), .denied)
    } else {
      tell(.positioning, isOn ? .active(rates: [.positioning: 1]) : .idle, offer.access)
    }
    // The discovery ends after the states above were reported.
    state.update { $0.isDiscovered = true }
  }

  /// Reports a state unless it was the last one reported. Each kind is a source of its own, because the states of the
  /// kinds differ.
  private mutating func tell(
    _ kind: SensorKind, _ new: SourceStatus.State, _ access: PositionAccess?
  ) {
    let access = kind == .positioning ? access : nil
    let status = Reported(state: new, access: access)
    guard reported[kind] != status else { return }
    reported[kind] = status
    sink(
      .status(
        SourceStatus(
          timestamp: .now, source: kind == .positioning ? "\(address)" : "\(address) (\(kind.rawValue))",
          kinds: [kind], state: new, access: access)))
  }
}

/// The current phase of the demand on positions.
private struct DutyPhase {
  let isOn: Bool
  /// End of the phase; nil if it does not end.
  let end: MonotonicTime?

  init(_ orders: AgentSource.Orders) {
    switch orders.demands[.positioning] ?? .off {
    case .off: (isOn, end) = (false, nil)
    case .rate(let hertz, _): (isOn, end) = (hertz > 0, nil)
    case .dutyCycle(let on, let period):
      let cycle = DutyCycle(on: on, period: period)
      let elapsed = MonotonicTime.now.nanoseconds - orders.positionsSince.nanoseconds
      isOn = cycle.isOn(nanosecondsSinceStart: elapsed)
      end = cycle.endOfPhase(nanosecondsSinceStart: elapsed).map {
        MonotonicTime(nanoseconds: orders.positionsSince.nanoseconds + $0)
      }
    }
  }
}

/// A connection to an agent.
private final class AgentConnection {
  let descriptor: Int32
  private var reader = AgentReader()

  enum Outcome {
    case reports([AgentReader.Report])
    case failed(reason: String)
    case closed
  }

  /// - Parameter descriptor: a connected, non-blocking socket, which this connection closes.
  init(_ descriptor: Int32) { self.descriptor = descriptor }

  deinit { close(descriptor) }

  /// Returns whether the agent has accepted a request. Requests are short, so that a connection that does not accept one
  /// is broken.
  func send(_ bytes: [UInt8]) -> Bool {
    let sent = retryingOnInterrupt {
      Int32(unsafe Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)))
    }
    return Int(sent) == bytes.count
  }

  /// Reads the available bytes.
  func receive() -> Outcome {
    var buffer = [UInt8](repeating: 0, count: 16_384)
    let count = unsafe recv(descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT))
    if count < 0, errno == EAGAIN || errno == EINTR { return .reports([]) }
    guard count > 0 else { return .closed }
    do throws(AgentReader.Failure) {
      return .reports(try reader.receive(buffer[..<count], at: .now))
    } catch {
      return .failed(reason: error.reason)
    }
  }
}
