internal import Glibc
internal import Spatial

/// Detects a tilt that no gyroscope sample showed while a device is moved by hand, and measures it.
///
/// Hands turn a device all the time and change its velocity only by a few m/s. A larger implied change of
/// velocity is therefore gravity seen from a tilted frame. Over a window of T s, the mean of the force measures
/// the tilt with an error of the hand's change of velocity divided by T. The window starts where the force
/// changed and grows for ten seconds. Vehicles turn much less, and `LastingForce` watches them.
///
/// Motorcycles and aircraft turn as much as hands, and their velocity has no such bound. In a coordinated
/// curve the force has a constant direction in the device frame. Gravity in a tilted frame has a constant
/// direction in the level frame. The force therefore scatters less in the frame that explains it. If the
/// device turns too little to separate the two, a tilt is assumed only after seven seconds.
///
/// A tilt also rotates the magnetic field, and an acceleration does not. A device that hardly turns is a vehicle or a
/// hand; if its field changed by what the tilt changes it, the force is a tilt.
///
/// Not covered: a vehicle without navigation that accelerates for seconds while rough ground rocks it by more
/// than `handRate`.
struct TiltWatch: Sendable {
  /// Sums over half a second.
  private struct Part: Sendable {
    /// Force in m/s, level frame and device frame.
    var force = Vector3.zero
    var deviceForce = Vector3.zero
    /// Integral of the upward unit vector in s, device frame.
    var up = Vector3.zero
    /// Squared rate about horizontal axes in rad²/s.
    var turning = 0.0
    /// Squares of the force and of its horizontal part in (m/s²)² s.
    var square = 0.0
    var horizontalSquare = 0.0
    var duration = 0.0
    /// Integral in µT s of the difference between field and mean field, level frame, and its time in s.
    var fieldChange = Vector3.zero
    var fieldDuration = 0.0

    mutating func add(_ other: Part) {
      force += other.force
      deviceForce += other.deviceForce
      up += other.up
      turning += other.turning
      square += other.square
      horizontalSquare += other.horizontalSquare
      duration += other.duration
      fieldChange += other.fieldChange
      fieldDuration += other.fieldDuration
    }

    /// Square of the implied change of velocity in (m/s)².
    var speedSquare: Double { force.x * force.x + force.y * force.y }
    /// Mean horizontal force in m/s².
    var mean: SIMD2<Double> { SIMD2(force.x, force.y) / duration }
    /// Variance of the force about its mean in (m/s²)², level frame and device frame.
    var variance: Double { variance(about: force) }
    var deviceVariance: Double { variance(about: deviceForce) }
    /// Variance of the horizontal force per axis in (m/s²)².
    var horizontalVariance: Double { max(0, horizontalSquare / duration - (mean * mean).sum()) / 2 }
    /// Variance of the device's inclination in rad².
    var leanVariance: Double { 1 - up.dot(up) / (duration * duration) }

    /// Returns whether the device turned at more than a rate in rad/s, root mean square.
    func isTurning(above rate: Double) -> Bool { turning > rate * rate * duration }

    private func variance(about sum: Vector3) -> Double {
      max(0, square / duration - sum.dot(sum) / (duration * duration))
    }
  }

  /// A measured tilt.
  struct Finding: Sendable {
    /// Mean horizontal force in m/s², all of it from tilt, and its standard deviation per axis.
    var force: SIMD2<Double>
    var deviation: Double
    /// Variance of the force about its mean in (m/s²)².
    var variance: Double
    /// True for the first of the findings about one tilt.
    var isFirst: Bool
  }

  /// The last eight seconds, the newest first.
  private var parts = InlineArray<16, Part>(repeating: Part())
  private var part = Part()
  /// µT, level frame.
  private var meanField = Vector3.zero
  /// Sums since the change while the tilt is being measured.
  private var window: Part?
  /// Low-passed square of the implied change of velocity over four seconds in (m/s)².
  private var usualSquare = 4.0

  private static let partTime = 0.5
  /// Largest window in s.
  private static let longestWindow = 10.0
  /// Rate about horizontal axes in rad/s, root mean square over seconds, that cars do not reach. Cars on two
  /// drives turned by at most 0.16, devices in hands on twelve recordings by at least 0.3.
  private static let handRate = 0.3
  /// The same for a rate that motorcycles do not reach: at most 0.66 in simulated chicanes.
  private static let fastHandRate = 0.8
  /// Ratio of the force's variances in the level frame and in the device frame, above which the force turns
  /// with the device. Nine of ten windows in hands are below it; curves of motorcycles on even roads are
  /// above it.
  private static let greatestRatio = 1.5
  /// Excess of the variance in the device frame that proves a tilt: in (m/s²)², about that of a device that
  /// leans by 8° root mean square, and relative to the variance.
  private static let excess = (least: 2.0, relative: 0.3)
  /// Largest variance of the inclination in rad² that leaves tilt and curve undecided, and the time in s
  /// after which such a force is a tilt.
  private static let undecided = (leanVariance: 0.016, duration: 6.9)
  /// Multiple of the usual change of velocity that is not caused by hands, and its limits in m/s: turning
  /// round while walking, and throwing. On twelve recordings the largest change was 3.1 times the usual.
  private static let usualExcess = 3.5
  private static let speeds = (least: 3.0, most: 6.0)
  /// Least time in s of field samples, least change of the field in µT, and its largest relative deviation from the
  /// expected change, that show a tilt. 12° change a field of 45 µT by 9 µT. On twelve recordings, changes of 2 to
  /// 6 µT and deviations of 0.3 to 0.6 give equal results.
  private static let fieldTime = 2.0
  private static let leastFieldChange = 4.0
  private static let fieldAgreement = 0.4
  /// Smallest change of velocity in m/s that is assumed for the deviation of a measured tilt.
  private static let leastSpeed = 0.5

