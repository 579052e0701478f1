internal import Fleet

/// From whom regions are taken: from those that have one of them.
struct RegionRemoval: Hashable, Sendable {
  let vehicles: [VehicleKey]
  /// Who lacks which of them, in sentences for people.
  let notes: [String]

  /// Vehicles that are named at most in a note.
  private static let mostNamed = 10

  /// - Parameter names: none means all, of everybody.
  /// - Throws: `FleetError` naming the regions that nobody has: one that is misspelt is not taken for done.
  init(
    _ names: [String], from vehicles: [VehicleKey], _ kept: [VehicleKey: RegionReport]
  ) throws(FleetError) {
    guard !names.isEmpty else {
      (self.vehicles, notes) = (vehicles, [])
      return
    }
    let held = kept.mapValues(\.names)
    let lacking = names.map { name in (name, vehicles.filter { !(held[$0]?.contains(name) ?? false) }) }
    let unknown = lacking.filter { $0.1.count == vehicles.count }.map { "\"\($0.0.prefix(80))\"" }
    guard unknown.isEmpty else {
      let nobody =
        vehicles.count == 1
        ? "\(vehicles[0]) does not have it" : "none of the \(vehicles.count) vehicles has it"
      throw FleetError(
        operation: "remove", object: "region " + unknown.joined(separator: ", "),
        cause: "\(nobody); odograph regions list shows what there is. Nothing was removed", exit: .usage)
    }
    self.vehicles = vehicles.filter { key in names.contains { held[key]?.contains($0) ?? false } }
    notes = lacking.filter { !$0.1.isEmpty }.map { name, without in
      let named = without.prefix(Self.mostNamed).map(\.description).joined(separator: ", ")
      let more = without.count > Self.mostNamed ? " and \(without.count - Self.mostNamed) more" : ""
      return "region \"\(name.prefix(80))\" is not there on \(named)\(more)"
    }
  }
}
