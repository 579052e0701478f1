internal import Glibc
internal import Sensors

/// How far the device is from where its beacons were learned, by what else a scan says.
///
/// A map knows the streets that were driven. From a street beside them some of the same access points are heard, and the place that
/// explains them best lies in the street that was learned, because that is where all of them were heard. Two things tell:
///
/// - Whatever is heard strongly is near the device. How strongly it was heard at best where it was learned says how far that is.
/// - What is not known at all was too weak to be heard there, or is new, or has moved.
///
/// Both are one regression of the strongest signal on the distance, censored at what the radio can hear (J. Tobin, "Estimation of
/// relationships for limited dependent variables", Econometrica 26, 1958). The scan gives the scale: its typical signal belongs to the
/// typical distance from the beacons that are known.
struct LearnedGround {
  /// An access point of the scan.
  struct Witness {
    /// dBm; nil where the radio does not tell.
    var signal: Double?
    /// Of one that the map has near here, the metres to where it was learned, and how strongly it was heard there at best, dBm; nil where
    /// nobody knows.
    var known: (away: Double, strongest: Double?)?
  }

  /// dB for ten times the distance.
  private static let slope = 10 * PathLoss.exponent
  /// Of what signals of a scan differ by: the part that comes from distances; the rest are walls.
  private static let share = 0.5
  /// dB, one deviation: of the strongest signal at a distance from a street; walls, and where along the street it was heard.
  private static let deviation = 9.0
  /// Of what is heard in a street that was learned: what is not known all the same, because it is new, or moved, or was missed.
  private static let unknown = 0.15
  /// Of what is heard anywhere: what is known of other places, and the dB over which its strongest signals spread.
  private static let (stray, spread) = (0.02, 50.0)
  /// The correlation of walls, and of transmitters that share a house.
  private static let correlation = 0.05
  /// dBm of the typical and of the weakest sighting, where few say so, and how many they count as.
  private static let (typical, weakest, prior) = (-80.0, -90.0, 3.0)
  /// Before anything is heard, a learned street is as likely as any place within so many typical distances of one.
  private static let street = 1.0
  /// One deviation of the logarithm of the scale: ranges differ from town to town.
  private static let scaleDeviation = 0.35
  /// The least logarithm of the odds that beacons of the map are heard here and have not moved here.
  private static let leastEvidence = 1.4
  /// Distances that are held against each other, in typical distances.
  private static let grid = [
    0.0, 0.1, 0.2, 0.3, 0.45, 0.6, 0.8, 1, 1.25, 1.5, 1.8, 2.2, 2.7, 3.3, 4, 5, 6.5, 8,
  ]

  /// Whether the known ones are heard here at all: in country that nobody has learned, some that are known have moved there. Of many
  /// that are heard some such are known by chance.
  let isNear: Bool
  /// For each of `grid`, the probability to be no farther off.
  private let cumulative: [Double]
  private let scale: Double

  /// - Parameters:
  ///   - witnesses: one at least.
  ///   - scale: metres: how far transmitters are away that are heard, typically.
  ///   - nearest: metres from the place that explains the scan best to the nearest places that were learned.
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
      // Each is one hundredth at least. Logarithms cost more than all else.
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
    // That they are heard at all says no more than their reach does.
    let tells = witnesses.contains { $0.known == nil || $0.known?.strongest != nil }
    cumulative = sums.map { tells ? $0 / total : 1 }
  }

  /// The median and the least, of sorted signals.
  private static func levels(_ signals: [Double]) -> (typical: Double, weakest: Double) {
    guard let least = signals.first else { return (typical, weakest) }
    let count = Double(signals.count)
    let median = (count * signals[signals.count / 2] + prior * typical) / (count + prior)
    return (median, count > 3 * prior ? least : min(least, weakest))
  }

  /// The geometric mean of how far a transmitter is from a street that is so far from the device, where it is in any direction.
  private static func meanDistance(_ away: Double, _ street: Double) -> Double {
    street > away ? (street + (street * street - away * away).squareRoot()) / 2 : away / 2
  }

  /// - Parameter expected: dBm of the strongest signal.
  private static func likelihood(_ witness: Witness, expected: Double, weakest: Double) -> Double {
    guard let known = witness.known else { return unknown + (1 - unknown) * normal(weakest - expected) }
    guard let strongest = known.strongest else {
      return stray + (1 - unknown) * normal(expected - weakest)
    }
    let off = (strongest - expected) / deviation
    // As a probability within all that can be heard, so that it can be held against the others.
    let density = exp(-off * off / 2) * spread / (deviation * (2 * Double.pi).squareRoot())
    return stray + (1 - unknown) * density
  }

  /// Of so many dB.
  private static func normal(_ difference: Double) -> Double {
    erfc(-difference / (deviation * 2.0.squareRoot())) / 2
  }

  /// Metres within which the device is from the place that explains the scan best, as far as that was drawn to what was learned.
  /// - Parameters:
  ///   - share: the probability.
  ///   - deviations: of a normal distribution that are exceeded as rarely.
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
