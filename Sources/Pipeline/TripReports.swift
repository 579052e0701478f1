internal import Navigation
internal import Positioning
internal import Sensors
internal import Spatial
internal import Telemetry

/// The trips' part of the pipeline: creates `trip` messages from positions, odometer, CAN bus and
/// accelerometer.
///
/// It receives positions with privacy applied, so that no private position is stored or published.
struct TripReports: PipelinePart {
  private(set) var recorder: TripRecorder
  /// Number of driving events of earlier runs. It is added to the numbers of this run's events.
  private var eventBase: Int
  /// True if trips are enabled, which requires locations to be enabled.
  private(set) var isEnabled: Bool
  private var bus = Bus()
  /// Trips of an earlier run to publish again, because it is unknown whether the outbox has accepted them.
  private var unconfirmed: [TripRecord]
  /// Driving events that were in progress when an earlier run stopped; their ends must be published.
  private var left: [StoredEvent]
  /// Time of the newest position; nil if there was none.
  private var located: Timestamp?
  /// Time of the last evaluation without a position; nil if there was none.
  private var looked: Timestamp?
  private var counted = 0.0

  /// Last state of the CAN bus; nil members are unknown.
  private struct Bus: Hashable {
    var ignition: Bool?
    var ignitionSince: Timestamp?
    /// Time of the last message that a control unit sent.
    var heard: Timestamp?
    var speed: WheelSpeed?
    var fuelRate: (Double, Timestamp)?
    var power: (Double, Timestamp)?

    static func == (a: Bus, b: Bus) -> Bool { a.heard == b.heard && a.ignition == b.ignition }
    func hash(into hasher: inout Hasher) { hasher.combine(heard) }
  }

  // Signal names of the Vehicle Signal Specification.
  private static let systemState = "Vehicle.LowVoltageSystemState"
  private static let isRunning = "Vehicle.Powertrain.CombustionEngine.IsRunning"
  private static let fuelRate = "Vehicle.OBD.FuelRate"
  /// Signal with the power in W that flows into the traction battery.
  private static let batteryPower = "Vehicle.Powertrain.TractionBattery.CurrentPower"
  /// Maximum age in s of a speed reading, and of a rate or power. Readings by OBD-II request arrive every two
  /// seconds.
  private static let (longestSpeed, longestRate) = (3.0, 10.0)
  /// Time in s without a position from which accelerometer and wheels are evaluated instead, and interval in
  /// s of these evaluations.
  private static let (placeless, pace) = (3.0, 1.0)
  /// Resolution of distances in m at reduced position accuracy.
  private static let reducedStep = 1000.0

  init(_ configuration: PipelineConfiguration, kept: TripState) {
    isEnabled = configuration.hasTrips
    // While trips are disabled, the stored state only contains numbers, neither positions nor driver.
    recorder = TripRecorder(
      isEnabled ? kept : kept.numbers, settings: .init(configuration.trips))
    recorder.forgetPlaces { configuration.hides($0) }
    unconfirmed = recorder.state.unconfirmed
    left = recorder.finishLasting()
    eventBase = kept.events
  }

  mutating func reconfigure(from old: PipelineConfiguration, _ context: inout PipelineContext) {
    let new = context.configuration
    isEnabled = new.hasTrips
    if isEnabled {
      recorder.settings = .init(new.trips)
    } else {
      recorder = TripRecorder(recorder.state.numbers, settings: .init(new.trips))
      _ = recorder.finishLasting()
    }
    recorder.forgetPlaces { new.hides($0) }
    // The event detector starts with number 1, and the journal's numbers continue.
    if old.events.kinds.isEmpty { eventBase = recorder.state.events }
  }

  /// Processes a position, with privacy applied; only time and speed are used exactly. Positions suspected of a jump
  /// are not used. Other contradictions can last for a whole trip, so their positions are used.
  mutating func process(_ location: inout Location, _ context: inout PipelineContext) {
    guard isEnabled, location.suspicion?.reason != .jump, location.positionSource != .coarse else { return }
    let shown = context.shown(location)
    var sample = sample(at: location.timestamp, time: context.timeBase.utc(of: location), context)
    sample.isLocated = true
    (sample.coordinate, sample.accuracy) = (shown?.coordinate, shown?.horizontalAccuracy)
    (sample.isExact, sample.speed) = (shown?.coordinate == location.coordinate, location.speed)
    located = location.timestamp
    counted = sample.distance
    sample.motion = context.distance.motion
    recorder.process(sample)
  }

