internal import Glibc
public import Sensors
public import Spatial
public import VehicleData

/// Fuses the receiver's altitude with air pressure and states a realistic accuracy.
///
/// A barometer measures changes of height to decimetres but is off by tens of metres in absolute height. A
/// receiver has the opposite errors. A Kalman filter with four states combines both:
///
/// - the offset of the standard atmosphere, a random walk: weather, the sensor's temperature, fan and
///   windows;
/// - the scale error, because the air is warmer or colder than standard: 5 % (15 K), relative to the initial
///   height;
/// - the pressure coefficient of the mounting location: driving wind changes the pressure in a cabin by this
///   share of ρ v² / 2;
/// - the receiver's error in units of its own deviation, a Gauss-Markov process: errors of neighbouring fixes
///   are correlated, so averaging them gains little (A. Gelb, "Applied Optimal Estimation", 1974, chapter 4).
///
/// An altitude of the receiver that contradicts the estimate is rejected. If the contradiction lasts 20
/// seconds, the altitude is accepted. At rest the height is constant, and pressure changes count as weather.
public struct AltitudeFilter: Sendable {
  private var state = SIMD4<Double>.zero
  /// Rows of the covariance matrix.
  private var rows = InlineArray<4, SIMD4<Double>>(repeating: .zero)
  private var trend = PressureTrend()
  private(set) var level: PressureLevel?
  /// Height in the standard atmosphere, in m, to which the scale error refers; nil before the receiver's
  /// first altitude.
  private var reference: Double?
  private var origin: Timestamp?
  private var lastTime = -Double.infinity
  private var speed: (value: Double, time: Double)?
  private var refusedSince: Double?
  private var refusedCount = 0
  private(set) var isAtRest = false
  /// True after a rest until the next pressure level. That level is assigned the height of the rest, because
  /// the barometer may have been off meanwhile.
  private var holds = false
  /// Time in s of the receiver's last accepted altitude.
  private var lastFix: Double?

  /// Valid air pressures in Pa: from the Dead Sea to above the highest mountain pass.
  package static let pressures = 30_000.0...115_000.0
  /// Random walk of the offset, in m/√s: 1.5 hPa in three hours, the border between "slowly" and "rising" in
  /// the Met Office's marine forecasts. This exceeds the weather's change over minutes and leaves room for a
  /// sensor that warms up.
  package static let offsetWalk = 0.12
  /// Initial standard deviations of the scale error and of the pressure coefficient.
  package static let (scale, coefficient) = (0.05, 0.05)
  /// Correlation time of the receiver's vertical error in s. The error follows satellites, troposphere and
  /// local reflections.
  private static let correlationTime = 120.0
  /// Share of the receiver's deviation that is uncorrelated between fixes.
  private static let whiteShare = 0.3
  /// Standard deviation in m caused by fan and windows, which no filter removes.
  package static let cabin = 0.8
  /// Limit of squared normalized residuals, and the longest time in s for which altitudes beyond this limit
  /// are rejected.
  private static let (gate, longestRefusal) = (12.0, 20.0)
  /// Maximum age difference in s between a compared pressure and altitude, and maximum age in s of a usable
  /// speed.
  private static let (simultaneous, speedAge) = (3.0, 5.0)

  public init() {}

  // MARK: Inputs

  /// Processes a pressure. Pressures that are out of order, not finite or outside the range of air pressure
  /// are ignored.
  /// - Returns: true if there is a new level, which happens once a second.
  @discardableResult
  public mutating func process(_ pressure: PressureData) -> Bool {
    guard Self.pressures.contains(pressure.pressure) else { return false }
    let time = seconds(pressure.timestamp)
    if time < lastTime - 1 { restart() }
    guard time > lastTime else { return false }
    lastTime = time
    let height = StandardAtmosphere.altitude(pressure: pressure.pressure)
    guard let next = trend.add(height, at: time) else { return false }
    if let before = level { advance(from: before, to: next) }
    level = next
    return true
  }

  /// Updates the filter with an altitude of the receiver.
  /// - Parameters:
  ///   - altitude: metres above a fixed reference surface.
  ///   - deviation: standard deviation in m as reported by the receiver.
  public mutating func update(altitude: Double, deviation: Double, at timestamp: Timestamp) {
    let time = seconds(timestamp)
    guard altitude.isFinite, abs(altitude) < 20_000, deviation.isFinite, deviation >= 0, deviation < 1000,
      let level, abs(time - level.time) <= Self.simultaneous
    else { return }
    let height = level.height(at: time)
    let deviation = max(0.3, deviation)
    if reference == nil { begin(at: height, altitude: altitude) }
    var row = sensitivity(height)
    row.w = deviation
    let gain = projected(row)
    let white = Self.whiteShare * deviation
    let variance = (row * gain).sum() + white * white + Self.cabin * Self.cabin
    let residual = altitude - height - (row * state).sum()
    if residual * residual > Self.gate * variance, !isConfirmedChange(residual, at: time) { return }
    (refusedSince, refusedCount, lastFix) = (nil, 0, time)
    correct(residual: residual, row: row, noise: white * white + Self.cabin * Self.cabin)
  }

