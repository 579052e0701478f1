package import Fleet

/// The severity of an alert.
package enum Severity: String, Hashable, Sendable, CaseIterable, Comparable {
  case info, warning, critical

  package static func < (a: Self, b: Self) -> Bool { a.rank < b.rank }

  private var rank: Int {
    switch self {
    case .info: 0
    case .warning: 1
    case .critical: 2
    }
  }
}

/// A rule: a condition, the vehicles that it covers, and the receivers of its alerts.
package struct AlertRule: Hashable, Sendable {
  /// The condition of a rule. Values have two limits: one beyond which the condition is satisfied, and one at
  /// which it ends.
  package enum Condition: Hashable, Sendable {
    /// The vehicle signed off, its connection was lost, or it is asleep and overdue.
    case offline
    /// The battery charge, 0 ... 1.
    case battery(below: Double, until: Double)
    /// The identifiers of regions; empty for all.
    case entered([String])
    case left([String])
    /// The names of driving, motion and location events; empty for all.
    case event([String])
    /// The speed in m/s.
    case speed(above: Double, until: Double)
    /// The number of messages that wait in the vehicle and do not decrease.
    case queue(above: Double, until: Double)
    /// The 68 % accuracy in m; a vehicle without a position exceeds any limit.
    case accuracy(above: Double, until: Double)
    /// The causes of traces; empty for all.
    case trace([String])

    /// The keyword in the configuration.
    package var kind: Kind {
      switch self {
      case .offline: .offline
      case .battery: .battery
      case .entered: .entered
      case .left: .left
      case .event: .event
      case .speed: .speed
      case .queue: .queue
      case .accuracy: .accuracy
      case .trace: .trace
      }
    }
  }

  package enum Kind: String, Hashable, Sendable, CaseIterable {
    case offline, battery, entered, left, event, speed, queue, accuracy, trace
  }

  /// The name in the configuration: `[rules.NAME]`.
  package var name: String
  package var condition: Condition
  /// The fleets, vehicles (`FLEET/VEHICLE`) and states that the rule covers; an empty set covers all.
  package var fleets: Set<String> = []
  package var vehicles: Set<VehicleKey> = []
  package var states: Set<VehicleState> = []
  /// The seconds for which the condition must be satisfied to start an alert, and not satisfied to end it.
  package var duration = 0.0
  package var hold = 0.0
  package var severity = Severity.warning
  /// The quiet hours; nil for none.
  package var quiet: QuietHours?
  /// The seconds within which alerts of several vehicles are combined in one message; 0 reports each
  /// immediately.
  package var group = 0.0
  /// The names of receivers; empty for all.
  package var receivers: [String] = []

  package init(name: String, condition: Condition) { (self.name, self.condition) = (name, condition) }

  /// Returns whether the rule covers a vehicle, regardless of its state.
  package func covers(_ key: VehicleKey) -> Bool {
    if fleets.isEmpty && vehicles.isEmpty { return true }
    return fleets.contains(key.fleet) || vehicles.contains(key)
  }
}
