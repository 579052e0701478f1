internal import Navigation
internal import Positioning
internal import Sensors
internal import Spatial
internal import Telemetry

/// The odometer's part of the pipeline: computes the published reading from positions with speeds, wheel
/// speeds and the vehicle's own odometer.
///
/// A published reading never exceeds the reading after a restart, so that readings do not decrease after a
/// power failure. It is the stored reading, plus the distance that a restart would add for the gap, minus ten
/// metres. When the vehicle stops, the state is stored, and the reading is exact.
struct OdometerReports: PipelinePart {
  private var odometer: Odometer
  private var vehicle = VehicleOdometer()
  /// State that is stored on disk; nil if none is stored.
  private var kept: OdometerState?
  /// True if a state of this run, not only of an earlier one, is stored on disk.
  private var hasKept = false
  /// Distance in m from which the odometer would continue after a restart at the newest position; nil if
  /// unknown.
  private var restarted: Double?
  private var newest: OdometerSample?
  /// Newest reading in m; nil if there is none. The next reading is not smaller, unless the odometer is set.
  private var told: Double?
  /// True if an earlier run may have published a larger reading than the stored one: the vehicle was in
  /// motion when the state was stored. Nothing is published until the first position, which closes the gap.
  private var isBehind = false
  /// The newest reading that privacy permits to publish; nil if there is none.
  private(set) var shown: OdometerReading?
  /// The permitted accuracy of the newest position; nil before the first position.
  private var visibility: Visibility?
  /// Number of times that the odometer was set.
  private(set) var setCount = 0
  /// True if the pipeline has an odometer, which requires locations to be enabled.
  private(set) var isEnabled: Bool

  /// Name of the CAN signal of the vehicle's own odometer.
  private static let path = "Vehicle.TraveledDistance"
  /// Resolution in m that is assumed if the CAN bus does not report that of the vehicle's odometer.
  private static let unknownStep = 1000.0
  /// Possible error in m of the distance that a restart adds after a loss of power.
  private static let reserve = 10.0
  /// Odometer resolution in m at reduced position accuracy.
  private static let reducedStep = 1000.0

  /// - Parameters:
  ///   - configuration: the settings.
  ///   - kept: state of an earlier run; nil if there is none.
  init(_ configuration: PipelineConfiguration, kept: OdometerState?) {
    isEnabled = configuration.location.isEnabled
    odometer = kept.map { Odometer($0) } ?? Odometer()
    self.kept = kept
    guard isEnabled, let kept else { return }
    told = max(kept.distance + kept.offset, kept.reported ?? 0)
    isBehind = kept.reported == nil && kept.place != nil && kept.velocity != .zero
    // A state is stored without its position if the position is private. Its reading must not be published
    // then.
    guard let place = kept.place?.coordinate, configuration.location.desiredAccuracy != .reduced,
      configuration.privacy.isExact(place)
    else { return }
    (shown, visibility) = (reading, .exact)
  }

  mutating func reconfigure(from old: PipelineConfiguration, _ context: inout PipelineContext) {
    isEnabled = context.configuration.location.isEnabled
    if !isEnabled { shown = nil }
    share(&context)
  }

  /// Counts the distance to a position, and adds the reading to it.
  mutating func process(_ location: inout Location, _ context: inout PipelineContext) {
    count(location, visibility(of: location, context))
    location.odometer = reading
    share(&context)
  }

  private func visibility(of location: Location, _ context: PipelineContext) -> Visibility {
    guard let shown = context.privacy.shown(location) else { return .withheld }
    return context.isReduced || shown.coordinate != location.coordinate ? .reduced : .exact
  }

  /// - Parameter visibility: how much of the position, and therefore of the reading, may be published.
  private mutating func count(_ location: Location, _ visibility: Visibility) {
    // Positions from radio beacons are accurate to tens of metres at best, and have no speed.
    guard isEnabled, location.positionSource != .coarse else { return }
    let isNavigated = location.positionSource == .fused || location.positionSource == .inertial
    let sample = OdometerSample(
      timestamp: location.timestamp, time: location.time, coordinate: location.coordinate,
      accuracy: location.horizontalAccuracy, speed: location.speed, course: location.course,
      // Navigation reports a speed of zero if it has detected a stop.
      isStopped: isNavigated && location.speed == 0, isReceiverInUse: location.positionSource != .inertial)
    odometer.process(sample)
    (newest, isBehind) = (sample, false)
    observeKept()
    advance()
    self.visibility = visibility
    switch visibility {
    case .exact: shown = reading
    case .reduced:
      // A reading that was published exactly is not replaced by a smaller, rounded one.
      shown = reading.map {
        OdometerReading(
          distance: max(shown?.distance ?? 0, Self.whole($0.distance)),
          estimated: max(shown?.estimated ?? 0, Self.whole($0.estimated)))
      }
    case .withheld: break
    }
  }

