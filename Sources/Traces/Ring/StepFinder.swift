internal import Sensors
internal import Spatial

/// Finds what one step of a sensor's raw value is worth by its values: their greatest common divisor (Euclid, Elements VII, 2; with the
/// remainder of least absolute value), as far as they are multiples of anything.
///
/// Drivers multiply raw values by a scale that is not told with each sample. A sensor that was turned by a mounting of odd angles has no steps.
struct StepFinder: Sendable {
  /// The step; nil while too little was seen, and where there is none.
  var step: Double? { seen >= Self.enough && isRegular ? divisor : nil }

  private var divisor = 0.0
  /// The largest multiple that the divisor was made of: of the remainders only it is left inexact.
  private var multiple = 0.0
  private var seen = 0
  private var isRegular = true
  private let least: Double

  /// Values that are not zero before a step is believed: that all of so many are even by chance happens once in 2^64.
  private static let enough = 64
  /// Of a step: a value that is off by more is none of its multiples. Doubles are exact to 1e-11 of a step of 16 bits.
  private static let slack = 1e-3

  /// - Parameter least: a step that is finer than this is none.
  init(least: Double) { self.least = least }

  /// Learns from a value.
  /// - Returns: whether the step has changed.
  mutating func process(_ value: Double) -> Bool {
    guard isRegular, value.isFinite, value != 0 else { return false }
    let before = step
    if divisor > 0 {
      let steps = value / divisor
      let whole = abs(steps.rounded())
      if abs(abs(steps) - whole) <= Self.slack {
        if seen < Self.enough, whole > multiple { (divisor, multiple) = (abs(value) / whole, whole) }
        seen = min(Self.enough, seen + 1)
        return step != before
      }
    }
    divisor = Self.commonDivisor(divisor, abs(value), tolerance: least * Self.slack)
    (multiple, seen) = (0, 1)
    if divisor < least { isRegular = false }
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
