internal import Bytes

/// The sampling frequencies that the hardware offers, from `sampling_frequency_available`.
public enum SamplingFrequencies: Hashable, Sendable {
  /// These, Hz, ascending.
  case list([Double])
  /// From `minimum` to `maximum` in steps of `step`, Hz; a step of zero is no grid.
  case range(minimum: Double, step: Double, maximum: Double)
  /// The driver does not say: it takes what it is given and rounds it itself.
  case unknown

  /// From the attribute's text: numbers separated by spaces, or a range as `[minimum step maximum]`.
  public init(parsing text: String) {
    let isRange = text.contains("[")
    let numbers = text.split { " \t\n,[]".contains($0) }.compactMap { Double($0) }
      .filter { $0.isFinite && $0 >= 0 }
    if isRange {
      guard numbers.count == 3, numbers[0] <= numbers[2], numbers[2] > 0 else {
        self = .unknown
        return
      }
      self = .range(minimum: numbers[0], step: numbers[1], maximum: numbers[2])
    } else {
      // A frequency of zero is some drivers' word for "off".
      let rates = Set(numbers).filter { $0 > 0 }.sorted()
      self = rates.isEmpty ? .unknown : .list(rates)
    }
  }

  /// The smallest offered frequency that is at least `hertz`; the largest where none is.
  public func nearest(to hertz: Double) -> Double {
    // Drivers round 1/3 Hz and the like to six decimals.
    let wanted = hertz * (1 - 1e-5)
    switch self {
    case .unknown: return hertz
    case .list(let rates): return rates.first { $0 >= wanted } ?? rates.last ?? hertz
    case .range(let minimum, let step, let maximum):
      guard wanted > minimum else { return minimum > 0 ? minimum : min(max(step, hertz), maximum) }
      guard step > 0 else { return min(hertz, maximum) }
      return min(minimum + ((wanted - minimum) / step).rounded(.up) * step, maximum)
    }
  }

  /// A frequency as drivers parse it: at most six decimals, none where there is nothing after the point, because
  /// drivers with whole frequencies refuse a point.
  package static func text(_ hertz: Double) -> String {
    var text: [UInt8] = []
    text.append(decimal: min(max(hertz, 0), 1e9), places: 6)
    return String(decoding: text, as: UTF8.self)
  }
}
