internal import Sensors
internal import Spatial

/// Finds what one step of a sensor's raw value is worth by its values: their greatest common divisor (Euclid, Elements VII, 2; with the
/// remainder of least absolute value), as far as they are multiples of anything.
///
/// Drivers multiply raw values by a scale that is not told with each sample. A sensor that was turned by a mounting of odd angles has no steps.
struct StepFinder: Sendable {
  /// The step; nil while too little was seen, and where there is none.
  var step: Double? { seen >= Self.enough && multiple > 1 && isRegular ? divisor : nil }

  private var divisor = 0.0
  /// The largest multiple that the divisor was made of: what it is wrong by is the error of a value, divided by it.
  private var multiple = 0.0
  private var seen = 0
  private var isRegular: Bool { failures < Self.mostFailures }
  private var failures = 0
  private let least: Double

  /// Values that are not zero before a step is believed: that all of so many are even by chance happens once in 2^64.
  private static let enough = 64
  /// A value that is off a multiple by more than this share of a step, or of the finest one, is none. Doubles are exact to 1e-11 of a step
  /// of 16 bits; values that were rounded to seven digits are not.
  private static let (slack, fineSlack) = (1e-3, 0.1)
  /// Of the finest step: a remainder below it is nothing.
  private static let nothing = 1e-3
  /// How often no common divisor was found until there is none.
  private static let mostFailures = 16

  /// - Parameter least: a step that is finer than this is none.
  init(least: Double) { self.least = least }

  /// Learns from a value.
  /// - Returns: whether the step has changed.
  mutating func process(_ value: Double) -> Bool {
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
      // What the remainders are wrong by must not grow from one to the next.
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

/// Of all columns of inertial sensors and barometer.
struct ResolutionFinder: Sendable {
  private var finders = TraceResolution().steps.map { StepFinder(least: $0) }

  /// As it is known now; that of what is not known is the finest.
  var resolution: TraceResolution {
    let steps = zip(finders, TraceResolution().steps).map { $0.step ?? $1 }
    return TraceResolution(steps: steps) ?? TraceResolution()
  }

  /// - Returns: whether the resolution has changed.
  mutating func process(_ sample: TraceSample) -> Bool {
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
