internal import Glibc
public import Sensors
public import Spatial

/// The altitude by receiver and pressure together, with an accuracy that can be believed.
///
/// A barometer knows within decimetres how the height changes, and not within tens of metres where it is; of a receiver it is
/// the other way round. A Kalman filter with four states makes one of both:
///
/// - the offset of the standard atmosphere, a random walk: weather, the sensor's temperature, fan and windows;
/// - the error of its scale, as the air is warmer or colder than standard: 5 % (15 K), from the height of the start;
/// - the pressure coefficient of where the sensor is: driving wind changes a cabin's pressure by that share of ρ v² / 2;
/// - the receiver's error in units of its own deviation, a Gauss-Markov process: neighbouring fixes are wrong alike, and averaging them
///   is worth what it is worth (A. Gelb, "Applied Optimal Estimation", 1974, chapter 4).
///
/// A receiver's altitude that contradicts is refused; when it still does after 20 seconds, it is believed after all. At rest the
/// height stays, and what the pressure does is weather.
public struct AltitudeFilter: Sendable {
  private var state = SIMD4<Double>.zero
  /// The covariance, by row.
  private var rows = InlineArray<4, SIMD4<Double>>(repeating: .zero)
  private var trend = PressureTrend()
  private(set) var level: PressureLevel?
  /// m in the standard atmosphere to which the scale's error refers; nil before the first altitude of the receiver.
  private var reference: Double?
  private var origin: Timestamp?
  private var lastTime = -Double.infinity
  private var speed: (value: Double, time: Double)?
  private var refusedSince: Double?
  private var refusedCount = 0
  private(set) var isAtRest = false
  /// The first level after a rest is that of the rest: meanwhile the barometer may have been off.
  private var holds = false
  /// s of the newest altitude of the receiver that was believed.
  private var lastFix: Double?

  /// Pa between which a barometer can be right: from the Dead Sea to above every pass.
  package static let pressures = 30_000.0...115_000.0
  /// m for the square root of a second: 1.5 hPa in three hours, the border between "slowly" and plain "rising" in the terms of the
  /// Met Office's marine forecasts. Over minutes that is more than weather does, and leaves room for a sensor that warms up.
  package static let offsetWalk = 0.12
  /// Deviations of the scale's error and of the pressure coefficient.
  package static let (scale, coefficient) = (0.05, 0.05)
  /// s: a receiver's vertical error follows satellites, troposphere and reflections of the surroundings.
  private static let correlationTime = 120.0
  /// Of a receiver's deviation: what is new from fix to fix.
  private static let whiteShare = 0.3
  /// m, one deviation: fan and windows, which no filter takes out.
  package static let cabin = 0.8
  /// Squared residual in units of its variance beyond which an altitude is refused, and for how long (s).
  private static let (gate, longestRefusal) = (12.0, 20.0)
  /// s between a pressure and an altitude of the same moment, and after which a speed says nothing any more.
  private static let (simultaneous, speedAge) = (3.0, 5.0)

  public init() {}

  // MARK: What goes in

  /// Takes a pressure. What is older than the one before, not finite, or no pressure of the air is passed over.
  /// - Returns: whether there is a new level: once a second.
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

  /// Takes an altitude of the receiver.
  /// - Parameters:
  ///   - altitude: m above a surface that is always the same.
  ///   - deviation: m, one standard deviation by the receiver's own word.
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
    if residual * residual > Self.gate * variance, !isBelievedAfterAll(residual, at: time) { return }
    (refusedSince, refusedCount, lastFix) = (nil, 0, time)
    correct(residual: residual, row: row, noise: white * white + Self.cabin * Self.cabin)
  }

  /// Learns the speed, m/s.
  public mutating func observe(speed: Double, at timestamp: Timestamp) {
    guard speed.isFinite, speed >= 0, speed < 150 else { return }
    self.speed = (speed, seconds(timestamp))
  }

  /// Learns whether the vehicle rests, so that its height stays; nil when nothing tells.
  public mutating func observe(isAtRest: Bool?) {
    if self.isAtRest, isAtRest != true { holds = true }
    self.isAtRest = isAtRest == true
    if self.isAtRest { holds = false }
  }

  // MARK: What comes out

  /// The altitude at the newest level; nil before a receiver has said one while there was a pressure.
  public var altitude: AbsoluteAltitudeData? {
    guard let level, let origin, reference != nil else { return nil }
    let row = sensitivity(level.height)
    var variance = (row * projected(row)).sum() + Self.cabin * Self.cabin + level.deviation * level.deviation
    // A speed that nobody has said for some time may be another by now.
    if let speed, level.time - speed.time > Self.speedAge {
      let wind = Self.coefficient * Self.dynamicHeight(speed.value)
      variance += wind * wind
    }
    return AbsoluteAltitudeData(
      timestamp: origin.advanced(bySeconds: level.time), altitude: level.height + (row * state).sum(),
      accuracy: variance.squareRoot(), precision: level.deviation)
  }

  /// Seconds from the receiver's last altitude to the newest level; nil before there was one.
  public var secondsSinceFix: Double? {
    guard let lastFix, let level else { return nil }
    return max(0, level.time - lastFix)
  }

  /// Whether the height of the level is that of the one before, whatever the pressure says.
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
      // Where it rested the air has changed, and the place has not.
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

  /// How the altitude changes with the states, where the level is at a height in the standard atmosphere.
  private func sensitivity(_ height: Double) -> SIMD4<Double> {
    SIMD4(1, height - (reference ?? height), Self.dynamicHeight(speed?.value ?? 0), 0)
  }

  /// v² / 2g: m of air that weigh as much as the driving wind presses.
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

  /// What has contradicted for long is right in the end: the air of the place is another, or the receiver was wrong before.
  private mutating func isBelievedAfterAll(_ residual: Double, at time: Double) -> Bool {
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

  /// A clock that was set back stays there.
  private mutating func restart() {
    let (isAtRest, origin) = (isAtRest, origin)
    self = AltitudeFilter()
    (self.isAtRest, self.origin) = (isAtRest, origin)
  }
}
