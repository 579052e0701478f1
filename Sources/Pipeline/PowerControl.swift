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
  private var detector = StationaryDetector()
  private var hasNews = true
  private var isChanged = false

  init(figures: EnergyFigures, mobility: Mobility = .vehicle) {
    planner = PowerPlanner(mobility: mobility)
    ledger = EnergyLedger(figures: figures)
  }

  /// When `plan` has something to do, if nothing happens before.
  var nextDeadline: Timestamp? { planner.nextDeadline }

  /// Learns what an event says of motion, of the receiver and of the sources.
  mutating func observe(_ event: SensorEvent) {
    switch event {
    case .accelerometer(let block):
      for sample in block {
        observe(motion: detector.process(acceleration: sample.acceleration, at: sample.timestamp))
      }
    case .gyroscope(let block):
      for sample in block {
        observe(motion: detector.process(rotationRate: sample.rotationRate, at: sample.timestamp))
      }
    case .position: hasNews = true
    case .status(let status):
      ledger.note(status)
      // Without an accelerometer nobody sees the end of a rest.
      if case .unavailable = status.state, status.kinds.contains(.accelerometer) {
        detector = StationaryDetector()
        planner.note(isAtRest: nil, since: status.timestamp)
        hasNews = true
      }
    case .magnetometer, .barometer, .thermometer: break
    }
  }

  private mutating func observe(motion state: StationaryDetector.State?) {
    guard let state, let since = detector.since else { return }
    planner.note(isAtRest: state == .stationary, since: since)
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
    ledger.note(demands, at: time)
  }

  /// Marks the plan stale.
  mutating func needsChanged() { hasNews = true }

  /// The demands, once after each change.
  mutating func drainDemands() -> [SensorKind: SensorDemand]? {
    defer { isChanged = false }
    return isChanged ? demands : nil
  }

  /// Takes over what was measured of the processor and the radio.
  mutating func observe(_ environment: AgentEnvironment) {
    ledger.processor = environment.processor ?? ledger.processor
    ledger.radio = environment.radio ?? ledger.radio
  }

  func accounts(at time: Timestamp) -> [EnergyComponent: EnergyAccount] { ledger.accounts(at: time) }
}
