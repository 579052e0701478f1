internal import Glibc
internal import Sensors
internal import Spatial

/// Evidence of one beacon about the device's position: a mixture of two distributions. If the map's entry is
/// correct, the position has a normal distribution around the beacon, or around a circle if the distance is
/// known. If the entry is wrong, the density is flat.
struct BeaconEvidence {
  /// Position of the beacon in m, east and north of the frame's origin.
  let centre: SIMD2<Double>
  /// Variance of the device's position around `centre` in m², per axis.
  let variance: Double
  /// Part of `variance` in m² that comes from the map. It is common to all beacons learned at the same
  /// positions.
  let mapVariance: Double
  /// Measured distance of the device from `centre` in m, and its variance in m²; nil if the distance was not
  /// measured.
  let ring: (distance: Double, variance: Double)?
  /// Density in 1/m² if the entry is wrong, multiplied by the probability of this case.
  private let outlier: Double
  /// Maximum density in 1/m² if the entry is correct, multiplied by the probability of this case.
  private let inlier: Double

  /// Probability that a new map entry is wrong, because transmitters are relocated and phones travel.
  private static let wrong = 0.12
  /// Time in days in which half of the remaining entries become wrong.
  private static let halfLife = 1000.0
  /// Assumed distance in m between the device and a beacon whose entry is wrong: a constant, plus a multiple
  /// of the standard deviation of a correct entry. Larger distances give the same results.
  private static let (neighbourhood, reaches) = (500.0, 5.0)
  /// Standard deviation in m of a distance from a timing advance, including echoes. The step of a timing
  /// advance is 550 m in GSM and 78 m in LTE.
  private static func grain(_ technology: Beacon.Technology) -> Double { technology == .gsm ? 200 : 100 }
  /// Distance of a mast from the middle of its sector, as a share of the sector's reach.
  private static let mastOffset = 0.5

  /// - Parameters:
  ///   - speed: speed of the device in m/s, at which it may have moved since the sighting.
  ///   - day: today, in days since 1970.
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

  /// Returns the squared distance of a position from the beacon or its circle, in units of the standard
  /// deviation.
  func square(at place: SIMD2<Double>) -> Double {
    let offset = place - centre
    let square = (offset * offset).sum()
    guard let ring else { return square / variance }
    let radial = square.squareRoot() - ring.distance
    // The weak second term makes the solution unique for a single circle, whose own information matrix is
    // singular.
    return radial * radial / ring.variance + square / (16 * variance)
  }

  /// Returns the probability that the map entry is correct for a device at a position.
  func membership(at place: SIMD2<Double>) -> Double {
    let density = inlier * exp(-square(at: place) / 2)
    return density / (density + outlier)
  }

  /// Returns the logarithm of the mixture's likelihood.
  func logLikelihood(at place: SIMD2<Double>) -> Double {
    log(inlier * exp(-square(at: place) / 2) + outlier)
  }

  /// Returns the contribution to the normal equations around a position: information matrix (xx, xy, yy) and
  /// right-hand side.
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
