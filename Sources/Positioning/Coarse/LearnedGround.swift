internal import Glibc
internal import Sensors

/// Estimates the distance of the device from where its beacons were learned, from the scan's signals.
///
/// A map covers the streets that were driven. In a neighbouring street some of the same access points are
/// heard, but the position that explains them best lies in the learned street, where all of them were heard.
/// Two observations indicate this:
///
/// - A strong signal means that the transmitter is near. The strongest signal at learning time indicates its
///   distance from the learned street.
/// - Unknown access points were too weak to be heard there, or are new, or were relocated.
///
/// Both form one regression of the strongest signal on the distance, censored at the radio's sensitivity (J.
/// Tobin, "Estimation of relationships for limited dependent variables", Econometrica 26, 1958). The scan
/// provides the scale: its typical signal corresponds to the typical distance of known beacons.
struct LearnedGround {
  /// An access point of the scan.
  struct Witness {
    /// Signal in dBm; nil if unknown.
    var signal: Double?
    /// Map entry near the position: distance in m to where the access point was learned, and strongest signal
    /// there in dBm (nil if unknown). Nil without an entry.
    var known: (away: Double, strongest: Double?)?
  }

  /// Path loss in dB per factor of ten in distance.
  private static let slope = 10 * PathLoss.exponent
  /// Share of the variation of a scan's signals that comes from distances. The remaining share comes from
  /// walls.
  private static let share = 0.5
  /// Standard deviation in dB of the strongest signal at a distance from a street, caused by walls and by the
  /// position along the street.
  private static let deviation = 9.0
  /// Share of access points in a learned street that are unknown because they are new, were relocated, or
  /// were missed during learning.
  private static let unknown = 0.15
  /// Probability that a mapped access point was relocated from elsewhere, and range in dB over which its
  /// strongest signal is then uniformly distributed.
  private static let (stray, spread) = (0.02, 50.0)
  /// Correlation between the signals of two access points, caused by walls and by transmitters in the same
  /// building.
  private static let correlation = 0.05
  /// Assumed typical and weakest signal of a scan in dBm, and their weight as an equivalent number of
  /// sightings.
  private static let (typical, weakest, prior) = (-80.0, -90.0, 3.0)
  /// Prior probability that the device is in a learned street: that of all positions within this number of
  /// typical distances from the street.
  private static let street = 1.0
  /// Standard deviation of the natural logarithm of `scale`, because ranges of transmitters differ between
  /// towns.
  private static let scaleDeviation = 0.35
  /// Minimum natural logarithm of the odds that known access points are at their mapped positions, against
  /// the case that they were relocated.
  private static let leastEvidence = 1.4
  /// Distances at which the likelihood is evaluated, in units of `scale`.
  private static let grid = [
    0.0, 0.1, 0.2, 0.3, 0.45, 0.6, 0.8, 1, 1.25, 1.5, 1.8, 2.2, 2.7, 3.3, 4, 5, 6.5, 8,
  ]

  /// True if the known access points are at their mapped positions. In unmapped areas, some known access
  /// points were relocated there, so among many heard a few are known by chance.
  let isNear: Bool
  /// Cumulative probability of each distance in `grid`.
  private let cumulative: [Double]
  private let scale: Double

