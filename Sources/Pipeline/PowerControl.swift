internal import Motion
internal import Positioning
internal import Sensors
internal import Spatial
internal import Telemetry

/// Determines the demands on the sensors, and accounts for the energy they use. Passes states of motion and
/// sources to the planner, and demands to the energy ledger.
struct PowerControl: PipelinePart {
  /// Current demand for each kind of sensor.
  private(set) var demands: [SensorKind: SensorDemand] = [:]

  private var planner: PowerPlanner
  private var ledger: EnergyLedger
  private var isChanged = false
  /// Sample rates in Hz of the raw samples that a command has requested, by kind of sensor.
  var rawRates: [SensorKind: Double] = [:]

  init(figures: EnergyFigures, hasReceiver: Bool, mobility: Mobility = .vehicle) {
    planner = PowerPlanner(mobility: mobility)
    ledger = EnergyLedger(figures: figures, hasReceiver: hasReceiver)
  }

  mutating func reconfigure(from old: PipelineConfiguration, _ context: inout PipelineContext) {
    planner.mobility = Mobility(context.configuration.location.activity)
    context.isPlanOutdated = true
  }

  /// The next time at which `plan` must be called if nothing happens earlier.
  func nextDeadline(_ context: PipelineContext) -> Timestamp? { planner.nextDeadline }

  /// Updates the states of receiver and sources with an event.
  mutating func observe(_ event: SensorEvent, _ context: inout PipelineContext) {
    switch event {
    case .position(let fixes):
      context.isPlanOutdated = true
      ledger.observe(fixes: fixes.count)
    case .status(let status): ledger.observe(status)
    case .radio(let scans): ledger.observe(scans)
    case .inertial, .barometer, .vehicle: break
    }
  }

  mutating func observe(_ change: ActivityChange, _ context: inout PipelineContext) {
    planner.observe(isAtRest: change.isAtRest, since: change.since)
    context.isPlanOutdated = true
  }

  /// Adds the raw samples that a command has requested.
  func add(to needs: inout PowerNeeds, _ context: PipelineContext) {
    for (kind, rate) in rawRates {
      let latency = min(context.configuration.inertialLatency, 0.5)
      let wanted = SensorDemand.rate(hertz: rate, latency: .seconds(latency))
      for demands in [\PowerNeeds.inertial, \.restless] {
        if case .rate(let usual, _)? = needs[keyPath: demands][kind], usual >= rate { continue }
        needs[keyPath: demands][kind] = wanted
      }
    }
  }

  /// Returns whether `plan` must be called.
  func isPlanDue(at time: Timestamp, _ context: PipelineContext) -> Bool {
    context.isPlanOutdated || planner.nextDeadline.map { $0 <= time } ?? false
  }

  /// Makes a new plan.
  mutating func plan(_ needs: PowerNeeds, at time: Timestamp, _ context: inout PipelineContext) {
    context.isPlanOutdated = false
    let demands = planner.demands(for: needs, at: time)
    guard demands != self.demands else { return }
    self.demands = demands
    isChanged = true
    ledger.record(demands, at: time)
  }

  /// Returns the current demands if they changed since the last call; nil if unchanged.
  mutating func drainDemands() -> [SensorKind: SensorDemand]? {
    defer { isChanged = false }
    return isChanged ? demands : nil
  }

  /// Counts messages that were delivered, for the energy account.
  mutating func observe(messages: Int) { ledger.observe(messages: messages) }

  /// Updates the energy account with the measured use of processor and radio.
  mutating func observe(_ environment: AgentEnvironment) {
    ledger.processor = environment.processor ?? ledger.processor
    ledger.radio = environment.radio ?? ledger.radio
  }

  func accounts(at time: Timestamp) -> [EnergyComponent: EnergyAccount] { ledger.accounts(at: time) }
}

extension PipelineConfiguration {
  /// Time in s for which inertial samples may be buffered in the kernel. It is limited by the interval of the
  /// messages that use them. Below 0.1 s, wakeups would cost more energy than the shorter delay is worth.
  var inertialLatency: Double {
    var latency = inertial.latency
    if heading.isEnabled { latency = min(latency, max(0.1, heading.interval)) }
    if attitude.isEnabled { latency = min(latency, max(0.1, attitude.interval)) }
    return latency
  }
}
