internal import Motion
internal import Positioning
internal import Sensors
internal import Spatial

/// What the agent demands of its sensors, and what that costs: feeds the planner with what is known of motion and the
/// ledger with what became of the demands.
struct PowerControl: Sendable {
  /// What is demanded at present.
  private(set) var demands: [SensorKind: SensorDemand] = [:]

  private var planner: PowerPlanner
  private var ledger: EnergyLedger
  private var hasNews = true
  private var isChanged = false

  init(figures: EnergyFigures, hasReceiver: Bool, mobility: Mobility = .vehicle) {
    planner = PowerPlanner(mobility: mobility)
    ledger = EnergyLedger(figures: figures, hasReceiver: hasReceiver)
  }

  /// When `plan` has something to do, if nothing happens before.
  var nextDeadline: Timestamp? { planner.nextDeadline }

  /// Learns what an event says of the receiver and of the sources.
  mutating func observe(_ event: SensorEvent) {
    switch event {
    case .position(let fixes):
      hasNews = true
      ledger.observe(fixes: fixes.count)
    case .status(let status): ledger.observe(status)
    case .radio(let scans): ledger.observe(scans)
    case .inertial, .barometer, .vehicle: break
    }
  }

  /// Learns whether the vehicle rests, when that changes; nil when nobody can tell any more.
  mutating func observe(_ activity: StationaryDetector.State?, since: Timestamp) {
    planner.observe(isAtRest: activity.map { $0 == .stationary }, since: since)
    hasNews = true
  }

  /// Whether something has happened, or it is time.
  func isPlanDue(at time: Timestamp) -> Bool {
    hasNews || planner.nextDeadline.map { $0 <= time } ?? false
  }

  /// Decides anew.
  mutating func plan(_ needs: PowerNeeds, at time: Timestamp) {
    hasNews = false
    let demands = planner.demands(for: needs, at: time)
    guard demands != self.demands else { return }
    self.demands = demands
    isChanged = true
    ledger.record(demands, at: time)
  }

  /// Marks the plan stale.
  mutating func needsChanged() { hasNews = true }

  /// The demands, once after each change.
  mutating func drainDemands() -> [SensorKind: SensorDemand]? {
    defer { isChanged = false }
    return isChanged ? demands : nil
  }

  /// Counts messages that leave.
  mutating func observe(messages: Int) { ledger.observe(messages: messages) }

  /// Adopts the measured use of the processor and the radio.
  mutating func observe(_ environment: AgentEnvironment) {
    ledger.processor = environment.processor ?? ledger.processor
    ledger.radio = environment.radio ?? ledger.radio
  }

  func accounts(at time: Timestamp) -> [EnergyComponent: EnergyAccount] { ledger.accounts(at: time) }
}

extension PipelineConfiguration {
  /// Seconds that samples may wait for others: no longer than it takes to the next message that is made of them. Below a
  /// tenth of a second, wakeups cost more than a message is worth.
  var inertialLatency: Double {
    var latency = inertial.latency
    if heading.isEnabled { latency = min(latency, max(0.1, heading.interval)) }
    if attitude.isEnabled { latency = min(latency, max(0.1, attitude.interval)) }
    return latency
  }
}
