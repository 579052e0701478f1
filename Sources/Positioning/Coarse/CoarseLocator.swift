internal import Glibc
public import Sensors
internal import Spatial

/// Estimates the position that best explains the beacons heard, with a realistic accuracy.
///
/// Each beacon is a normal distribution around its position, with the width of its usual reach. The
/// distribution is narrower for a strong signal (log-distance path loss), and wider for an old sighting or an
/// entry with few sightings. Any entry may be wrong, because the beacon was moved or is a phone in the same
/// bus. Its likelihood is therefore a mixture of that distribution and a flat one (robust estimation by a
/// contaminated normal; P. Huber, "Robust Statistics", 1981, chapter 1; the mixture is solved by
/// expectation-maximization, A. Dempster, N. Laird, D. Rubin, 1977), and many beacons that agree outvote a
/// few that do not.
///
/// - If beacons contradict each other, so that several positions explain them, the radius contains the
///   required share of the probability of all these positions.
/// - Errors of beacons heard together are correlated, because they share walls, the street, and the few
///   positions where they were learned. Twenty beacons therefore do not reduce the error by the root of
///   twenty.
/// - If few of the access points heard are in the map, or all were heard weakly where they were learned, they
///   were learned in another street. The radius then includes the distance to that street (`LearnedGround`).
///   A few known access points among many unknown ones were probably relocated here and give no position.
/// - The radius of a position from a single beacon follows from the beacon's reach, or from the distance if a
///   cell reports a timing advance.
///
/// Pure: equal scans and maps give equal positions.
public struct CoarseLocator: Sendable {
  /// Maximum radius of a position in m (68 %).
  public static let worstAccuracy = 50_000.0
  /// Assumed speed of the device in m/s during a scan, if the speed is unknown.
  public static let usualSpeed = 15.0

  /// Ratios of 68 % and 95 % radii to the standard deviation per axis.
  static let (radial68, radial95) = (1.510, 2.448)
  /// Correlation of the errors of beacons heard together, in addition to the common errors of the map.
  private static let correlation = 0.02
  /// Share of the variance from the map that beacons heard together have in common.
  private static let mapCorrelation = 0.5
  /// Weight of the usual distance when it is averaged with measured distances, as an equivalent number of
  /// beacons.
  private static let scalePrior = 3.0
  /// Usual share of wrong map entries.
  private static let usuallyWrong = 0.15
  /// Limits of the search: number of beacons whose positions are candidates for a start, number of starts,
  /// and number of steps from each start.
  private static let (seeds, searches, steps) = (24, 4, 15)
  /// Distance in m up to which a beacon that disagrees with the position increases the position's radius.
  private static let neighbourhood = 1000.0
  /// Step size in m below which the search ends.
  private static let convergence = 0.5
  /// Weight of the expected scatter when it is averaged with the measured scatter, as an equivalent number of
  /// beacons.
  private static let scatterPrior = 3.0

  public init() {}

  /// Returns the position of a scan; nil if the map contains no usable entry for it.
  /// - Parameters:
  ///   - scan: the scan, of which the 128 strongest sightings of the last minute are used.
  ///   - map: entries of beacons. Entries of other beacons and invalid entries are ignored.
  ///   - speed: speed of the device in m/s during the scan.
  ///   - day: today, in days since 1970. Beacons that were not heard for a long time may have been relocated.
  public func position(
    of scan: RadioScan, by map: any BeaconMap, speed: Double = usualSpeed, day: Int
  ) -> CoarsePosition? {
    let sightings = scan.useful
    guard !sightings.isEmpty else { return nil }
    return position(
      sightings, map.lookUp(sightings.map(\.beacon)), speed: speed, day: day, at: scan.timestamp)
  }

