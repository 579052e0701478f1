package import Sensors

/// The accuracy and privacy of the positions that a program on this machine receives.
package struct LocalAccess: Hashable, Sendable {
  package enum Accuracy: String, Hashable, Sendable, CaseIterable {
    /// Positions with full accuracy, speed, course, attitude and satellites.
    case exact
    /// Positions at Core Location's reduced accuracy: a cell of some kilometres.
    case reduced
    /// No positions. The program is connected to a receiver without a fix.
    case none
  }

  package enum Privacy: String, Hashable, Sendable, CaseIterable {
    /// Privacy zones and `privacy.accuracy` apply as to published positions.
    case apply
    case ignore
  }

  package var accuracy: Accuracy
  package var privacy: Privacy

  package init(_ accuracy: Accuracy, privacy: Privacy = .apply) {
    self.accuracy = accuracy
    self.privacy = privacy
  }
}

/// The combined requirements of all programs on this machine that receive positions from the agent.
package struct LocalDemand: Hashable, Sendable {
  /// Different accesses of the programs. Access without positions is not included.
  package var accesses: Set<LocalAccess>
  /// Shortest requested interval in s between reports.
  package var interval: Double
  /// True if a program with exact positions uses the attitude.
  package var attitude: Bool
  /// Number of programs that have requested positions since the start. A new one receives the known position
  /// immediately.
  package var arrivals: Int

  /// Demands of Swift programs on inertial sensors and barometer.
  package var samples: [SensorKind: SensorDemand] = [:]

  /// - Parameter accesses: accesses of the programs; empty if none is connected.
  package init(
    _ accesses: Set<LocalAccess> = [], interval: Double = 1, attitude: Bool = false, arrivals: Int = 0
  ) {
    self.accesses = accesses.filter { $0.accuracy != .none }
    (self.interval, self.attitude, self.arrivals) = (interval, attitude, arrivals)
  }

  /// True if a program receives exact positions.
  var isExact: Bool { accesses.contains { $0.accuracy == .exact } }
}

/// The data that the agent can provide to programs on this machine.
package struct LocalSources: Hashable, Sendable {
  /// Inertial sensors and barometer, including sleeping ones.
  package var sensors: Set<SensorKind>
  package var isLocationEnabled: Bool

  package init(sensors: Set<SensorKind> = [], isLocationEnabled: Bool = true) {
    (self.sensors, self.isLocationEnabled) = (sensors, isLocationEnabled)
  }
}