  /// - Parameters:
  ///   - witnesses: at least one.
  ///   - scale: typical distance in m of transmitters that are heard.
  ///   - nearest: distance in m from the best position to the nearest learned positions.
  init(_ witnesses: [Witness], scale: Double, nearest: Double) {
    self.scale = scale
    let (typical, weakest) = Self.levels(witnesses.compactMap(\.signal).sorted())
    var logLikelihoods = [Double](repeating: 0, count: Self.grid.count)
    var likelihoods = [Double](repeating: 1, count: Self.grid.count)
    for (number, witness) in witnesses.enumerated() {
      let away = pow(10, Self.share * (typical - (witness.signal ?? typical)) / Self.slope)
      let street = (witness.known?.away ?? nearest) / scale
      for (index, distance) in Self.grid.enumerated() {
        let expected =
          typical - Self.slope
          * log10(Self.meanDistance(away, (distance * distance + street * street).squareRoot()))
        likelihoods[index] *= Self.likelihood(witness, expected: expected, weakest: weakest)
      }
      // Logarithms are the most expensive operation here, so one is computed for up to 32 factors. Each
      // factor is at least 0.01, so the product does not underflow.
      guard number % 32 == 31 || number == witnesses.count - 1 else { continue }
      for index in likelihoods.indices {
        logLikelihoods[index] += log(likelihoods[index])
        likelihoods[index] = 1
      }
    }
    let best = logLikelihoods.max() ?? 0
    let (count, known) = (Double(witnesses.count), Double(witnesses.count { $0.known != nil }))
    let evidence = best - known * log(Self.stray) - (count - known) * log(1 - Self.stray)
    isNear = evidence > Self.leastEvidence + log(count + 1)
    let weight = 1 / (1 + Self.correlation * max(0, count - 1))
    let densities = logLikelihoods.map { exp(weight * ($0 - best)) }
    var sums = [Self.street * densities[0]]
    for index in 1..<Self.grid.count {
      let width = Self.grid[index] - Self.grid[index - 1]
      sums.append(sums[index - 1] + width * (densities[index - 1] + densities[index]) / 2)
    }
    let total = sums[sums.count - 1]
    // Without learned signals and unknown access points, the scan contains no evidence about the distance;
    // the reach alone determines the radius.
    let tells = witnesses.contains { $0.known == nil || $0.known?.strongest != nil }
    cumulative = sums.map { tells ? $0 / total : 1 }
  }

  /// Returns the median and the minimum of sorted signals.
  private static func levels(_ signals: [Double]) -> (typical: Double, weakest: Double) {
    guard let least = signals.first else { return (typical, weakest) }
    let count = Double(signals.count)
    let median = (count * signals[signals.count / 2] + prior * typical) / (count + prior)
    return (median, count > 3 * prior ? least : min(least, weakest))
  }

  /// Returns the geometric mean over all directions of the distance between a transmitter and a street.
  /// `away` is the transmitter's distance from the device, `street` the street's.
  private static func meanDistance(_ away: Double, _ street: Double) -> Double {
    street > away ? (street + (street * street - away * away).squareRoot()) / 2 : away / 2
  }

  /// - Parameter expected: expected strongest signal in dBm.
  private static func likelihood(_ witness: Witness, expected: Double, weakest: Double) -> Double {
    guard let known = witness.known else { return unknown + (1 - unknown) * normal(weakest - expected) }
    guard let strongest = known.strongest else {
      return stray + (1 - unknown) * normal(expected - weakest)
    }
    let off = (strongest - expected) / deviation
    // The density is normalized over all possible signals, for comparison with those of unknown and relocated
    // access points.
    let density = exp(-off * off / 2) * spread / (deviation * (2 * Double.pi).squareRoot())
    return stray + (1 - unknown) * density
  }

  /// Returns the normal distribution function of a difference in dB.
  private static func normal(_ difference: Double) -> Double {
    erfc(-difference / (deviation * 2.0.squareRoot())) / 2
  }

  /// Returns a quantile of the distance in m between the device and the best position, as far as it is caused
  /// by incomplete coverage of the map.
  /// - Parameters:
  ///   - share: probability of the quantile, 0 ... 1.
  ///   - deviations: the number of standard deviations of a normal distribution that corresponds to `share`.
  func distance(at share: Double, deviations: Double) -> Double {
    let (distance, median) = (quantile(share), quantile(0.5))
    guard median > 0 else { return distance }
    let (own, scales) = (log(distance / median), deviations * Self.scaleDeviation)
    return median * exp((own * own + scales * scales).squareRoot())
  }

  private func quantile(_ share: Double) -> Double {
    guard let index = cumulative.firstIndex(where: { $0 >= share }), index > 0 else { return 0 }
    let part = (share - cumulative[index - 1]) / (cumulative[index] - cumulative[index - 1])
    return scale * (Self.grid[index - 1] + part * (Self.grid[index] - Self.grid[index - 1]))
  }
}