  private func position(
    _ sightings: [BeaconSighting], _ known: [MappedBeacon], speed: Double, day: Int, at timestamp: Timestamp
  ) -> CoarsePosition? {
    let places = Dictionary(
      known.prefix(2 * RadioScan.mostUseful).lazy.filter(\.isSound).map { ($0.beacon, $0) },
      uniquingKeysWith: { first, _ in first })
    let heard = sightings.compactMap { sighting in places[sighting.beacon].map { (sighting, $0) } }
    guard let first = heard.first else { return nil }
    // The origin is close to most beacons, where the flat frame is exact.
    let frame = LocalFrame(origin: first.1.coordinate)
    let speed = speed.isFinite ? max(0, speed) : Self.usualSpeed
    let evidence = heard.map { BeaconEvidence($0, $1, in: frame, speed: speed, day: day) }
    let modes = Self.modes(evidence)
    guard let best = modes.first else { return nil }
    let ground = Self.ground(sightings, heard, evidence, at: best.place)
    let hasCell = heard.contains { $0.0.beacon.technology.isCell }
    guard hasCell || ground?.isNear ?? false, let radii = Self.radii(modes, ground) else { return nil }
    let coordinate = frame.coordinate(at: best.place)
    guard coordinate.isValid, radii.at68.isFinite, radii.at95.isFinite, radii.at68 <= Self.worstAccuracy
    else { return nil }
    return CoarsePosition(
      timestamp: timestamp, coordinate: coordinate, horizontalAccuracy: radii.at68, radius95: radii.at95,
      beacons: max(1, Int(best.supporters.rounded())))
  }

  /// Returns the distance to where the beacons were learned; nil without access points, because cells are
  /// mapped completely.
  private static func ground(
    _ sightings: [BeaconSighting], _ heard: [(BeaconSighting, MappedBeacon)], _ evidence: [BeaconEvidence],
    at place: SIMD2<Double>
  ) -> LearnedGround? {
    let points = sightings.filter { !$0.beacon.technology.isCell }
    guard !points.isEmpty else { return nil }
    var known: [Beacon: (away: Double, strongest: Double?)] = [:]
    var (squares, members) = (0.0, 0.0)
    for ((sighting, entry), beacon) in zip(heard, evidence) where !sighting.beacon.technology.isCell {
      let (member, away) = (beacon.membership(at: place), distance(place, beacon.centre))
      squares += member * away * away
      members += member
      if member > 0.5 { known[sighting.beacon] = (away, entry.strongest) }
    }
    guard !known.isEmpty else { return nil }
    let usual = 2 * Beacon.Technology.wifi.usualReach * Beacon.Technology.wifi.usualReach
    let scale = ((squares + scalePrior * usual) / (members + scalePrior)).squareRoot()
    // The tenth percentile of the distances. The minimum is unsuitable, because the position of an entry with
    // a single sighting is random.
    let distances = known.values.map(\.away).sorted()
    // A beacon mapped elsewhere was relocated, so it is no evidence about the distance.
    let moved = Set(heard.map(\.1.beacon)).subtracting(known.keys)
    return LearnedGround(
      points.filter { !moved.contains($0.beacon) }.map {
        LearnedGround.Witness(signal: $0.soundSignal, known: known[$0.beacon])
      }, scale: scale,
      nearest: distances[distances.count / 10])
  }

  /// A local maximum of the likelihood: one position that explains the evidence.
  private struct Mode {
    var place: SIMD2<Double>
    /// Standard deviation per axis in m.
    var deviation: Double
    /// Radius in m of the circle around `place` on which the device lies; 0 if the device lies near `place`
    /// itself.
    var inner = 0.0
    var logMass: Double
    /// Expected number of beacons that agree with the position: the sum of their memberships.
    var supporters: Double
  }

  /// Returns the local maxima of the likelihood, the most likely first.
  private static func modes(_ evidence: [BeaconEvidence]) -> [Mode] {
    if evidence.count == 1, let only = evidence.first {
      return [lone(only)]
    }
    let starts = evidence.prefix(seeds).map { start in
      (place: start.centre, score: evidence.reduce(0) { $0 + $1.logLikelihood(at: start.centre) })
    }.sorted { $0.score > $1.score }
    var modes: [Mode] = []
    var tried: [SIMD2<Double>] = []
    for start in starts where tried.count < searches {
      // A start close to an existing mode converges to that mode again.
      if modes.contains(where: { distance($0.place, start.place) < 3 * $0.deviation }) { continue }
      tried.append(start.place)
      guard let mode = climb(from: start.place, evidence) else { continue }
      if !modes.contains(where: { distance($0.place, mode.place) < 0.5 * ($0.deviation + mode.deviation) }) {
        modes.append(mode)
      }
    }
    return modes.sorted { $0.logMass > $1.logMass }
  }

  private static func distance(_ a: SIMD2<Double>, _ b: SIMD2<Double>) -> Double {
    ((a - b) * (a - b)).sum().squareRoot()
  }

