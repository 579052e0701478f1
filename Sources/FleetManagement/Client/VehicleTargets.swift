internal import Bytes
package import Fleet
internal import Telemetry

/// The vehicles of an operation.
package struct VehicleTargets: Hashable, Sendable {
  package var root: String
  /// The fleets and vehicles; an empty list selects all.
  package var fleets: [String]
  package var vehicles: [String]
  /// The percentage of the selected vehicles, above 0 and up to 100, chosen deterministically; nil for all.
  package var share: Double?

  /// Creates a selection.
  ///
  /// - Parameters:
  ///   - fleets: empty for all.
  ///   - vehicles: empty for all.
  package init(root: String, fleets: [String], vehicles: [String], share: Double? = nil) {
    (self.root, self.fleets, self.vehicles, self.share) = (root, fleets, vehicles, share)
  }

  /// Returns the topic filters of paths below each selected vehicle.
  package func filters(_ paths: [String]) throws(FleetError) -> [String] {
    if let share, !(share > 0 && share <= 100) {
      throw .usage("use", "--share \(share)", "must be a percentage, above 0 and up to 100")
    }
    // The topic scheme checks the names.
    let bases = try FleetSelection(root: root, fleets: fleets, vehicles: vehicles).filters()
    return bases.flatMap { base in paths.map { base.dropLast("#".count) + $0 } }
  }

  /// Returns the query for the messages of a recording.
  func query(_ paths: [String]) -> BeginningQuery {
    BeginningQuery(root: root, fleets: fleets, vehicles: vehicles, paths: paths)
  }

  /// The selected vehicles, each once, if fleets and vehicles are named; nil otherwise.
  package var named: [VehicleKey]? {
    guard !vehicles.isEmpty, !fleets.isEmpty else { return nil }
    return Set(fleets.flatMap { fleet in vehicles.map { VehicleKey(fleet: fleet, vehicle: $0) } }).sorted()
  }

  /// Returns whether no vehicle is selected: fleets or vehicles are not named, and there are no retained
  /// messages.
  /// - Parameter found: the vehicles with retained messages.
  func isEmptySelection(found: [VehicleKey]) -> Bool { named == nil && found.isEmpty }

  /// Returns the selected vehicles: the named ones, or those with retained messages, reduced to the share of
  /// `--share`.
  /// - Parameters:
  ///   - found: the vehicles with retained messages, sorted.
  ///   - canBegin: true if the command has `--recording`, which the error then recommends.
  /// - Throws: `FleetError` if no vehicle is found.
  func resolve(found: [VehicleKey], canBegin: Bool = true) throws(FleetError) -> [VehicleKey] {
    let keys = named ?? found
    guard !keys.isEmpty else {
      throw FleetError(
        operation: "find", object: "the vehicles",
        cause:
          "the broker has no retained messages of these vehicles, or delivers them for exact topics only; name --fleet and --vehicle, \(canBegin ? "begin from a recording with --recording, " : "")or look with odograph check",
        kind: .unavailable)
    }
    guard let share else { return keys }
    let count = max(1, Int((Double(keys.count) * share / 100).rounded()))
    return keys.sorted { ($0.lot, $0) < ($1.lot, $1) }.prefix(count).sorted()
  }
}

extension VehicleKey {
  /// A pseudo-random number that depends only on the names of fleet and vehicle.
  var lot: UInt64 { FNV1a.hash64(description.utf8) }

  package func topic(root: String, _ path: String) -> String { "\(root)/\(fleet)/\(vehicle)/\(path)" }
}
