internal import Glibc
public import Sensors
internal import Spatial

/// Finds the position that explains best which beacons are heard, and says honestly how well that is known.
///
/// Each beacon is a normal distribution around its place, as wide as it is usually heard, narrower for a strong signal
/// (log-distance path loss), wider for one that was heard a while ago or rarely. Each may be wrong: it has moved, or it is a phone
/// in the same bus. So its likelihood is a mixture of that distribution and of a flat one (robust estimation by a contaminated
/// normal; P. Huber, "Robust Statistics", 1981, chapter 1; the mixture is solved by expectation-maximization, A. Dempster,
/// N. Laird, D. Rubin, 1977), and many that agree outvote some that do not.
///
/// - Where beacons contradict each other, so that several places explain them, the radius holds as many of these as its share.
/// - Errors of beacons that are heard together go together, because walls and the street are the same for all, and so were the few
///   places where they were learned: twenty are not better than one by the root of twenty.
/// - Where few of the access points that are heard are known, or all were heard weakly where they were learned, that was another street:
///   the radius holds the way to it (`LearnedGround`). A few known among many others have moved here, and are no position.
/// - A single beacon gives its reach, a cell alone its circle, one with a timing advance the circle through its ring.
///
/// Pure: the same scan and map give the same position.
public struct CoarseLocator: Sendable {
  /// Metres at 68 %: a position that is known no better than this is none.
  public static let worstAccuracy = 50_000.0
  /// m/s by which a device may have moved while a scan went on, where nothing is known of its speed.
  public static let usualSpeed = 15.0

  /// Per axis, of radii at 68 and at 95 %.
  static let (radial68, radial95) = (1.510, 2.448)
  /// The correlation of the errors of beacons that are heard together, beside that of the map.
  private static let correlation = 0.02
  /// Of a map's own variance: what beacons that are heard together have in common of it.
  private static let mapCorrelation = 0.5
  /// As many beacons as the typical distance of beacons, where nothing is known of it, counts as.
  private static let scalePrior = 3.0
  /// The share of a map's entries that is usually wrong.
  private static let usuallyWrong = 0.15
  /// Beacons whose places the search begins at; places that are searched from; and its steps at most.
  private static let (seeds, searches, steps) = (24, 4, 15)
  /// Metres: a beacon that does not agree and is nearer may be right.
  private static let neighbourhood = 1000.0
  /// Metres between two steps that end it.
  private static let convergence = 0.5
  /// As many beacons as the scatter that is expected counts as.
  private static let scatterPrior = 3.0

  public init() {}

  /// The position that a scan gives; nil where the map knows nothing of it, or nothing that can be true.
  /// - Parameters:
  ///   - scan: of which the 128 strongest sightings of at most a minute ago are used.
  ///   - map: what is known of them; what it says of others, and what cannot be true, is left out.
  ///   - speed: m/s that the device may have had meanwhile.
  ///   - day: today, days since 1970: what was last heard long ago may have moved.
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
    // Where most are, so that the flat frame is exact there.
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

  /// How far from a place the beacons were learned; nil where none of them is an access point: a
  /// cell is known where it is known.
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
    // Not the very nearest, because a place of a single sighting is a matter of luck.
    let distances = known.values.map(\.away).sorted()
    // One that is known elsewhere has moved, which says nothing of here.
    let moved = Set(heard.map(\.1.beacon)).subtracting(known.keys)
    return LearnedGround(
      points.filter { !moved.contains($0.beacon) }.map {
        LearnedGround.Witness(signal: $0.soundSignal, known: known[$0.beacon])
      }, scale: scale,
      nearest: distances[distances.count / 10])
  }

  /// A place that explains the evidence.
  private struct Mode {
    var place: SIMD2<Double>
    /// Metres, per axis.
    var deviation: Double
    /// Metres from the place to where the device can be at all: of a ring.
    var inner = 0.0
    var logMass: Double
    /// The sum of the memberships.
    var supporters: Double
  }

  /// The places that explain the evidence, the likeliest first.
  private static func modes(_ evidence: [BeaconEvidence]) -> [Mode] {
    if evidence.count == 1, let only = evidence.first {
      return [lone(only)]
    }
    // The frame's origin is the strongest of them.
    let starts = evidence.prefix(seeds).map { start in
      (place: start.centre, score: evidence.reduce(0) { $0 + $1.logLikelihood(at: start.centre) })
    }.sorted { $0.score > $1.score }
    var modes: [Mode] = []
    var tried: [SIMD2<Double>] = []
    for start in starts where tried.count < searches {
      // A start within what was found leads there again.
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

  /// Expectation-maximization from a start.
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
    // The mean of both axes' variances: a radius holds its share of either.
    let variance = (matrix.x + matrix.z) / (2 * determinant)
    let independent = weights * weights / weightSquares
    let scatter = max(1, (squares + 2 * scatterPrior) / (2 * max(0, supporters - 1) + 2 * scatterPrior))
    // Near ones that do not agree, and are more than have moved, may be right.
    let count = Double(evidence.count)
    let excess = max(0, 1 - supporters / count - usuallyWrong) / max(1 - supporters / count, 1e-9)
    let own = variance * (1 + correlation * (independent - 1)) * scatter + excess * strays / (2 * count)
    let deviation = (own + mapCorrelation * mapVariance / weights).squareRoot()
    return Mode(
      place: place, deviation: deviation, logMass: logLikelihood - log(determinant) / 2,
      supporters: supporters)
  }

  /// The radii around the first mode that hold their shares of all; nil for none.
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