  private static func lone(_ evidence: BeaconEvidence) -> Mode {
    guard let ring = evidence.ring else {
      return Mode(
        place: evidence.centre, deviation: evidence.variance.squareRoot(), logMass: 0, supporters: 1)
    }
    return Mode(
      place: evidence.centre, deviation: ring.variance.squareRoot(), inner: ring.distance, logMass: 0,
      supporters: 1)
  }

  /// Runs expectation-maximization from a start. Returns nil if the evidence does not determine a position.
  private static func climb(
    from start: SIMD2<Double>, _ evidence: [BeaconEvidence]
  ) -> Mode? {
    var place = start
    for _ in 0..<steps {
      var (matrix, vector) = (SIMD3<Double>(), SIMD2<Double>())
      for beacon in evidence {
        let weight = beacon.membership(at: place)
        let information = beacon.information(at: place)
        matrix += weight * information.matrix
        vector += weight * information.vector
      }
      let determinant = matrix.x * matrix.z - matrix.y * matrix.y
      guard determinant > 0, determinant.isFinite else { return nil }
      let next =
        SIMD2(
          matrix.z * vector.x - matrix.y * vector.y, matrix.x * vector.y - matrix.y * vector.x) / determinant
      let step = distance(next, place)
      guard step.isFinite else { return nil }
      place = next
      if step < convergence { break }
    }
    return mode(at: place, evidence)
  }

  private static func mode(
    at place: SIMD2<Double>, _ evidence: [BeaconEvidence]
  ) -> Mode? {
    var (matrix, supporters, squares, weights, weightSquares) = (SIMD3<Double>(), 0.0, 0.0, 0.0, 0.0)
    var (logLikelihood, mapVariance, strays) = (0.0, 0.0, 0.0)
    for beacon in evidence {
      let member = beacon.membership(at: place)
      matrix += member * beacon.information(at: place).matrix
      supporters += member
      squares += member * beacon.square(at: place)
      let weight = member / beacon.variance
      weights += weight
      weightSquares += weight * weight
      mapVariance += weight * beacon.mapVariance
      let away = distance(place, beacon.centre)
      if away < neighbourhood { strays += (1 - member) * away * away }
      logLikelihood += beacon.logLikelihood(at: place)
    }
    let determinant = matrix.x * matrix.z - matrix.y * matrix.y
    guard determinant > 0, determinant.isFinite, weights > 0 else { return nil }
    // The mean of both axes' variances, because a radius covers both.
    let variance = (matrix.x + matrix.z) / (2 * determinant)
    let independent = weights * weights / weightSquares
    let scatter = max(1, (squares + 2 * scatterPrior) / (2 * max(0, supporters - 1) + 2 * scatterPrior))
    // If more nearby beacons disagree than the usual share of wrong entries, some of them may be right. Their
    // distances then increase the radius.
    let count = Double(evidence.count)
    let excess = max(0, 1 - supporters / count - usuallyWrong) / max(1 - supporters / count, 1e-9)
    let own = variance * (1 + correlation * (independent - 1)) * scatter + excess * strays / (2 * count)
    let deviation = (own + mapCorrelation * mapVariance / weights).squareRoot()
    return Mode(
      place: place, deviation: deviation, logMass: logLikelihood - log(determinant) / 2,
      supporters: supporters)
  }

  /// Returns the radii around the first mode that contain 68 % and 95 % of the probability of all modes; nil
  /// without a mode.
  private static func radii(_ modes: [Mode], _ ground: LearnedGround?) -> (at68: Double, at95: Double)? {
    guard let best = modes.first else { return nil }
    let masses = modes.map { exp($0.logMass - best.logMass) }
    let total = masses.reduce(0, +)
    guard total.isFinite, total > 0 else { return nil }
    func radius(_ share: Double, _ factor: Double, deviations: Double) -> Double {
      var (held, radius) = (0.0, 0.0)
      let off = ground?.distance(at: share, deviations: deviations) ?? 0
      for (mode, mass) in zip(modes, masses) where held < share {
        let own = mode.inner > 0 ? mode.inner + deviations * mode.deviation : factor * mode.deviation
        radius = max(radius, distance(mode.place, best.place) + (own * own + off * off).squareRoot())
        held += mass / total
      }
      return radius
    }
    return (radius(0.68, radial68, deviations: 0.468), radius(0.95, radial95, deviations: 1.645))
  }
}