  mutating func process(_ step: inout VehicleStep, _ context: inout PipelineContext) {
    guard isEnabled else { return }
    let ignition = bus.ignition
    for reading in step.readings { observe(reading) }
    if let speed = step.speeds.last { bus.speed = speed }
    guard let timestamp = step.readings.last?.timestamp,
      bus.ignition != ignition || looked.map({ timestamp.seconds(since: $0) >= Self.pace }) ?? true
    else { return }
    look(at: timestamp, isResting: nil, time: context.timeBase.utc(at: step.timestamp), context)
  }

  /// Advances the time, and publishes trip messages that are due.
  mutating func advance(to timestamp: Timestamp, _ context: inout PipelineContext) {
    guard isEnabled else { return }
    if looked.map({ timestamp.seconds(since: $0) >= Self.pace }) ?? true {
      look(
        at: timestamp, isResting: context.isAtRest, time: context.timeBase.utc(at: timestamp), context)
    }
    recorder.advance(to: timestamp)
    publish(&context)
  }

  /// Stores a trip in progress, before a clean stop.
  mutating func finish(_ context: inout PipelineContext) {
    guard isEnabled else { return }
    recorder.recordOpenTrip()
    publish(&context)
  }

  /// Ends a trip in progress where the vehicle is, before trips are disabled. Otherwise it would never end for its
  /// consumers.
  mutating func end(_ context: inout PipelineContext) {
    guard isEnabled else { return }
    recorder.finish()
    publish(&context)
  }

  func nextDeadline(_ context: PipelineContext) -> Timestamp? { isEnabled ? recorder.nextDeadline : nil }

  // MARK: Driving events

  /// Publishes the ends of events that were in progress when an earlier run stopped.
  mutating func publishLeftEvents(_ context: inout PipelineContext) {
    for message in drainLeft(context) { context.send(.drivingEvent(message)) }
  }

  /// Counts the waiting driving events, and publishes them with number and trip.
  mutating func publishEvents(_ context: inout PipelineContext) {
    guard !context.drivingEvents.isEmpty else { return }
    for event in context.drivingEvents {
      // An event that lasts has two messages, at its start and at its end, with the same number. Only the
      // first is counted.
      let isFirst = event.isOngoing || !event.kind.isLasting
      let (journal, trip) = count(event: event.kind.rawValue, number: event.number, isFirst: isFirst)
      var message = DrivingEventReports.message(event, journal, context)
      // An event can last while the vehicle is parked; its end then belongs to the trip in which it started,
      // not to the next one.
      message.trip = isFirst ? trip : self.trip(ofEvent: journal)
      if event.kind.isLasting { keep(message) }
      context.send(.drivingEvent(message))
    }
    context.drivingEvents.removeAll(keepingCapacity: true)
  }

  /// Counts a driving event in the current trip.
  /// - Parameters:
  ///   - name: the kind of event.
  ///   - number: number of the event within this run.
  ///   - isFirst: true for the first message about the event.
  /// - Returns: the number of the event in the vehicle's journal, and the number of the trip; nil outside of
  ///   a trip.
  private mutating func count(
    event name: String, number: Int, isFirst: Bool
  ) -> (event: JournalNumber, trip: Int64?) {
    let journal = eventBase + number
    recorder.observe(eventNumber: journal)
    if isEnabled, isFirst { recorder.count(event: name) }
    return (
      JournalNumber(series: Self.name(recorder.state.series), number: Int64(journal)),
      isEnabled ? recorder.state.tripNumber.map(Int64.init) : nil
    )
  }

  /// Returns the trip in which a lasting event started; nil if unknown.
  private func trip(ofEvent journal: JournalNumber) -> Int64? {
    recorder.state.lasting.first { $0.number == journal.number }?.trip.map(Int64.init)
  }

  /// Stores the message about a lasting driving event before the message is published.
  private mutating func keep(_ message: DrivingEventMessage) {
    recorder.keep(
      StoredEvent(
        number: Int(message.journal.number), kind: message.event.name, isOngoing: message.isOngoing,
        start: message.time, duration: message.duration, peak: message.peak, limit: message.limit,
        severity: message.severity.rawValue, confidence: message.confidence, coordinate: message.coordinate,
        accuracy: message.horizontalAccuracy, speed: message.speed, region: message.region,
        trip: message.trip.map { Int($0) }))
  }

