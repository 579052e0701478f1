internal import Glibc
internal import Sensors
internal import Spatial

/// What one beacon says of where the device is: a mixture of a normal distribution around it (around a circle, where the
/// distance is known) and of "it is not there any more".
struct BeaconEvidence {
  /// Metres east and north.
  let centre: SIMD2<Double>
  /// Per axis, m².
  let variance: Double
  /// Of it, what the map does not know better: it is the same for all that were learned at the same places.
  let mapVariance: Double
  /// Metres from the centre and their variance; nil where only the signal tells.
  let ring: (distance: Double, variance: Double)?
  /// The density of a beacon that is elsewhere, with its probability; and the probability that it is not.
  private let outlier: Double
  private let inlier: Double

  /// The probability that an entry of a map is wrong when it is new: transmitters move house, and phones travel.
  private static let wrong = 0.12
  /// Days in which half of what is left goes wrong.
  private static let halfLife = 1000.0
  /// Metres: where a wrong one's place is taken to be from here, beside some of its reaches. Farther ones decide no more.
  private static let (neighbourhood, reaches) = (500.0, 5.0)
  /// Metres, one deviation: the grain of a timing advance, with echoes. GSM counts in 550 m, LTE in 78 m.
  private static func grain(_ technology: Beacon.Technology) -> Double { technology == .gsm ? 200 : 100 }
  /// Of a reach: how far a mast is from the middle of where its sector is heard.
  private static let mastOffset = 0.5

  /// - Parameters:
  ///   - speed: m/s by which the device may have gone on since it was heard.
  ///   - day: today, days since 1970.
  init(_ sighting: BeaconSighting, _ place: MappedBeacon, in frame: LocalFrame, speed: Double, day: Int) {
    centre = frame.offset(of: place.coordinate)
    let reach = max(place.reach, place.beacon.technology.leastReach)
    let near = reach * PathLoss.ratio(sighting)
    let way = speed * sighting.age
    mapVariance = reach * reach / Double(place.sightings)
    let drift = mapVariance + way * way
    if let distance = sighting.distance, distance.isFinite, (0...100_000).contains(distance) {
      let grain = Self.grain(place.beacon.technology)
      let offset = Self.mastOffset * reach
      ring = (distance, grain * grain + offset * offset + drift)
      let far = max(reach, distance)
      variance = far * far + drift
    } else {
      ring = nil
      variance = near * near + drift
    }
    let sound = (1 - Self.wrong) * exp2(-Double(max(0, day - place.lastSeen)) / Self.halfLife)
    let spread = Self.neighbourhood + Self.reaches * variance.squareRoot()
    inlier = sound / (2 * .pi * variance)
    outlier = (1 - sound) / (2 * .pi * spread * spread)
  }

  /// The square of how many deviations off a place is.
  func square(at place: SIMD2<Double>) -> Double {
    let offset = place - centre
    let square = (offset * offset).sum()
    guard let ring else { return square / variance }
    let radial = square.squareRoot() - ring.distance
    // The weaker of the two keeps a lone circle from being a line.
    return radial * radial / ring.variance + square / (16 * variance)
  }

  /// The probability that a device there hears it where the map has it.
  func membership(at place: SIMD2<Double>) -> Double {
    let density = inlier * exp(-square(at: place) / 2)
    return density / (density + outlier)
  }

  /// Of the mixture.
  func logLikelihood(at place: SIMD2<Double>) -> Double {
    log(inlier * exp(-square(at: place) / 2) + outlier)
  }

  /// What it adds to the normal equations around a place: the information matrix (xx, xy, yy) and the vector to be solved for.
  func information(at place: SIMD2<Double>) -> (matrix: SIMD3<Double>, vector: SIMD2<Double>) {
    guard let ring else {
      return (SIMD3(1 / variance, 0, 1 / variance), centre / variance)
    }
    let offset = place - centre
    let length = (offset * offset).sum().squareRoot()
    let axis = length > 1e-6 ? offset / length : SIMD2(1, 0)
    let matrix = SIMD3(axis.x * axis.x, axis.x * axis.y, axis.y * axis.y) / ring.variance
    let target = centre + axis * ring.distance
    let weak = 1 / (16 * variance)
    let along = (axis * target).sum() / ring.variance
    return (matrix + SIMD3(weak, 0, weak), axis * along + centre * weak)
  }
}
