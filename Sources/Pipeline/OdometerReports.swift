internal import Navigation
internal import Positioning
internal import Sensors
internal import Spatial

/// The odometer's part of the pipeline: from positions with speeds, wheels and the vehicle's own odometer to
/// the published reading.
///
/// A reading never exceeds what a restart finds, so that it does not decrease after a power failure. It is
/// the stored reading plus the distance that a restart would add for the gap, less ten metres. At a stop,
/// which is stored, it is exact.
struct OdometerReports: Sendable {
  private var odometer: Odometer
  private var vehicle = VehicleOdometer()
  /// State on disk; nil if none is stored.
  private var kept: OdometerState?
  /// True if a state of this run is on disk.
  private var hasKept = false
  /// Reading in m that a restart at the newest position would find.
  private var restarted: Double?
  private var newest: OdometerSample?
  /// Newest reading in m. The next one is not smaller unless the odometer is set.
  private var told: Double?
  /// Whether an earlier run can have published more than is stored: it was on its way, and only the disk has survived. Nothing is published
  /// until a position closes the gap.
  private var isBehind = false
  /// The newest reading from where the vehicle may be seen.
  private(set) var shown: OdometerReading?
  /// Visibility of the newest position; nil before the first, and if that of an earlier run was not stored.
  private var visibility: Visibility?
  /// Number of times that the odometer was set.
  private(set) var setCount = 0
  /// True if there is an odometer, which requires locations to be enabled.
  let isEnabled: Bool

  /// Name of the vehicle's own odometer on the CAN bus.
  private static let path = "Vehicle.TraveledDistance"
  /// Assumed resolution in m if the CAN bus does not report it.
  private static let unknownStep = 1000.0
  /// Possible error in m of a restart after a loss of power.
  private static let reserve = 10.0
  /// Odometer resolution in m at reduced position accuracy.
  private static let reducedStep = 1000.0

  /// - Parameter kept: state of an earlier run.
  init(_ configuration: PipelineConfiguration, kept: OdometerState?) {
    isEnabled = configuration.location.isEnabled
    odometer = kept.map { Odometer($0) } ?? Odometer()
    self.kept = kept
    guard isEnabled, let kept else { return }
    told = max(kept.distance + kept.offset, kept.reported ?? 0)
    isBehind = kept.reported == nil && kept.place != nil && kept.velocity != .zero
    // What was kept without its place was kept where nobody may know the way.
    guard let place = kept.place?.coordinate, configuration.location.desiredAccuracy != .reduced,
      configuration.privacy.shown(Location(timestamp: Timestamp(nanoseconds: 0), coordinate: place))?
        .coordinate
        == place
    else { return }
    (shown, visibility) = (reading, .exact)
  }

  /// Returns the same state with another configuration.
  func reconfigured(_ new: PipelineConfiguration) -> OdometerReports {
    var next = OdometerReports(new, kept: kept)
    (next.odometer, next.vehicle, next.restarted, next.hasKept) = (odometer, vehicle, restarted, hasKept)
    (next.isBehind, next.shown) = (isBehind, next.isEnabled ? shown : nil)
    (next.newest, next.told, next.setCount, next.visibility) = (newest, told, setCount, visibility)
    return next
  }

  /// Processes a position with full accuracy.
  /// - Parameter visibility: how much of the position may be published.
  mutating func process(_ location: Location, _ visibility: Visibility) {
    // Radio positions are accurate to tens of metres at best, and have no speed.
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
      // Readings that were published exactly are not withdrawn.
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

  /// The part of a position that may be published.
  enum Visibility {
    case exact
    /// Only the cell.
    case reduced
    case withheld
  }

  mutating func process(_ speeds: [WheelSpeed]) {
    guard isEnabled, !speeds.isEmpty else { return }
    for speed in speeds { odometer.process(speed) }
    advance()
  }

  /// Adopts readings of the vehicle's own odometer.
  mutating func process(_ readings: [VehicleReading]) {
    guard isEnabled else { return }
    for reading in readings where reading.path == Self.path {
      guard case .number(let kilometres)? = reading.value, kilometres.isFinite else { continue }
      let before = odometer.reading
      vehicle.process(
        metres: 1000 * kilometres, step: reading.resolution.map { 1000 * $0 } ?? Self.unknownStep, &odometer)
      // A different instrument, or its first reading: the step is not a distance travelled.
      if abs(odometer.reading - before) > Self.unknownStep { (told, shown) = (nil, nil) }
    }
    advance()
  }

  /// Sets the odometer to the reading of the instrument panel, in m.
  /// - Returns: the previous reading as far as privacy permits; nil if it is private.
  mutating func set(reading: Double) -> Double? {
    guard isEnabled else { return nil }
    let before = visibility == .exact ? odometer.reading : shown?.distance
    odometer.set(reading: reading)
    kept?.offset = odometer.offset
    (told, isBehind) = (nil, false)
    setCount += 1
    advance()
    shown = self.reading
    return before
  }

  /// Motion up to the newest position; nil if a speed is measured, and without an odometer.
  var positionMotion: Odometer.PositionMotion? { isEnabled ? odometer.positionMotion : nil }

  /// Counted distance in m, published or not, and the part of it that was estimated for gaps.
  var counted: (distance: Double, estimated: Double) { (odometer.distance, odometer.estimated) }

  /// The reading for messages; nil without an odometer, and before the first position or reading.
  var reading: OdometerReading? {
    isBehind ? nil : told.map { OdometerReading(distance: $0, estimated: odometer.estimated) }
  }

  /// Relative excess of the measured distance over the vehicle's own odometer; nil if they agree, and without
  /// one.
  var disagreement: Double? { vehicle.disagreement }

  // MARK: Stored state

  /// What to keep; nil where there is no odometer, and before the first place.
  var state: OdometerState? {
    guard let told else { return nil }
    var state = odometer.state
    state.reported = isBehind ? nil : told
    return state
  }

  /// Difference in m between the measured distance and the one that a restart would find; nil if nothing is
  /// stored yet.
  var risk: Double? { restarted.map { abs(odometer.distance - $0) } }

  /// Sets the state that is safe on disk; nil if the disk is not writable, so that nothing is guaranteed.
  mutating func observe(kept state: OdometerState?) {
    (kept, hasKept) = (state, true)
    restarted = nil
    observeKept()
    advance()
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
        // A restart's reading is stored before it is published.
        let reserve = hasKept ? Self.reserve : 0
        return max(kept.distance, min(odometer.distance, restarted ?? odometer.distance) - reserve)
      } ?? odometer.distance
    told = max(told ?? 0, distance + min(odometer.offset, kept?.offset ?? odometer.offset))
  }
}