  /// Processes the means of a block.
  ///
  /// - Parameters:
  ///   - force: mean force in m/s², level frame.
  ///   - deviceForce: the same in the device frame.
  ///   - turn: rotation in rad, level frame.
  ///   - up: integral of the upward unit vector in s, device frame.
  ///   - field: mean field in µT, level frame; nil without samples.
  ///   - meanField: mean field before, level frame.
  mutating func observe(
    _ force: Vector3, deviceForce: Vector3, turn: Vector3, up: Vector3, field: Vector3?, meanField: Vector3,
    interval: Double
  ) -> Finding? {
    self.meanField = meanField
    part.add(
      Part(
        force: interval * force, deviceForce: interval * deviceForce, up: up,
        turning: (turn.x * turn.x + turn.y * turn.y) / interval,
        square: interval * force.dot(force),
        horizontalSquare: interval * (force.x * force.x + force.y * force.y), duration: interval,
        fieldChange: field.map { interval * ($0 - meanField) } ?? .zero,
        fieldDuration: field == nil ? 0 : interval))
    guard part.duration >= Self.partTime - 1e-9 else { return nil }
    let newest = part
    part = Part()
    if var window {
      window.add(newest)
      self.window = window.duration < Self.longestWindow ? window : nil
      return finding(window, isFirst: false)
    }
    remember(newest)
    return search()
  }

  private mutating func remember(_ newest: Part) {
    var parts = parts.mutableSpan
    for i in 1..<16 { parts[16 - i] = parts[15 - i] }
    parts[0] = newest
  }

  /// Returns the part of the window since the most likely change, if hands cannot have caused it.
  private mutating func search() -> Finding? {
    let limit = max(Self.speeds.least, min(Self.speeds.most, Self.usualExcess * usualSquare.squareRoot()))
    let (recent, found) = sums(limit)
    guard let recent else { return nil }
    guard let found else {
      if recent.isTurning(above: Self.handRate) {
        usualSquare += (1 - exp(-Self.partTime / 20)) * (recent.speedSquare - usualSquare)
      }
      return nil
    }
    guard isTilt(found) else { return nil }
    window = found
    parts = InlineArray(repeating: Part())
    return finding(found, isFirst: true)
  }

  /// Returns the sum of the last four seconds, and that since the most likely change; nil if there is none.
  /// - Parameter limit: least implied change of velocity in m/s.
  private func sums(_ limit: Double) -> (recent: Part?, found: Part?) {
    var sum = Part()
    var (recent, found): (Part?, Part?)
    var greatest = 0.0
    let parts = parts.span
    for i in 0..<16 where parts[i].duration > 0 {
      sum.add(parts[i])
      let likelihood = sum.speedSquare / sum.duration
      if i > 2, sum.speedSquare > limit * limit, likelihood > greatest {
        (found, greatest) = (sum, likelihood)
      }
      if i == 7 { recent = sum }
    }
    return (recent, found)
  }

  /// Returns whether a lasting force is a tilt rather than an acceleration of a vehicle.
  private func isTilt(_ window: Part) -> Bool {
    if fieldShowsTilt(window) { return true }
    let (variance, deviceVariance) = (window.variance, window.deviceVariance)
    guard window.isTurning(above: Self.handRate), variance < Self.greatestRatio * deviceVariance else {
      return false
    }
    if window.isTurning(above: Self.fastHandRate) { return true }
    if deviceVariance - variance > max(Self.excess.least, Self.excess.relative * deviceVariance) {
      return true
    }
    return window.duration > Self.undecided.duration && window.leanVariance < Self.undecided.leanVariance
  }

  /// Returns whether the tilt that explains the force also explains the field's change. An acceleration does not
  /// change the field.
  private func fieldShowsTilt(_ window: Part) -> Bool {
    guard window.fieldDuration > Self.fieldTime,
      let tilt = Quaternion.shortestTurn(from: window.force, to: Vector3(0, 0, 1))
    else { return false }
    let change = window.fieldChange / window.fieldDuration
    let expected = tilt.conjugate.rotate(meanField) - meanField
    return expected.length > Self.leastFieldChange
      && (change - expected).length < Self.fieldAgreement * expected.length
  }

  private func finding(_ window: Part, isFirst: Bool) -> Finding {
    let mean = window.mean
    let speed = max(Self.leastSpeed, usualSquare.squareRoot())
    return Finding(
      force: mean, deviation: speed / window.duration,
      variance: window.horizontalVariance, isFirst: isFirst)
  }

  /// Adjusts the window after the frame was corrected, which changed the force by `change` m/s².
  mutating func correct(by change: SIMD2<Double>) {
    guard let duration = window?.duration else { return }
    window?.force += duration * Vector3(change.x, change.y, 0)
  }

  mutating func forget() { self = TiltWatch() }
}
