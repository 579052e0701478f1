internal import Fleet

/// The filter for shown vehicles.
package struct VehicleFilter: Hashable, Sendable {
  /// Words that must all occur in the name or the state, ignoring case.
  package var text = ""
  /// The minimum silence in seconds; nil to show all vehicles.
  package var silence: Double?

  package init(text: String = "", silence: Double? = nil) { (self.text, self.silence) = (text, silence) }

  /// The minimum silences in seconds, through which the key `n` steps.
  private static let steps = [60.0, 600, 3600, 86_400]

  var isActive: Bool { !text.isEmpty || silence != nil }

  /// A description such as `like "van", silent for 10 min`; empty without a filter.
  var summary: String {
    [text.isEmpty ? nil : "like \"\(text)\"", silence.map { "silent for \(QuantityText.age($0))" }]
      .compactMap(\.self).joined(separator: ", ")
  }

  /// Selects the next longer minimum silence; after the longest one, removes this filter.
  mutating func lengthenSilence() {
    silence = Self.steps.first { $0 > silence ?? 0 }
  }

  /// Returns whether a vehicle is shown. A vehicle without a known age counts as silent.
  func matches(_ record: VehicleRecord, at now: Moment) -> Bool {
    if let silence, let age = record.age(at: now), age < silence { return false }
    if text.isEmpty { return true }
    let haystack = "\(record.key) \(record.state.rawValue)".lowercased()
    return text.lowercased().split(separator: " ").allSatisfy { haystack.contains($0) }
  }
}