  private static func whole(_ metres: Double) -> Double {
    reducedStep * (metres / reducedStep).rounded(.down)
  }

  /// The accuracy of a position that privacy permits.
  private enum Visibility {
    case exact
    /// Only the cell that contains the position.
    case reduced
    case withheld
  }

  mutating func process(_ step: inout VehicleStep, _ context: inout PipelineContext) {
    guard isEnabled else { return }
    let before = disagreement
    for speed in step.speeds { odometer.process(speed) }
    if !step.speeds.isEmpty { advance() }
    adjust(to: step.readings)
    if disagreement != before { context.isStatusOutdated = true }
    share(&context)
  }

  /// Adjusts the odometer to readings of the vehicle's own odometer.
  private mutating func adjust(to readings: [VehicleReading]) {
    for reading in readings where reading.path == Self.path {
      guard case .number(let kilometres)? = reading.value, kilometres.isFinite else { continue }
      let before = odometer.reading
      vehicle.process(
        metres: 1000 * kilometres, step: reading.resolution.map { 1000 * $0 } ?? Self.unknownStep, &odometer)
      // A large step is caused by another instrument, or by its first reading. It is not a driven distance,
      // so the reading may decrease.
      if abs(odometer.reading - before) > Self.unknownStep { (told, shown) = (nil, nil) }
    }
    advance()
  }

  /// Sets the odometer to a reading of the vehicle's instrument panel.
  /// - Parameter reading: the reading in m.
  /// - Returns: the previous reading in m as far as privacy permits; nil if it is private.
  mutating func set(reading: Double, _ context: inout PipelineContext) -> Double? {
    guard isEnabled else { return nil }
    let before = visibility == .exact ? odometer.reading : shown?.distance
    odometer.set(reading: reading)
    kept?.offset = odometer.offset
    (told, isBehind) = (nil, false)
    setCount += 1
    advance()
    shown = self.reading
    share(&context)
    return before
  }

  /// Shares the distance driven.
  func share(_ context: inout PipelineContext) {
    context.distance = DrivenDistance(
      counted: odometer.distance, estimated: odometer.estimated,
      motion: isEnabled ? odometer.positionMotion : nil, offset: told == nil ? 0 : odometer.offset)
  }

  func describe(in status: inout StatusMessage, _ context: PipelineContext) {
    (status.odometer, status.odometerDisagreement) = (shown, disagreement)
  }

  /// The reading for messages; nil without an odometer, and before the first position or reading.
  ///
  /// The distance that is not published yet was driven last. If it exceeds the usual reserve, it is that of a gap,
  /// which is estimated.
  private var reading: OdometerReading? {
    guard !isBehind, let told else { return nil }
    let unpublished = max(0, odometer.reading - told - Self.reserve)
    return OdometerReading(
      distance: told, estimated: max(0, min(told, odometer.estimated - unpublished)))
  }

  /// Relative excess of the measured distance over the distance by the vehicle's own odometer; nil if they
  /// agree, and without such an odometer.
  var disagreement: Double? { vehicle.disagreement }

  // MARK: Stored state

  /// Returns the state to store; nil without an odometer, and before the first position. A private position is not
  /// stored: after a restart, the distance from there to the next position is then unknown.
  func state(_ context: PipelineContext) -> OdometerState? {
    guard let told else { return nil }
    var state = odometer.state
    state.reported = isBehind ? nil : told
    if let place = state.place?.coordinate, context.isReduced || !context.privacy.isExact(place) {
      (state.place, state.velocity) = (nil, nil)
    }
    return state
  }

  /// Difference in m between the measured distance and the distance with which the odometer would continue
  /// after a restart; nil if no state is stored yet.
  var risk: Double? { restarted.map { abs(odometer.distance - $0) } }

  /// Reports the state that is now stored on disk; nil if the disk is not writable, so that no reading is
  /// guaranteed after a restart.
  mutating func observe(kept state: OdometerState?, _ context: inout PipelineContext) {
    (kept, hasKept) = (state, true)
    restarted = nil
    observeKept()
    advance()
    share(&context)
  }

  private mutating func observeKept() {
    guard let kept else { return }
    guard let newest, kept.distance < odometer.distance else {
      restarted = kept.distance
      return
    }
    var next = Odometer(kept)
    next.process(newest)
    restarted = next.distance
  }

  private mutating func advance() {
    guard isEnabled, newest != nil || kept != nil || setCount > 0 else { return }
    let distance =
      kept.map { kept in
        // While only a state of an earlier run is stored, no reserve is needed: its reading was stored before
        // it was published.
        let reserve = hasKept ? Self.reserve : 0
        return max(kept.distance, min(odometer.distance, restarted ?? odometer.distance) - reserve)
      } ?? odometer.distance
    told = max(told ?? 0, distance + min(odometer.offset, kept?.offset ?? odometer.offset))
  }
}
