internal import Bytes

/// A speed with a unit, as users write it: `60 km/h`, `16.7 m/s` or `40 mph`.
package enum SpeedText {
  private static let units: [(suffix: String, metresPerSecond: Double)] = [
    ("km/h", 1 / 3.6), ("m/s", 1), ("mph", 0.44704),
  ]

  /// Description of accepted texts, for messages.
  package static let example = "a speed with a unit, as in \"60 km/h\" or \"16.7 m/s\""

  /// Parses a speed with a unit and returns it in m/s, at least 0; nil for other texts.
  package static func metresPerSecond(_ text: String) -> Double? {
    let text = text.trimmingSpaces()
    guard let unit = units.first(where: { text.hasSuffix($0.suffix) }) else { return nil }
    let number = text.dropLast(unit.suffix.count).trimmingSpaces()
    guard !number.isEmpty, number.utf8.allSatisfy({ (0x30...0x39).contains($0) || $0 == 0x2E }),
      let value = Double(number), value.isFinite
    else { return nil }
    return value * unit.metresPerSecond
  }
}
