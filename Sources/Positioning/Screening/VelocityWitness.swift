internal import Glibc
internal import Spatial
internal import VehicleData

/// A test of positions against the receiver's own velocity: both come from different measurements (code and
/// Doppler), so that a deceived receiver seldom changes both consistently.
///
/// The residual is the position minus the integrated velocity. It varies within the errors of both. The
/// residual drifts if it moves farther than all errors together within `span` seconds. In addition, it must
/// move in the same direction in each third of that time, by at least `share` of the whole distance. A
/// receiver that corrects its position after a tunnel, in one step or within half a minute, therefore does
/// not drift.
///
/// A velocity is used only after it has agreed with the positions in motion: some receivers always report a
/// speed of zero.
struct VelocityWitness {
  private struct Sample {
    /// Time in s since the first location.
    var elapsed: Double
    var residual: SIMD2<Double>
    var velocity: SIMD2<Double>
    var accuracy: Double
    /// Distance travelled in m since the first location.
    var travelled: Double
    /// Distance in m travelled in motion since the first location, by velocities and by positions.
    var inMotion: SIMD2<Double>
  }

  private var samples: [Sample] = []
  private var newest: Location?
  /// Seconds since the start by the receiver's time, because a recording can be replayed fast.
  private var elapsed = 0.0
  private var last: (location: Location, velocity: SIMD2<Double>)?
  private var residual = SIMD2<Double>.zero
  private var travelled = 0.0
  private var inMotion = SIMD2<Double>.zero
  /// True if velocity and positions have agreed in motion.
  private var hasAgreed = false
  /// Time in s of the last detected drift since the start, and the distance of the drift in m; nil if none
  /// was detected.
  private var drift: (elapsed: Double, distance: Double)?

  /// Duration in s over which a drift is tested.
  static let span = 45.0
  /// Time in s without a drift, after which positions are plausible again.
  static let release = 60.0
  private static let share = 0.28
  /// Minimum time in s between two samples.
  private static let interval = 0.9
  /// Distance in m by which a position may always deviate from the velocity. It covers multipath at rest, and
  /// slow traffic below the lowest speed.
  private static let floor = 45.0
  /// Assumed errors of a residual. Position errors: a minimum in m, and a number of 68 % radii. Velocity
  /// errors: Doppler bias in m/s, a share of the distance travelled (course or wheel scale), and latency in
  /// s.
  private static let (least, radii, bias, scale, latency) = (10.0, 3.0, 0.15, 0.04, 0.7)
  /// Speed in m/s that counts as motion.
  private static let motion = 2.0
  /// Seconds and metres for which velocity and positions must agree before the velocity is used.
  private static let (agreementTime, agreementWay) = (10.0, 100.0)

  /// Discards the residual, because the position was corrected.
  mutating func interrupt() {
    samples.removeAll(keepingCapacity: true)
    last = nil
  }

  /// Processes an accepted location. Returns the suspicion against its position; nil if the position is
  /// plausible.
  mutating func process(_ location: Location, slowest: Double) -> Suspicion? {
    elapsed += newest.map { max(0, location.seconds(since: $0)) } ?? 0
    newest = location
    if let drift, elapsed - drift.elapsed > Self.release { self.drift = nil }
    observe(location, slowest)
    return drift.map { Suspicion(.velocity, distance: $0.distance) }
  }

  private mutating func observe(_ location: Location, _ slowest: Double) {
    let isSlow = location.speed.map { $0 <= slowest } ?? false
    guard let velocity = location.velocity ?? (isSlow ? .zero : nil) else { return interrupt() }
    defer { last = (location, velocity) }
    if let last {
      let step = location.seconds(since: last.location)
      guard step > 0, step <= FixScreen.longestStep else { return restart(location, velocity) }
      let way = LocalFrame(origin: last.location.coordinate).offset(of: location.coordinate)
      let expected = (last.velocity + velocity) / 2 * step
      residual += way - expected
      let length = expected.squaredLength.squareRoot()
      travelled += length
      // At rest, the noise of positions would add up to a distance, so only motion counts.
      if length >= Self.motion * step { inMotion += SIMD2(length, way.squaredLength.squareRoot()) }
    }
    if let newest = samples.last, elapsed - newest.elapsed < Self.interval {
      return
    }
    samples.append(sample(location, velocity))
    let start = samples.firstIndex { elapsed - $0.elapsed <= Self.span } ?? 0
    samples.removeFirst(start)
    test()
  }

  private mutating func restart(_ location: Location, _ velocity: SIMD2<Double>) {
    interrupt()
    samples.append(sample(location, velocity))
  }

  private func sample(_ location: Location, _ velocity: SIMD2<Double>) -> Sample {
    Sample(
      elapsed: elapsed, residual: residual, velocity: velocity,
      accuracy: location.horizontalAccuracy ?? FixScreen.unknownAccuracy, travelled: travelled,
      inMotion: inMotion)
  }

  private mutating func test() {
    guard let first = samples.first, let now = samples.last else { return }
    let seconds = now.elapsed - first.elapsed
    let moved = now.residual - first.residual
    let distance = moved.squaredLength.squareRoot()
    let way = now.travelled - first.travelled
    let lengths = now.inMotion - first.inMotion
    if seconds >= Self.agreementTime, lengths.x >= Self.agreementWay,
      abs(lengths.y - lengths.x) <= lengths.x / 5, distance <= lengths.x / 5
    {
      hasAgreed = true
    }
    // The oldest sample may be younger than `span`, so a slightly shorter time is sufficient.
    guard hasAgreed, seconds >= Self.span - FixScreen.longestStep, distance > Self.floor else { return }
    var change = 0.0
    for sample in samples {
      let (a, b) = (sample.velocity - first.velocity, sample.velocity - now.velocity)
      change = max(change, a.squaredLength, b.squaredLength)
    }
    let allowed =
      Self.least + Self.radii * hypot(first.accuracy, now.accuracy) + Self.bias * seconds + Self.scale * way
      + Self.latency * change.squareRoot()
    guard distance > allowed else { return }
    var before = first.residual
    for third in 1...3 {
      let due = Double(third) * seconds / 3 - 1e-6
      let end = samples.first { $0.elapsed - first.elapsed >= due } ?? now
      let part = ((end.residual - before) * moved).sum() / distance
      guard part >= Self.share * distance else { return }
      before = end.residual
    }
    drift = (now.elapsed, max(distance, drift?.distance ?? 0))
  }
}
