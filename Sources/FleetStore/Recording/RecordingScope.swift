package import Fleet

/// The vehicles of a recording that a user can see, in addition to any other selection: those of some fleets,
/// and single ones.
package struct RecordingScope: Hashable, Sendable {
  /// The fleets whose vehicles are all visible; nil for all fleets.
  package var fleets: [String]?
  /// Additional single vehicles.
  package var vehicles: [VehicleKey]

  package init(fleets: [String]?, vehicles: [VehicleKey] = []) {
    (self.fleets, self.vehicles) = (fleets, vehicles)
  }

  package static let all = RecordingScope(fleets: nil)
}

extension RecordingScope {
  /// Returns the condition for visible rows; nil if all are visible. Without visible vehicles no row matches.
  /// - Parameter bind: returns the SQL of a parameter for a value.
  func sql(_ bind: (RecordingSelection.Condition.Value) -> String) -> String? {
    guard let fleets else { return nil }
    var parts: [String] = []
    if !fleets.isEmpty {
      parts.append("fleet IN (\(fleets.map { bind(.text($0)) }.joined(separator: ", ")))")
    }
    parts += vehicles.map { "(vehicle = \(bind(.text($0.vehicle))) AND fleet = \(bind(.text($0.fleet))))" }
    return parts.isEmpty ? "false" : "(\(parts.joined(separator: " OR ")))"
  }
}
