internal import Navigation
internal import Sensors
internal import Spatial
internal import Telemetry

/// What the vehicle's bus tells: the newest value of each signal, when it is worth a message, and the speed that navigation takes.
struct VehicleReports: Sendable {
  private var settings: PipelineConfiguration.Vehicle
  /// By their paths.
  private var newest: [String: VehicleReading] = [:]
  /// Whether something has come that was not told.
  private var hasNews = false
  /// Whether a state is another than the one that was told.
  private var hasChanged = false
  private var lastTold: Timestamp?
  private var firstUntold: Timestamp?

  /// Seconds between two messages, however often a state changes.
  private static let shortestInterval = 1.0
  /// Signals that are kept; a configuration names fewer.
  private static let mostSignals = PipelineConfiguration.Vehicle.mostSignals
  /// Seconds that an answer to an OBD-II request is late.
  private static let diagnosticLatency = 0.3
  /// m/s, one deviation, of a speed in whole km/h with an error of scale of some per cent.
  private static let diagnosticDeviation = 0.6
  /// km/h of a step from which a broadcast speed is as coarse as a diagnostic one.
  private static let coarseStep = 0.5

  /// Nil where no bus is read.
  init?(_ configuration: PipelineConfiguration) {
    guard let settings = configuration.vehicle else { return nil }
    self.settings = settings
  }

  /// Goes on under another configuration with what it knows.
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

  /// The speeds among readings, as navigation takes them.
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

  /// When `due` has something to say, if nothing comes before.
  var nextDeadline: Timestamp? {
    guard hasNews, let firstUntold else { return nil }
    guard let lastTold else { return firstUntold.advanced(bySeconds: Self.shortestInterval) }
    return lastTold.advanced(
      bySeconds: hasChanged ? Self.shortestInterval : max(Self.shortestInterval, settings.interval))
  }

  /// The message that is due.
  mutating func due(at now: Timestamp, _ timeBase: TimeBase) -> VehicleSignals? {
    guard let nextDeadline, nextDeadline <= now else { return nil }
    lastTold = now
    return pending(timeBase)
  }

  /// What has not been told yet, before a stop.
  mutating func pending(_ timeBase: TimeBase) -> VehicleSignals? {
    guard hasNews else { return nil }
    (hasNews, hasChanged, firstUntold) = (false, false, nil)
    return shown(timeBase)
  }

  /// All that is known; nil before anything was.
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
