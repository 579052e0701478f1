internal import Navigation
internal import Sensors
internal import Spatial
internal import Telemetry

/// The CAN bus' part of the pipeline: the newest value of each signal, the schedule of messages, and the
/// speed for navigation.
struct VehicleReports: Sendable {
  private var settings: PipelineConfiguration.Vehicle
  /// Newest readings by path.
  private var newest: [String: VehicleReading] = [:]
  /// True if there are unpublished readings.
  private var hasNews = false
  /// True if a state differs from the published one.
  private var hasChanged = false
  private var lastTold: Timestamp?
  private var firstUntold: Timestamp?

  /// Minimum time in s between messages, even if a state changes more often.
  private static let shortestInterval = 1.0
  /// Maximum number of stored signals; a configuration has fewer.
  private static let mostSignals = PipelineConfiguration.Vehicle.mostSignals
  /// Delay in s of an answer to an OBD-II request.
  private static let diagnosticLatency = 0.3
  /// Standard deviation in m/s of a speed in whole km/h with a scale error of some per cent.
  private static let diagnosticDeviation = 0.6
  /// Step in km/h from which a broadcast speed is as coarse as a diagnostic one.
  private static let coarseStep = 0.5

  /// Nil if no CAN bus is read.
  init?(_ configuration: PipelineConfiguration) {
    guard let settings = configuration.vehicle else { return nil }
    self.settings = settings
  }

  /// Returns the same state with another configuration.
  func reconfigured(_ new: PipelineConfiguration) -> VehicleReports? {
    guard let settings = new.vehicle else { return nil }
    var next = self
    next.settings = settings
    return next
  }

  mutating func process(_ readings: [VehicleReading]) {
    for reading in readings {
      let before = newest[reading.path]
      guard before != nil || newest.count < Self.mostSignals else { continue }
      newest[reading.path] = reading
      hasNews = true
      firstUntold = firstUntold ?? reading.timestamp
      if case .number? = reading.value, case .number? = before?.value { continue }
      if before == nil || before?.value != reading.value { hasChanged = true }
    }
  }

  /// Returns the speeds among readings for navigation.
  func wheelSpeeds(_ readings: [VehicleReading]) -> [WheelSpeed] {
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

  /// The next time at which `due` returns a message if nothing arrives earlier.
  var nextDeadline: Timestamp? {
    guard hasNews, let firstUntold else { return nil }
    guard let lastTold else { return firstUntold.advanced(bySeconds: Self.shortestInterval) }
    return lastTold.advanced(
      bySeconds: hasChanged ? Self.shortestInterval : max(Self.shortestInterval, settings.interval))
  }

  /// Returns the message if it is due.
  mutating func due(at now: Timestamp, _ timeBase: TimeBase) -> VehicleSignals? {
    guard let nextDeadline, nextDeadline <= now else { return nil }
    lastTold = now
    return pending(timeBase)
  }

  /// Returns unpublished signals before a stop.
  mutating func pending(_ timeBase: TimeBase) -> VehicleSignals? {
    guard hasNews else { return nil }
    (hasNews, hasChanged, firstUntold) = (false, false, nil)
    return shown(timeBase)
  }

  /// Returns all current signals; nil before the first.
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
