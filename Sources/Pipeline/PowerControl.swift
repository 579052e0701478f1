internal import Motion
internal import Positioning
internal import Sensors
internal import Spatial

/// Demands on the sensors and their energy: passes the state of motion to the planner, and the demands to the
/// ledger.
struct PowerControl: Sendable {
  /// Current demands.
  private(set) var demands: [SensorKind: SensorDemand] = [:]

  private var planner: PowerPlanner
  private var ledger: EnergyLedger
  private var hasNews = true
  private var isChanged = false

  init(figures: EnergyFigures, hasReceiver: Bool, mobility: Mobility = .vehicle) {
    planner = PowerPlanner(mobility: mobility)
    ledger = EnergyLedger(figures: figures, hasReceiver: hasReceiver)
  }

  /// The next time at which `plan` must be called if nothing happens earlier.
  var nextDeadline: Timestamp? { planner.nextDeadline }

  /// Updates the state of receiver and sources from an event.
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

  /// Updates whether the vehicle is at rest after a change; nil if unknown.
  mutating func observe(_ activity: StationaryDetector.State?, since: Timestamp) {
    planner.observe(isAtRest: activity.map { $0 == .stationary }, since: since)
    hasNews = true
  }

  /// Returns whether a new plan is due.
  func isPlanDue(at time: Timestamp) -> Bool {
    hasNews || planner.nextDeadline.map { $0 <= time } ?? false
  }

  /// Makes a new plan.
  mutating func plan(_ needs: PowerNeeds, at time: Timestamp) {
    hasNews = false
    let demands = planner.demands(for: needs, at: time)
    guard demands != self.demands else { return }
    self.demands = demands
    isChanged = true
    ledger.record(demands, at: time)
  }

  /// Marks the plan as outdated.
  mutating func needsChanged() { hasNews = true }

  /// Returns the demands once after each change.
  mutating func drainDemands() -> [SensorKind: SensorDemand]? {
    defer { isChanged = false }
    return isChanged ? demands : nil
  }

  /// Counts delivered messages.
  mutating func observe(messages: Int) { ledger.observe(messages: messages) }

  /// Updates the measured use of processor and radio.
  mutating func observe(_ environment: AgentEnvironment) {
    ledger.processor = environment.processor ?? ledger.processor
    ledger.radio = environment.radio ?? ledger.radio
  }

  func accounts(at time: Timestamp) -> [EnergyComponent: EnergyAccount] { ledger.accounts(at: time) }
}

extension PipelineConfiguration {
  /// Time in s for which samples may be buffered, limited by the interval of the messages that use them.
  /// Below 0.1 s, wakeups cost more than they gain.
  var inertialLatency: Double {
    var latency = inertial.latency
    if heading.isEnabled { latency = min(latency, max(0.1, heading.interval)) }
    if attitude.isEnabled { latency = min(latency, max(0.1, attitude.interval)) }
    return latency
  }
}
