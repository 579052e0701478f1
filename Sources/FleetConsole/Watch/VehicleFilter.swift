internal import Fleet

/// Which vehicles are shown.
struct VehicleFilter: Hashable, Sendable {
  /// Words that are all found in the name or the state; upper and lower case are alike.
  var text = ""
  /// Seconds for which a vehicle has not been heard; nil shows those that were, too.
  var silence: Double?

  /// What the key goes through, in seconds.
  private static let steps = [60.0, 600, 3600, 86_400]

  var isActive: Bool { !text.isEmpty || silence != nil }

  /// Words about the filter, as in `like "van", silent for 10 min`; empty without one.
  var summary: String {
    [text.isEmpty ? nil : "like \"\(text)\"", silence.map { "silent for \(QuantityText.age($0))" }]
      .compactMap(\.self).joined(separator: ", ")
  }

  /// The next time of silence, and after the longest one all vehicles again.
  mutating func lengthenSilence() {
    silence = Self.steps.first { $0 > silence ?? 0 }
  }

  /// Whether a vehicle is shown. One that nothing tells the age of is silent.
  func matches(_ record: VehicleRecord, at now: Moment) -> Bool {
    if let silence, let age = record.age(at: now), age < silence { return false }
    if text.isEmpty { return true }
    let haystack = "\(record.key) \(record.state.rawValue)".lowercased()
    return text.lowercased().split(separator: " ").allSatisfy { haystack.contains($0) }
  }
}
