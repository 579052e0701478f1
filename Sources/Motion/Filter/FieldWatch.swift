internal import Glibc
internal import Spatial

/// Compares the field's horizontal length and vertical component with those of the mean field. A wrong heading
/// changes neither, so a difference is a disturbance, and the heading must rely on the gyroscope meanwhile
/// (compare Laidig and Seel 2023, section 3.6).
struct FieldWatch: Sendable {
  /// Mean square difference in µT²; it rises within a block and decays within seconds.
  private(set) var excess = 0.0
  /// True if rotations have shown that mean field and iron in use are right.
  private(set) var isProven = false
  /// Time in s in motion in which the field agreed with the mean.
  private var agreed = 0.0
  /// Low-passed component in µT across the mean's horizontal direction: the error of the heading.
  private var sideways = 0.0
  /// Length and inclination of the field, which remain known when the attitude is lost.
  private var reference = FieldReference()
  /// Time in s since the attitude was lost; nil unless the heading is still unknown.
  private var lostTime: Double?
  /// The field since it differed, in motion.
  private var local = FieldAverage()
  /// The field since the attitude was lost.
  private var afterLoss = FieldAverage()

  /// Mean square difference in µT² from which the field differs: 2 µT.
  static let limit = 4.0
  private static let attackTime = 0.3
  private static let releaseTime = 1.5
  /// Factor of the excess in the disturbance's variance. A disturbance that lasts for a minute counts as 30
  /// independent samples; at 4 they turn the heading by about 1°.
  private static let weight = 4.0
  /// Shortest and longest time in s after which a different, constant field replaces the mean.
  private static let patience = (least: 5.0, most: 90.0)
  /// A mean field that agreed for t s is defended for 4 (t - 10) s within these limits.
  private static let defence = (factor: 4.0, delay: 10.0)
  /// Component across the mean in µT, and shortest and longest time in s for which a field of the right length and
  /// inclination must have had it, that show a wrong heading. Error on twelve recordings with fields of 5 and 10 µT in
  /// the room: 4.52 and 5.74° with 45, for proven means only; 5.09 and 5.74° with 15; 4.12 and 5.26° with 45 or 90 for all means.
  private static let greatestSideways = 3.0
  private static let turnedPatience = (least: 15.0, most: 45.0)
  /// The same if the mean field has another length or inclination than the reference. Determined on gaps in twelve
  /// recordings: the heading error after 10 s is 3.9° with 3, 6.3° with 5 and 10, after 40 s 1.4° with all.
  private static let wrongMeanPatience = 3.0
  /// The same after the attitude was lost, and the time in s after which the loss no longer matters. On the same
  /// recordings, 2 and 5 give equal results.
  private static let lostPatience = 3.0
  private static let longestLoss = 60.0
  /// Time constant in s and variance per axis in µT² of a constant field.
  private static let localTime = 5.0
  private static let constantVariance = 2.0
  /// Heading bound in rad that proves mean field and iron.
  private static let proof = 6 * Double.pi / 180

  /// Variance of the disturbance in µT², from its usual one.
  @inline(__always)
  func disturbanceVariance(_ usual: Double) -> Double { usual + Self.weight * max(0, excess - usual) }

  /// Processes a block's field in µT, level frame.
  ///
  /// - Parameter noise: variance in µT² of the difference that is not caused by the field.
  /// - Returns: the field that replaces the mean, and its variance per axis; nil almost always.
  @inline(__always)
  mutating func observe(
    _ field: Vector3, mean: Vector3, noise: Double, isStill: Bool, _ interval: Double
  ) -> (field: Vector3, variance: Double)? {
    let square = max(0, Self.difference(field, mean) - noise)
    excess +=
      (1 - exp(-interval / (square > excess ? Self.attackTime : Self.releaseTime))) * (square - excess)
    if let restored = restored(field, interval) { return restored }
    if excess < Self.limit, noise < 0.5 * Self.limit, lostTime == nil { reference.learn(field, interval) }
    guard !isStill else { return nil }
    let length = (mean.x * mean.x + mean.y * mean.y).squareRoot()
    let across = length > 5 ? (mean.x * field.y - mean.y * field.x) / length : 0
    sideways += (1 - exp(-interval / Self.localTime)) * (across - sideways)
    guard excess < Self.limit else {
      return replacement(field, mean: mean, patience: defence, interval)
    }
    guard abs(sideways) > Self.greatestSideways else {
      agreed += interval
      local = FieldAverage()
      return nil
    }
    return replacement(field, mean: mean, patience: turnedDefence, interval)
  }

  /// The same against a field across the mean. Whether the field or the heading is wrong is unknown, so a proven mean
  /// is defended for as long as it agreed before.
  private var turnedDefence: Double {
    let (least, most) = Self.turnedPatience
    return isProven ? max(least, min(most, agreed)) : least
  }

  /// Time in s for which the mean field is defended against a field of another length or inclination.
  private var defence: Double {
    max(
      Self.patience.least, min(Self.patience.most, Self.defence.factor * (agreed - Self.defence.delay)))
  }

