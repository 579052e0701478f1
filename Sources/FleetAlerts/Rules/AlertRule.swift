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

/// A rule: a condition, the vehicles to which it applies, and the receivers of its alerts.
package struct AlertRule: Hashable, Sendable {
  /// The condition of a rule. A condition on a value has two limits: beyond `above` or `below` it is
  /// satisfied, and at `until` it ends.
  package enum Condition: Hashable, Sendable {
    /// The vehicle has disconnected, its connection was lost, or it is asleep and overdue.
    case offline
    /// No message of the vehicle has arrived for the rule's duration. A vehicle that is asleep is not silent before
    /// its announced contact.
    case silent
    /// The battery charge is too low, 0 ... 1.
    case battery(below: Double, until: Double)
    /// The vehicle has entered one of these regions; empty for all regions.
    case entered([String])
    /// The vehicle has left one of these regions; empty for all regions.
    case left([String])
    /// One of these driving, motion or location events has occurred; empty for all events.
    case event([String])
    /// The speed in m/s is too high.
    case speed(above: Double, until: Double)
    /// The number of messages in the vehicle's queue is too large, and not decreasing.
    case queue(above: Double, until: Double)
    /// The 68 % accuracy in m is too poor; a vehicle without a position exceeds every limit.
    case accuracy(above: Double, until: Double)
    /// The vehicle has recorded a trace with one of these causes; empty for all causes.
    case trace([String])

    /// The name of the condition in the configuration.
    package var kind: Kind {
      switch self {
      case .offline: .offline
      case .silent: .silent
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
    case offline, silent, battery, entered, left, event, speed, queue, accuracy, trace
  }

  /// The name in the configuration: `[rules.NAME]`.
  package var name: String
  package var condition: Condition
  /// The fleets to whose vehicles the rule applies. If `fleets` and `vehicles` are empty, it applies to all
  /// vehicles.
  package var fleets: Set<String> = []
  /// Single vehicles to which the rule applies, in addition to those of `fleets`.
  package var vehicles: Set<VehicleKey> = []
  /// The vehicle states in which the rule applies; empty for all states.
  package var states: Set<VehicleState> = []
  /// The time in s for which the condition must be satisfied before an alert starts.
  package var duration = 0.0
  /// The time in s for which the condition must not be satisfied before the alert ends.
  package var hold = 0.0
  package var severity = Severity.warning
  /// The quiet hours, in which no alerts are reported; nil for none.
  package var quiet: QuietHours?
  /// The time in s for which alerts of several vehicles are collected in one message; 0 reports each alert
  /// immediately.
  package var group = 0.0
  /// The names of the receivers of the rule's alerts; empty for all receivers.
  package var receivers: [String] = []

  package init(name: String, condition: Condition) { (self.name, self.condition) = (name, condition) }

  /// Returns whether the rule applies to a vehicle, regardless of the vehicle's state.
  package func covers(_ key: VehicleKey) -> Bool {
    if fleets.isEmpty && vehicles.isEmpty { return true }
    return fleets.contains(key.fleet) || vehicles.contains(key)
  }
}
