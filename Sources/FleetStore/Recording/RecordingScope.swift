package import Fleet

/// The vehicles of a recording that a user may see: all vehicles of some fleets, and single vehicles. A query
/// only returns vehicles that are in this scope and in its other selection.
package struct RecordingScope: Hashable, Sendable {
  /// The fleets whose vehicles are all visible; nil for all fleets.
  package var fleets: [String]?
  /// Vehicles of other fleets that are visible, too.
  package var vehicles: [VehicleKey]

  package init(fleets: [String]?, vehicles: [VehicleKey] = []) {
    (self.fleets, self.vehicles) = (fleets, vehicles)
  }

  package static let all = RecordingScope(fleets: nil)
}

extension RecordingScope {
  /// Returns the SQL condition for rows of visible vehicles; nil if all vehicles are visible. If no vehicle
  /// is visible, the condition is false.
  /// - Parameter bind: binds a value to a parameter, and returns the parameter's SQL.
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
