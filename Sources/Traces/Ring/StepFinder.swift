internal import Sensors
internal import Spatial

/// An estimator of the size of one raw step of a sensor. The step is the greatest common divisor of the
/// sensor's values (Euclid, Elements VII, 2; with the remainder of least absolute value).
///
/// Drivers multiply raw values by a scale that is not part of the samples. A sensor whose data were rotated
/// by a mounting with odd angles has no common step.
package struct StepFinder: Sendable {
  /// The step; nil before enough values were processed, or if no common step exists.
  package var step: Double? { seen >= Self.enough && multiple > 1 && isRegular ? divisor : nil }

  private var divisor = 0.0
  /// The largest multiple of the divisor among the values that determined it. The error of the divisor is the
  /// error of such a value, divided by this multiple.
  private var multiple = 0.0
  private var seen = 0
  private var isRegular: Bool { failures < Self.mostFailures }
  private var failures = 0
  private let least: Double

  /// The number of non-zero values that must be processed before a step is reported. That all are multiples
  /// of twice the step by chance has a probability of one in 2^64.
  private static let enough = 64
  /// The largest difference between a value and a multiple of the step: as a share of the step (`slack`), and
  /// as a share of the finest step (`fineSlack`). The error of doubles is 1e-11 of a step of 16 bits. Values
  /// that were rounded to seven digits exceed the tolerance.
  private static let (slack, fineSlack) = (1e-3, 0.1)
  /// The share of the finest step below which a remainder counts as zero.
  private static let nothing = 1e-3
  /// The number of values without a common step after which the search is abandoned.
  private static let mostFailures = 16

  /// Creates a finder.
  /// - Parameter least: the finest possible step; a smaller common divisor is rejected.
  package init(least: Double) { self.least = least }

  /// Processes a value.
  /// - Returns: true if the step has changed.
  package mutating func process(_ value: Double) -> Bool {
    guard isRegular, value.isFinite, value != 0 else { return false }
    let (before, size) = (step, abs(value))
    if divisor > 0, case let whole = (size / divisor).rounded(), whole >= 1,
      abs(size - whole * divisor) <= min(Self.slack * divisor, Self.fineSlack * least)
    {
      if seen < Self.enough, whole > multiple { (divisor, multiple) = (size / whole, whole) }
      seen = min(Self.enough, seen + 1)
      return step != before
    }
    let common = Self.commonDivisor(divisor, size, tolerance: Self.nothing * least)
    if common < least {
      failures += 1
      (divisor, multiple, seen) = (size, 1, 1)
    } else {
      // The divisor is computed from a value and a whole multiple, so that errors of the remainders do not
      // accumulate.
      let whole = (size / common).rounded()
      (divisor, multiple, seen) = (size / whole, whole, 1)
    }
    return step != before
  }

  private static func commonDivisor(_ a: Double, _ b: Double, tolerance: Double) -> Double {
    var (a, b) = (max(a, b), min(a, b))
    while b > tolerance { (a, b) = (b, abs(a.remainder(dividingBy: b))) }
    return a
  }
}

/// The step finders of all columns of the inertial sensors and the barometer.
package struct ResolutionFinder: Sendable {
  private var finders = TraceResolution().steps.map { StepFinder(least: $0) }

  /// The current resolution. For unknown steps it contains the default, which is the finest step.
  package var resolution: TraceResolution {
    let steps = zip(finders, TraceResolution().steps).map { $0.step ?? $1 }
    return TraceResolution(steps: steps) ?? TraceResolution()
  }

  /// Processes a sample.
  ///
  /// - Returns: true if the resolution has changed.
  package mutating func process(_ sample: TraceSample) -> Bool {
    var hasChanged = false
    switch sample {
    case .inertial(let scan):
      for axis in 0..<3 {
        if let force = scan.specificForce { hasChanged = finders[axis].process(force[axis]) || hasChanged }
        if let rate = scan.rotationRate { hasChanged = finders[3 + axis].process(rate[axis]) || hasChanged }
        if let field = scan.magneticField {
          hasChanged = finders[6 + axis].process(field[axis]) || hasChanged
        }
      }
      if let celsius = scan.temperature { hasChanged = finders[9].process(celsius) || hasChanged }
    case .pressure(let data): hasChanged = finders[10].process(data.pressure)
    case .fix, .vehicle, .motion: break
    }
    return hasChanged
  }
}
