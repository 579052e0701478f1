package import Fleet

/// How much an alert matters.
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

/// What makes an alert, of which vehicles, and who is told.
package struct AlertRule: Hashable, Sendable {
  /// What has to hold of a vehicle. What is compared has two limits: one beyond which it holds, and one at which it no longer does.
  package enum Condition: Hashable, Sendable {
    /// The vehicle said that it leaves, its connection ended without a word, or it sleeps and is overdue.
    case offline
    /// Share, 0 ... 1.
    case battery(below: Double, until: Double)
    /// Identifiers of regions; none stands for all.
    case entered([String])
    case left([String])
    /// Names of driving, motion and location events; none stands for all.
    case event([String])
    /// m/s.
    case speed(above: Double, until: Double)
    /// Messages that wait in the vehicle, and have not become fewer.
    case queue(above: Double, until: Double)
    /// Metres at 68 %; a vehicle that says that it has no position is worse than any.
    case accuracy(above: Double, until: Double)
    /// What traces are kept for; none stands for all.
    case trace([String])

    /// The word of it in the configuration.
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

  /// As in the configuration: `[rules.NAME]`.
  package var name: String
  package var condition: Condition
  /// None stands for all, in each of the three; a vehicle is named `FLEET/VEHICLE`.
  package var fleets: Set<String> = []
  package var vehicles: Set<VehicleKey> = []
  package var states: Set<VehicleState> = []
  /// Seconds for which it has to hold until there is an alert, and has not to hold until the alert has ended.
  package var duration = 0.0
  package var hold = 0.0
  package var severity = Severity.warning
  /// When nobody is told; nil for never.
  package var quiet: QuietHours?
  /// Seconds in which alerts of several vehicles become one message; 0 tells each at once.
  package var group = 0.0
  /// Names of receivers; none stands for all.
  package var receivers: [String] = []

  package init(name: String, condition: Condition) { (self.name, self.condition) = (name, condition) }

  /// Whether a vehicle is among those that it is about, in whatever state.
  package func covers(_ key: VehicleKey) -> Bool {
    if fleets.isEmpty && vehicles.isEmpty { return true }
    return fleets.contains(key.fleet) || vehicles.contains(key)
  }
}
