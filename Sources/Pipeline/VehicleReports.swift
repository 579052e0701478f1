internal import Navigation
internal import Sensors
package import Spatial
internal import Telemetry

/// The CAN bus' part of the pipeline: stores the newest value of each signal, schedules `vehicle` messages,
/// and provides the speed for navigation.
package struct VehicleReports: OptionalPart {
  private var settings: PipelineConfiguration.Vehicle
  /// Newest reading of each signal, by path.
  private var newest: [String: VehicleReading] = [:]
  /// True if there are unpublished readings.
  private var hasNews = false
  /// True if a signal that is not a number has changed since the last message.
  private var hasChanged = false
  private var lastTold: Timestamp?
  private var firstUntold: Timestamp?

  /// Minimum time in s between messages, even if signals change more often.
  private static let shortestInterval = 1.0
  /// Maximum number of stored signals; a configuration can contain no more.
  private static let mostSignals = PipelineConfiguration.Vehicle.mostSignals
  /// Time in s between the measurement of a value and its arrival as the answer to an OBD-II request.
  private static let diagnosticLatency = 0.3
  /// Standard deviation in m/s of a speed that is rounded to whole km/h, and has a scale error of some per
  /// cent.
  private static let diagnosticDeviation = 0.6
  /// Resolution in km/h from which a speed broadcast on the bus counts as rounded to whole km/h.
  private static let coarseStep = 0.5

  /// Returns nil if no CAN bus is read.
  package init?(_ configuration: PipelineConfiguration) {
    guard let settings = configuration.vehicle else { return nil }
    self.settings = settings
  }

  mutating func isRetained(from old: PipelineConfiguration, _ context: inout PipelineContext) -> Bool {
    guard let settings = context.configuration.vehicle else { return false }
    self.settings = settings
    return true
  }

  /// Stores the readings, and determines the speeds for navigation.
  package mutating func process(_ step: inout VehicleStep, _ context: inout PipelineContext) {
    step.speeds = wheelSpeeds(step.readings)
    for reading in step.readings {
      let before = newest[reading.path]
      guard before != nil || newest.count < Self.mostSignals else { continue }
      newest[reading.path] = reading
      hasNews = true
      firstUntold = firstUntold ?? reading.timestamp
      if case .number? = reading.value, case .number? = before?.value { continue }
      if before == nil || before?.value != reading.value { hasChanged = true }
    }
  }

  /// Returns the speeds in m/s for navigation from readings of the configured speed signal.
  private func wheelSpeeds(_ readings: [VehicleReading]) -> [WheelSpeed] {
    guard let path = settings.speedPath else { return [] }
    return readings.compactMap { reading in
      guard reading.path == path, case .number(let speed)? = reading.value else { return nil }
      let isDiagnostic = reading.origin == .diagnostic
      let isCoarse = isDiagnostic || reading.resolution.map { $0 >= Self.coarseStep } ?? false
      return WheelSpeed(
        timestamp: isDiagnostic
          ? reading.timestamp.advanced(bySeconds: -Self.diagnosticLatency) : reading.timestamp,
        speed: abs(speed) / 3.6, deviation: isCoarse ? Self.diagnosticDeviation : nil)
    }
  }

  package func nextDeadline(_ context: PipelineContext) -> Timestamp? {
    guard hasNews, let firstUntold else { return nil }
    guard let lastTold else { return firstUntold.advanced(bySeconds: Self.shortestInterval) }
    return lastTold.advanced(
      bySeconds: hasChanged ? Self.shortestInterval : max(Self.shortestInterval, settings.interval))
  }

  package mutating func advance(to timestamp: Timestamp, _ context: inout PipelineContext) {
    guard let due = nextDeadline(context), due <= timestamp else { return }
    lastTold = timestamp
    publishPending(&context)
  }

  mutating func publishPending(_ context: inout PipelineContext) {
    guard hasNews else { return }
    (hasNews, hasChanged, firstUntold) = (false, false, nil)
    if let message = shown(context.timeBase) { context.send(.vehicle(message)) }
  }

  /// Returns all signals with a value; nil before the first reading.
  func shown(_ timeBase: TimeBase) -> VehicleSignals? {
    let known = newest.values.filter { $0.value != nil }
    guard let latest = newest.values.map(\.timestamp).max() else { return nil }
    return VehicleSignals(
      time: timeBase.utc(at: latest),
      signals: known.sorted { $0.path < $1.path }.compactMap { reading in
        reading.value.map {
          VehicleSignals.Signal(
            path: reading.path, value: VehicleSignals.Value($0), time: timeBase.utc(at: reading.timestamp))
        }
      })
  }
}

extension VehicleSignals.Value {
  fileprivate init(_ value: VehicleReading.Value) {
    switch value {
    case .number(let number): self = .number(number)
    case .flag(let flag): self = .flag(flag)
    case .text(let text): self = .text(text)
    }
  }
}
