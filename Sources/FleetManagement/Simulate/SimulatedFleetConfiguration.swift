package import Fleet

extension SimulatedFleet {
  /// The settings of a simulated fleet.
  package struct Configuration: Sendable {
    /// The topic prefix of all fleets.
    package var root: String
    /// The number of vehicles of all parts together.
    package var vehicles = 10
    package var fleet = "simulation"
    /// The prefix of the vehicles' names, before the number.
    package var prefix = "sim-"
    /// The first vehicle's number.
    package var first = 1
    /// The number of connections that the vehicles share.
    package var connections = 1
    /// The locations of each vehicle per second.
    package var rate = 1.0
    /// The headings and attitudes of each vehicle per second.
    package var liveRate = 0.0
    /// The speed factor relative to real time.
    package var speed = 1.0
    /// The mean number of motion events of each vehicle per hour.
    package var eventsPerHour = 6.0
    /// The connection losses of each vehicle per hour.
    package var outagesPerHour = 0.0
    /// The duration of a connection loss in seconds.
    package var outageSeconds = 60.0
    /// The quality of service of locations: 0 or 1.
    package var qos: UInt8 = 1
    /// The seed of positions, noise, events and outages.
    package var seed: UInt64 = 1
    /// The part of the fleet that this process simulates.
    package var part = SimulatedPart.whole

    package init(root: String) { self.root = root }

    /// Checks the ranges of all settings.
    ///
    /// - Throws: `FleetError` with the setting that is out of range.
    func check() throws(FleetError) {
      try checkNumbers()
      guard part.count <= vehicles else {
        throw .invalid("part", "\(part)", "more parts than vehicles: \(vehicles)")
      }
      try Self.check(connections, in: 1...min(4096, part.share(of: vehicles)), "connections")
      try Self.check(rate, in: 0.001...100, "rate")
      try Self.check(liveRate, in: 0...100, "live rate")
      try Self.check(speed, in: 0.1...100, "speed")
      try Self.check(eventsPerHour, in: 0...36_000, "events")
      try Self.check(outagesPerHour, in: 0...3600, "outages")
      try Self.check(outageSeconds, in: 1...86_400, "outage seconds")
      try Self.check(qos, in: 0...1, "qos")
    }

    /// Checks the ranges of the vehicles' numbers.
    ///
    /// - Throws: `FleetError` with the setting that is out of range.
    package func checkNumbers() throws(FleetError) {
      try Self.check(vehicles, in: 1...1_000_000, "vehicles")
      try Self.check(first, in: 0...1_000_000_000, "first")
    }

    /// Checks the range of a setting.
    /// - Throws: `FleetError` with the setting if the value is out of range.
    package static func check<Value: Comparable>(
      _ value: Value, in range: ClosedRange<Value>, _ setting: String
    ) throws(FleetError) {
      guard range.contains(value) else {
        throw .invalid(setting, "\(value)", "must be \(range.lowerBound) to \(range.upperBound)")
      }
    }
  }
}
