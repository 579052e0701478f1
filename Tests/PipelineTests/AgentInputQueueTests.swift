import Pipeline
import Sensors
import Spatial
import Testing

/// Limits of the agent's input queue: each kind of input has its own capacity and cannot displace other kinds.
@Suite struct AgentInputQueueTests {
  private static func sensor(_ number: Int) -> AgentInput {
    .sensor(.barometer([PressureData(timestamp: Timestamp(nanoseconds: Int64(number)), pressure: 1e5)]))
  }

  private static func request(_ number: Int) -> AgentInput {
    .request(RemoteRequest(subject: .command("\(number)"), payload: []))
  }

  /// Returns the kind and number of an input.
  private static func name(_ input: AgentInput) -> String {
    switch input {
    case .sensor(.status(let status)):
      if case .unavailable(let reason) = status.state { "status \(reason)" } else { "status" }
    case .sensor(let event): "sensor \(event.timestamp?.nanoseconds ?? -1)"
    case .request(let request):
      if case .command(let number) = request.subject { "request \(number)" } else { "request" }
    case .link(.connected): "connected"
    case .link(.acknowledged): "acknowledged"
    case .link(.lost(let reason)): "lost \(reason)"
    case .localDemand(let demand): "demand \(demand.interval)"
    case .localMotionDemand(let demand): "motion demand \(demand.heading)"
    case .snapshotRequest: "snapshot"
    case .reload: "reload"
    case .powerFailing: "failing power"
    case .stop: "stop"
    case .tick: "tick"
    }
  }

  private func add(
    _ input: AgentInput, to queue: inout AgentInputQueue, sourceLocation: SourceLocation = #_sourceLocation
  ) {
    let isAccepted = queue.append(input)
    #expect(isAccepted, sourceLocation: sourceLocation)
  }

  private static func drain(_ queue: inout AgentInputQueue) -> [String] {
    var names: [String] = []
    while let input = queue.popFirst() { names.append(name(input)) }
    return names
  }

  @Test func sensorEventFloodDropsOnlyItsOldestEvents() {
    var queue = AgentInputQueue()
    add(Self.request(1), to: &queue)
    add(.link(.lost(reason: "a")), to: &queue)
    for number in 0..<(AgentInputQueue.sensorCapacity + 10) { add(Self.sensor(number), to: &queue) }
    add(.stop, to: &queue)
    #expect(queue.droppedEvents == 10)
    let names = Self.drain(&queue)
    // Kinds are served in turn: a stop waits for at most one sensor block, the other kinds for one more each.
    #expect(Array(names.prefix(6)) == ["sensor 10", "stop", "sensor 11", "request 1", "sensor 12", "lost a"])
    #expect(names.count == AgentInputQueue.sensorCapacity + 3)
    let sensors = names.filter { $0.hasPrefix("sensor") }
    #expect(sensors == (10..<(AgentInputQueue.sensorCapacity + 10)).map { "sensor \($0)" })
  }

  /// A status is sent only once. If it were dropped, a source lost during a flood would remain active.
  @Test func sensorEventFloodDropsNoStatus() {
    var queue = AgentInputQueue()
    let status = SourceStatus(
      timestamp: Timestamp(nanoseconds: 7), source: "s", kinds: [], state: .unavailable(reason: "lost"))
    add(.sensor(.status(status)), to: &queue)
    for number in 0..<(AgentInputQueue.sensorCapacity + 99) { add(Self.sensor(number), to: &queue) }
    #expect(queue.droppedEvents == 100)
    #expect(queue.popFirst().map(Self.name) == "status lost")
    // A flood of statuses is limited, too.
    for _ in 0..<(2 * AgentInputQueue.sensorCapacity) { add(.sensor(.status(status)), to: &queue) }
    #expect(Self.drain(&queue).count == AgentInputQueue.sensorCapacity)
  }

  @Test func newestLocalDemandReplacesEarlierOnes() {
    var queue = AgentInputQueue()
    add(.localDemand(LocalDemand([LocalAccess(.exact)], interval: 1)), to: &queue)
    add(.reload, to: &queue)
    for tenths in 2..<100 { add(.localDemand(LocalDemand(interval: Double(tenths))), to: &queue) }
    #expect(Self.drain(&queue) == ["reload", "demand 99.0"])
  }

  @Test func requestFloodIsRejectedWithoutLossOfSensorEventsOrStop() {
    var queue = AgentInputQueue()
    for number in 0..<5 { add(Self.sensor(number), to: &queue) }
    let accepted = (0..<1000).count { queue.append(Self.request($0)) }
    #expect(accepted == AgentInputQueue.requestCapacity)
    for input in [AgentInput.link(.connected(sessionStart: nil)), .snapshotRequest, .reload, .stop] {
      add(input, to: &queue)
    }
    #expect(queue.droppedEvents == 0)
    let names = Self.drain(&queue)
    #expect(names.firstIndex(of: "stop") == 1)
    #expect(names.lastIndex { $0.hasPrefix("sensor") } == 8)
    #expect(names.suffix(3) == ["connected", "snapshot", "reload"])
    #expect(names.count { $0.hasPrefix("request") } == AgentInputQueue.requestCapacity)
  }

  @Test func requestsAndLinkChangesStayInOrder() {
    var queue = AgentInputQueue()
    let inputs: [AgentInput] = [
      .link(.connected(sessionStart: nil)), Self.request(1), .link(.lost(reason: "x")),
      .link(.connected(sessionStart: nil)), Self.request(2),
    ]
    for input in inputs { add(input, to: &queue) }
    #expect(Self.drain(&queue) == ["connected", "request 1", "lost x", "connected", "request 2"])
  }

  @Test func flappingLinkRetainsNewestChanges() {
    var queue = AgentInputQueue()
    for number in 0..<100 { add(.link(.lost(reason: "\(number)")), to: &queue) }
    #expect(Self.drain(&queue) == (84..<100).map { "lost \($0)" })
  }

  /// A snapshot requested after a reload shows the result of the reload, even if another snapshot request was
  /// already waiting.
  @Test func snapshotRequestsAndReloadsAreQueuedOnceInOrder() {
    var queue = AgentInputQueue()
    for input in [AgentInput.snapshotRequest, .tick, .reload, .tick, .snapshotRequest, .tick] {
      add(input, to: &queue)
    }
    #expect(Self.drain(&queue) == ["tick", "reload", "snapshot"])
    for _ in 0..<3 { add(.stop, to: &queue) }
    #expect(Self.drain(&queue) == ["stop"])
  }
}
