internal import Navigation
internal import Positioning
internal import Sensors
internal import Spatial

/// The odometer side of the pipeline: from places with their speeds, the wheels and the vehicle's own odometer to the reading that
/// messages carry.
///
/// A reading is never above what a restart finds, so that it does not go back when the power fails: what is on the disk, and beyond that ten
/// metres less than the way that would be made of the gap since. At a stop, which is on the disk, it is exact.
struct OdometerReports: Sendable {
  private var odometer: Odometer
  private var vehicle = VehicleOdometer()
  /// As the disk has it; nil where nothing is kept.
  private var kept: OdometerState?
  /// Whether something of this run is on the disk.
  private var hasKept = false
  /// Metres that a restart at the newest place would find.
  private var restarted: Double?
  private var newest: OdometerSample?
  /// Metres of the newest reading, which the next is not below unless it was set.
  private var told: Double?
  /// Whether an earlier run can have published more than is stored: it was on its way, and only the disk has survived. Nothing is published
  /// until a position closes the gap.
  private var isBehind = false
  /// The newest reading from where the vehicle may be seen.
  private(set) var shown: OdometerReading?
  /// Of the newest place; nil before the first, and where that of an earlier run was not kept.
  private var visibility: Visibility?
  /// How often somebody has set it.
  private(set) var setCount = 0
  /// Whether there is an odometer: where locations are on.
  let isEnabled: Bool

  /// What the vehicle's bus calls its odometer.
  private static let path = "Vehicle.TraveledDistance"
  /// Metres of a step where the bus does not say.
  private static let unknownStep = 1000.0
  /// Metres that a restart after a loss of power may miscount.
  private static let reserve = 10.0
  /// Metres of a step in which it is told where places are told in cells of kilometres.
  private static let reducedStep = 1000.0

  /// - Parameter kept: of an earlier run.
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

  /// Goes on under another configuration.
  func reconfigured(_ new: PipelineConfiguration) -> OdometerReports {
    var next = OdometerReports(new, kept: kept)
    (next.odometer, next.vehicle, next.restarted, next.hasKept) = (odometer, vehicle, restarted, hasKept)
    (next.isBehind, next.shown) = (isBehind, next.isEnabled ? shown : nil)
    (next.newest, next.told, next.setCount, next.visibility) = (newest, told, setCount, visibility)
    return next
  }

  /// Takes a place as exact as it is known.
  /// - Parameter visibility: how much of the place others may know.
  mutating func process(_ location: Location, _ visibility: Visibility) {
    // Radios know a place to tens of metres at best, and no speed.
    guard isEnabled, location.positionSource != .coarse else { return }
    let isNavigated = location.positionSource == .fused || location.positionSource == .inertial
    let sample = OdometerSample(
      timestamp: location.timestamp, time: location.time, coordinate: location.coordinate,
      accuracy: location.horizontalAccuracy, speed: location.speed, course: location.course,
      // Navigation tells a speed of nothing where it has found that the vehicle stands.
      isStopped: isNavigated && location.speed == 0, isReceiverInUse: location.positionSource != .inertial)
    odometer.process(sample)
    (newest, isBehind) = (sample, false)
    observeKept()
    advance()
    self.visibility = visibility
    switch visibility {
    case .exact: shown = reading
    case .reduced:
      // What was told before, exactly, is not taken back.
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

  /// How much of a place others may know.
  enum Visibility {
    case exact
    /// The cell.
    case reduced
    case withheld
  }

  mutating func process(_ speeds: [WheelSpeed]) {
    guard isEnabled, !speeds.isEmpty else { return }
    for speed in speeds { odometer.process(speed) }
    advance()
  }

  /// Follows the vehicle's own odometer where it tells one.
  mutating func process(_ readings: [VehicleReading]) {
    guard isEnabled else { return }
    for reading in readings where reading.path == Self.path {
      guard case .number(let kilometres)? = reading.value, kilometres.isFinite else { continue }
      let before = odometer.reading
      vehicle.process(
        metres: 1000 * kilometres, step: reading.resolution.map { 1000 * $0 } ?? Self.unknownStep, &odometer)
      // Another instrument, or the first word of this one: no step that it makes is a way.
      if abs(odometer.reading - before) > Self.unknownStep { (told, shown) = (nil, nil) }
    }
    advance()
  }

  /// Takes over what the instrument panel shows, in metres.
  /// - Returns: the reading before, as far as others may know it; nil where they may not.
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

  /// Metres that were counted, told or not, and those of them that were closed.
  var counted: (distance: Double, estimated: Double) { (odometer.distance, odometer.estimated) }

  /// What messages carry; nil where there is no odometer, and before the first place or word of somebody.
  var reading: OdometerReading? {
    isBehind ? nil : told.map { OdometerReading(distance: $0, estimated: odometer.estimated) }
  }

  /// By what share more is measured than the vehicle's own odometer says; nil where they agree, and without one.
  var disagreement: Double? { vehicle.disagreement }

  // MARK: What is kept

  /// What to keep; nil where there is no odometer, and before the first place.
  var state: OdometerState? {
    guard let told else { return nil }
    var state = odometer.state
    state.reported = isBehind ? nil : told
    return state
  }

  /// Metres by which a restart here would find less or more than was measured; nil where nothing is kept yet.
  var risk: Double? { restarted.map { abs(odometer.distance - $0) } }

  /// Learns what is safe on the disk; nil where the disk takes nothing, so that nothing can be promised.
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
        // What is found at a restart is on the disk before it is told.
        let reserve = hasKept ? Self.reserve : 0
        return max(kept.distance, min(odometer.distance, restarted ?? odometer.distance) - reserve)
      } ?? odometer.distance
    told = max(told ?? 0, distance + min(odometer.offset, kept?.offset ?? odometer.offset))
  }
}