  /// - Parameter patience: longest time in s for which the mean is defended. A field that agrees with the
  ///   reference replaces it sooner.
  private mutating func replacement(
    _ field: Vector3, mean: Vector3, patience: Double, _ interval: Double
  ) -> (field: Vector3, variance: Double)? {
    local.add(field, over: Self.localTime, interval)
    var patience = patience
    if reference.agrees(with: local.mean) {
      patience = min(patience, reference.agrees(with: mean) ? turnedDefence : Self.wrongMeanPatience)
    }
    guard local.duration > patience, local.variance < Self.constantVariance else { return nil }
    agreed = 0
    return adopt(local)
  }

  /// Returns the field that restores a lost heading: the first constant one that agrees with the reference.
  private mutating func restored(_ field: Vector3, _ interval: Double) -> (field: Vector3, variance: Double)?
  {
    guard let time = lostTime else { return nil }
    lostTime = time + interval < Self.longestLoss ? time + interval : nil
    afterLoss.add(field, over: Self.localTime, interval)
    guard afterLoss.duration > Self.lostPatience else { return nil }
    let found = afterLoss
    afterLoss = FieldAverage()
    guard reference.agrees(with: found.mean), found.variance < Self.constantVariance else { return nil }
    lostTime = nil
    return adopt(found)
  }

  private mutating func adopt(_ found: FieldAverage) -> (field: Vector3, variance: Double) {
    adoptMean()
    return (found.mean, found.variance + 0.25)
  }

  /// Observes that the attitude was lost. The field's length and inclination remain known.
  mutating func loseAttitude() {
    let reference = reference
    self = FieldWatch()
    (self.reference, lostTime) = (reference, reference.isKnown ? 0 : nil)
  }

  /// Accepts a field determined from rotations, with the bound in rad of the heading error of `mean`, as a proof
  /// of mean field and iron if both agree.
  @inline(__always)
  mutating func prove(_ mean: Vector3, by evidence: FieldEvidence, _ headingBound: Double) {
    guard excess < Self.limit, headingBound < Self.proof, !isProven else { return }
    isProven = Self.agrees(evidence, mean)
  }

  /// Returns whether the evidence's field has the length and, if that was observed, the inclination of `mean`.
  static func agrees(_ evidence: FieldEvidence, _ mean: Vector3) -> Bool {
    var field = evidence.field
    // Turns about the vertical alone do not separate the vertical components of field and iron.
    if evidence.covariance(2, 2) > limit { field.z = mean.z }
    return difference(field, mean) < limit / 2
  }

  /// Resets the comparison after the mean field or the iron was replaced.
  mutating func adoptMean() { (excess, local, sideways, isProven) = (0, FieldAverage(), 0, false) }

  /// Returns the mean square difference of horizontal length and vertical component in µT².
  static func difference(_ a: Vector3, _ b: Vector3) -> Double {
    let lengths = ((a.x * a.x + a.y * a.y).squareRoot(), (b.x * b.x + b.y * b.y).squareRoot())
    return 0.5 * (squared(lengths.0 - lengths.1) + squared(a.z - b.z))
  }
}

/// Mean and variance per axis in µT and µT² of a field that may be constant.
struct FieldAverage: Sendable {
  private(set) var mean = Vector3.zero
  private(set) var variance = 0.0
  /// Time in s since the first field.
  private(set) var duration = 0.0

  mutating func add(_ field: Vector3, over time: Double, _ interval: Double) {
    if duration == 0 { mean = field }
    duration += interval
    let gain = max(interval / duration, 1 - exp(-interval / time))
    let away = field - mean
    mean += gain * away
    variance += gain * (away.dot(away) / 3 - variance)
  }
}

/// Horizontal length and vertical component of the mean field. Both are independent of the heading.
struct FieldReference: Sendable {
  /// µT.
  private var horizontal = 0.0
  private var vertical = 0.0
  /// Time in s for which the field was observed.
  private var duration = 0.0

  /// Time in s from which the reference is valid, and its time constant in s. On gaps in twelve recordings, 3 to 20
  /// and 15 to 60 give equal results.
  private static let leastDuration = 5.0
  private static let time = 30.0

  var isKnown: Bool { duration >= Self.leastDuration }

  /// Adds the field of a block in µT, level frame.
  mutating func learn(_ field: Vector3, _ interval: Double) {
    duration += interval
    let gain = max(interval / duration, interval / (interval + Self.time))
    horizontal += gain * ((field.x * field.x + field.y * field.y).squareRoot() - horizontal)
    vertical += gain * (field.z - vertical)
  }

  /// Returns whether a field in µT, level frame, has this length and inclination; false before they are known.
  func agrees(with field: Vector3) -> Bool {
    isKnown && FieldWatch.difference(field, Vector3(0, horizontal, vertical)) < FieldWatch.limit / 2
  }
}

/// Mean field and hard iron before new iron was accepted. A magnet that was brought to the device may be taken
/// away again.
struct FormerField: Sendable {
  /// Mean field in µT, level frame.
  let mean: Vector3
  /// Hard iron in µT, device frame.
  let iron: Vector3
  /// Time in s for which the field has agreed with these.
  private var agreed = 0.0

  init(mean: Vector3, iron: Vector3) { (self.mean, self.iron) = (mean, iron) }

  /// Returns whether the field without the former iron has had its former length and inclination for a second.
  mutating func applies(to field: Vector3, _ interval: Double) -> Bool {
    agreed = FieldWatch.difference(field, mean) < 0.75 * FieldWatch.limit ? agreed + interval : 0
    return agreed > 1
  }
}