  /// Removes and returns messages about the ends of driving events that were in progress when an earlier run
  /// stopped.
  private mutating func drainLeft(_ context: PipelineContext) -> [DrivingEventMessage] {
    defer { left = [] }
    return left.map { event in
      DrivingEventMessage(
        time: event.start, event: DrivingEventMessage.Kind(name: event.kind),
        journal: JournalNumber(series: Self.name(recorder.state.series), number: Int64(event.number)),
        trip: event.trip.map(Int64.init),
        coordinate: event.coordinate.flatMap { context.configuration.shown(stored: $0) },
        horizontalAccuracy: event.accuracy,
        speed: event.speed, peak: event.peak, limit: event.limit, duration: event.duration,
        severity: DrivingEventMessage.Severity(rawValue: event.severity) ?? .low,
        confidence: event.confidence, region: event.region)
    }
  }

  mutating func confirm(_ message: DrivingEventMessage) {
    guard !message.isOngoing, let number = Int(exactly: message.journal.number) else { return }
    recorder.confirm(eventNumber: number)
  }

  /// Current driver and purpose, by the keys `driver` and `purpose`; a missing key means that none is set.
  var labels: [String: String] {
    var labels: [String: String] = [:]
    labels["driver"] = recorder.state.driver
    labels["purpose"] = recorder.state.purpose
    return labels
  }

  mutating func set(driver: String?) { recorder.set(driver: driver) }

  mutating func set(purpose: String?) { recorder.set(purpose: purpose) }

  mutating func confirm(_ message: TripMessage) {
    guard let series = UInt64(message.trip.series, radix: 16), let number = Int(exactly: message.trip.number)
    else { return }
    recorder.confirm(series: series, number: number, revision: message.revision)
  }

  private mutating func publish(_ context: inout PipelineContext) {
    let records = unconfirmed + recorder.drain()
    unconfirmed = []
    for record in records {
      if let message = message(record, context) { context.send(.trip(message)) }
    }
  }

  // MARK: Samples

  private mutating func observe(_ reading: VehicleReading) {
    if reading.origin != .derived { bus.heard = max(bus.heard ?? reading.timestamp, reading.timestamp) }
    switch (reading.path, reading.value) {
    case (Self.systemState, .text(let state)?):
      // In other states, such as the accessory position, the driver may be waiting, and the bus may not
      // report the engine.
      let ignition: Bool? =
        switch state {
        case "ON", "START": true
        case "OFF", "LOCK": false
        default: nil
        }
      guard ignition != bus.ignition else { return }
      bus.ignition = ignition
      // The end of the ignition is only noticed when the bus has been silent for some time. It is the time of
      // the last message.
      bus.ignitionSince = ignition == false ? bus.heard ?? reading.timestamp : reading.timestamp
    case (Self.isRunning, .flag(true)?) where bus.ignition != true:
      (bus.ignition, bus.ignitionSince) = (true, reading.timestamp)
    case (Self.fuelRate, .number(let rate)?): bus.fuelRate = (rate, reading.timestamp)
    case (Self.batteryPower, .number(let power)?): bus.power = (-power, reading.timestamp)
    default: break
    }
  }

  /// Evaluates accelerometer and wheel speed while there are no positions.
  private mutating func look(
    at timestamp: Timestamp, isResting: Bool?, time: UTCTime, _ context: PipelineContext
  ) {
    looked = timestamp
    var sample = sample(at: timestamp, time: time, context)
    let isPlaceless = located.map { timestamp.seconds(since: $0) > Self.placeless } ?? true
    sample.isResting = isPlaceless ? isResting : nil
    if let speed = bus.speed, isPlaceless,
      abs(timestamp.seconds(since: speed.timestamp)) <= Self.longestSpeed,
      speed.speed == 0 || sample.distance > counted
    {
      // The wheel speed is only used when the odometer has counted more distance, because the odometer adds
      // the wheels' distance in steps.
      sample.wheelSpeed = speed.speed
      counted = sample.distance
    }
    recorder.process(sample)
  }

