internal import Fleet

extension AlertRule.Condition {
  /// The limits of the condition in words, such as `above 130 km/h, ends at 117 km/h`, or the selected
  /// regions or events; nil for a condition without either.
  package var limits: String? {
    switch self {
    case .offline, .silent: nil
    case .battery(let below, let until):
      "below \(Self.number(below * 100)) %, ends at \(Self.number(until * 100)) %"
    case .speed(let above, let until):
      "above \(Self.number(above * 3.6)) km/h, ends at \(Self.number(until * 3.6)) km/h"
    case .queue(let above, let until):
      "above \(Self.number(above)) messages, ends at \(Self.number(until))"
    case .accuracy(let above, let until): "above \(Self.number(above)) m, ends at \(Self.number(until)) m"
    case .entered(let regions), .left(let regions): Self.list(regions, any: "any region")
    case .event(let names): Self.list(names, any: "any event")
    case .trace(let causes): Self.list(causes, any: "any cause")
    }
  }

  private static func list(_ names: [String], any: String) -> String {
    names.isEmpty ? any : names.joined(separator: ", ")
  }

  /// Formats a number with at most one decimal.
  private static func number(_ value: Double) -> String {
    let rounded = (value * 10).rounded() / 10
    return QuantityText.fixed(rounded, decimals: rounded == rounded.rounded() ? 0 : 1) ?? "\(value)"
  }
}