  /// Sets the speed in m/s.
  public mutating func observe(speed: Double, at timestamp: Timestamp) {
    guard speed.isFinite, speed >= 0, speed < 150 else { return }
    self.speed = (speed, seconds(timestamp))
  }

  /// Sets whether the vehicle is at rest, where its height is constant; nil if unknown.
  public mutating func observe(isAtRest: Bool?) {
    if self.isAtRest, isAtRest != true { holds = true }
    self.isAtRest = isAtRest == true
    if self.isAtRest { holds = false }
  }

  // MARK: Outputs

  /// The altitude at the newest level; nil until an altitude and a pressure of the same time have arrived.
  public var altitude: AbsoluteAltitudeData? {
    guard let level, let origin, reference != nil else { return nil }
    let row = sensitivity(level.height)
    var variance = (row * projected(row)).sum() + Self.cabin * Self.cabin + level.deviation * level.deviation
    // The vehicle may have changed its speed since an old speed was reported, so the whole effect of driving
    // wind adds to the variance.
    if let speed, level.time - speed.time > Self.speedAge {
      let wind = Self.coefficient * Self.dynamicHeight(speed.value)
      variance += wind * wind
    }
    return AbsoluteAltitudeData(
      timestamp: origin.advanced(bySeconds: level.time), altitude: level.height + (row * state).sum(),
      accuracy: variance.squareRoot(), precision: level.deviation)
  }

  /// Seconds from the receiver's last accepted altitude to the newest level; nil before the first accepted
  /// altitude.
  public var secondsSinceFix: Double? {
    guard let lastFix, let level else { return nil }
    return max(0, level.time - lastFix)
  }

  /// True if the newest level keeps the previous height regardless of the pressure.
  var isHeld: Bool { isAtRest || holds }

  // MARK: The filter

  private mutating func begin(at height: Double, altitude: Double) {
    reference = height
    state = SIMD4(altitude - height, 0, 0, 0)
    rows[0] = SIMD4(1e6, 0, 0, 0)
    rows[1] = SIMD4(0, Self.scale * Self.scale, 0, 0)
    rows[2] = SIMD4(0, 0, Self.coefficient * Self.coefficient, 0)
    rows[3] = SIMD4(0, 0, 0, 1)
  }

  private mutating func advance(from before: PressureLevel, to next: PressureLevel) {
    guard reference != nil else {
      holds = false
      return
    }
    let seconds = next.time - before.time
    if isHeld {
      // During a rest the air pressure changed but the height did not.
      state.x -= next.height - before.height
      reference? += next.height - before.height
      if holds { rows[0].x += next.deviation * next.deviation }
      holds = false
    } else {
      rows[0].x += Self.offsetWalk * Self.offsetWalk * seconds
    }
    let kept = exp(-seconds / Self.correlationTime)
    state.w *= kept
    for index in 0..<4 { rows[index].w *= kept }
    rows[3] *= kept
    rows[3].w += 1 - kept * kept
  }

  /// Partial derivatives of the altitude with respect to the states, at a height in the standard atmosphere.
  private func sensitivity(_ height: Double) -> SIMD4<Double> {
    SIMD4(1, height - (reference ?? height), Self.dynamicHeight(speed?.value ?? 0), 0)
  }

  /// Height of air, in m, whose weight equals the dynamic pressure: v² / 2g.
  package static func dynamicHeight(_ speed: Double) -> Double { speed * speed / (2 * standardGravity) }

  private func projected(_ row: SIMD4<Double>) -> SIMD4<Double> {
    SIMD4((rows[0] * row).sum(), (rows[1] * row).sum(), (rows[2] * row).sum(), (rows[3] * row).sum())
  }

  private mutating func correct(residual: Double, row: SIMD4<Double>, noise: Double) {
    let gain = projected(row)
    let variance = (row * gain).sum() + noise
    state += gain * (residual / variance)
    for index in 0..<4 { rows[index] -= gain * (gain[index] / variance) }
  }

  /// Returns true if an altitude has contradicted the filter for so long that it is accepted. Either the
  /// pressure offset has changed, or earlier altitudes were wrong.
  private mutating func isConfirmedChange(_ residual: Double, at time: Double) -> Bool {
    let since = refusedSince ?? time
    refusedSince = since
    refusedCount += 1
    guard time - since >= Self.longestRefusal, refusedCount >= 5 else { return false }
    rows[0].x += residual * residual
    return true
  }

  private mutating func seconds(_ timestamp: Timestamp) -> Double {
    guard let origin else {
      origin = timestamp
      return 0
    }
    return timestamp.seconds(since: origin)
  }

  /// Restarts after the clock was set back.
  private mutating func restart() {
    let (isAtRest, origin) = (isAtRest, origin)
    self = AltitudeFilter()
    (self.isAtRest, self.origin) = (isAtRest, origin)
  }
}