  private func sample(at timestamp: Timestamp, time: UTCTime, _ context: PipelineContext) -> TripSample {
    func fresh(_ rate: (Double, Timestamp)?) -> Double? {
      rate.flatMap { abs(timestamp.seconds(since: $0.1)) <= Self.longestRate ? $0.0 : nil }
    }
    var sample = TripSample(
      timestamp: timestamp, time: time, distance: context.distance.counted,
      estimated: context.distance.estimated, ignition: bus.ignition,
      ignitionSince: bus.ignitionSince, fuelRate: fresh(bus.fuelRate), power: fresh(bus.power))
    if let speed = bus.speed, abs(timestamp.seconds(since: speed.timestamp)) <= Self.longestSpeed,
      located == timestamp
    {
      sample.wheelSpeed = speed.speed
    }
    return sample
  }

  // MARK: Messages

  private func message(_ record: TripRecord, _ context: PipelineContext) -> TripMessage? {
    let (privacy, isReduced) = (context.privacy, context.isReduced)
    guard let began = record.start.time ?? record.end.time, let ended = record.end.time ?? record.start.time
    else { return nil }
    // If start or end is private, the distance is rounded: the exact distance would reveal the private one
    // from the other one.
    let isVague = isReduced || [record.start, record.end].contains { !isExact($0, privacy) }
    func metres(_ distance: Double) -> Double {
      isVague ? Self.reducedStep * (distance / Self.reducedStep).rounded(.down) : distance
    }
    func shown(_ coordinate: Coordinate) -> ShownCoordinate? {
      context.configuration.shown(stored: coordinate)
    }
    func end(_ point: TripPoint, _ time: UTCTime) -> TripMessage.End {
      let coordinate = point.coordinate.flatMap(shown)
      return TripMessage.End(
        time: time, coordinate: coordinate, horizontalAccuracy: coordinate == nil ? nil : point.accuracy,
        odometer: coordinate == nil || !isReduced && !isExact(point, privacy)
          ? nil : max(0, metres(point.distance + context.distance.offset)))
    }
    let distance = max(0, metres(record.end.distance) - metres(record.start.distance))
    let way: [TripMessage.Waypoint] = (isReduced ? [] : record.track.points).compactMap { point in
      shown(point.coordinate).map { .init(time: began.advanced(bySeconds: point.elapsed), coordinate: $0) }
    }
    return TripMessage(
      trip: JournalNumber(series: Self.name(record.series), number: Int64(record.number)),
      revision: record.revision, phase: .init(record.phase), kind: .init(record.kind),
      start: end(record.start, began),
      end: end(record.end, max(began, ended)), distance: distance, estimated: min(distance, record.estimated),
      moving: record.moving, standing: record.standing, idling: record.idling,
      // Mean speed and duration would reveal the exact distance.
      greatestSpeed: isReduced ? nil : record.greatestSpeed, meanSpeed: isVague ? nil : record.meanSpeed,
      fuel: record.fuel,
      electricity: record.electricity, events: record.counts, driver: record.driver, purpose: record.purpose,
      way: way,
      bound: way.isEmpty
        ? nil : record.track.bound + TrackMessage.roundingError(precision: TripMessage.precision))
  }

  /// Returns whether privacy permits to publish the exact position of a trip's start or end. For an unknown
  /// position, it must permit every exact position.
  private func isExact(_ point: TripPoint, _ privacy: PrivacyPolicy) -> Bool {
    point.coordinate.map { privacy.isExact($0) } ?? (privacy == PrivacyPolicy())
  }

  private static func name(_ series: UInt64) -> String {
    let digits = String(series, radix: 16)
    return String(repeating: "0", count: 16 - digits.utf8.count) + digits
  }
}

extension PipelineConfiguration {
  /// True if trips are enabled, which requires locations to be enabled.
  var hasTrips: Bool { location.isEnabled && trips.isEnabled }
}

extension TripRecorder.Settings {
  fileprivate init(_ settings: PipelineConfiguration.Trips) {
    self.init(stop: settings.stop, interval: settings.interval)
  }
}

extension TripMessage.Phase {
  fileprivate init(_ phase: TripRecord.Phase) {
    self =
      switch phase {
      case .started: .started
      case .underway: .underway
      case .ended: .ended
      }
  }
}

extension TripMessage.Kind {
  fileprivate init(_ kind: TripRecord.Kind) {
    self =
      switch kind {
      case .driven: .driven
      case .carried: .carried
      case .unobserved: .unobserved
      }
  }
}
