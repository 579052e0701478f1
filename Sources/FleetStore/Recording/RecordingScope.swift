package import Fleet

/// Which vehicles somebody may see in a recording, whatever else is asked for: those of some fleets, and some others.
package struct RecordingScope: Hashable, Sendable {
  /// Fleets of which all vehicles are seen; nil for every fleet.
  package var fleets: [String]?
  /// Vehicles that are seen beside them.
  package var vehicles: [VehicleKey]

  package init(fleets: [String]?, vehicles: [VehicleKey] = []) {
    (self.fleets, self.vehicles) = (fleets, vehicles)
  }

  package static let all = RecordingScope(fleets: nil)
}

extension RecordingScope {
  /// What a row must fulfil; nil where every row does. Who sees nothing gets no row.
  /// - Parameter bind: the SQL of a parameter that is to have a value.
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
