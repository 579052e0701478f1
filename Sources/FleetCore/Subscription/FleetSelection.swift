public import Telemetry

/// Which messages of a fleet to receive.
public struct FleetSelection: Hashable, Sendable {
  public var root: String
  /// None stands for all, in each of the three.
  public var fleets: [String]
  public var vehicles: [String]
  public var kinds: [MessageKind]

  public init(
    root: String = TopicScheme.defaultRoot, fleets: [String] = [], vehicles: [String] = [],
    kinds: [MessageKind] = []
  ) {
    self.root = root
    self.fleets = fleets
    self.vehicles = vehicles
    self.kinds = kinds
  }

  /// The MQTT filters that select them: one for each combination.
  /// - Throws: `FleetError` for a name that cannot stand in a topic.
  public func filters() throws(FleetError) -> [String] {
    // The contract's own rule says what a name may hold.
    for (name, what) in fleets.map({ ($0, "fleet") }) + vehicles.map({ ($0, "vehicle") }) {
      do throws(TopicError) {
        let (fleet, vehicle) = what == "fleet" ? (name, "v") : ("f", name)
        _ = try TopicScheme(root: root, fleet: fleet, vehicle: vehicle)
      } catch {
        throw FleetError(
          operation: "select", object: "\(what) \"\(name.prefix(80))\"", cause: error.description,
          exit: .usage)
      }
    }
    do throws(TopicError) { _ = try TopicScheme(root: root, fleet: "f", vehicle: "v") } catch {
      throw FleetError(
        operation: "use", object: "--root \"\(root.prefix(80))\"", cause: error.description, exit: .usage)
    }
    let fleets: [String?] = self.fleets.isEmpty ? [nil] : self.fleets
    let vehicles: [String?] = self.vehicles.isEmpty ? [nil] : self.vehicles
    let kinds: [MessageKind?] = self.kinds.isEmpty ? [nil] : self.kinds
    var filters: [String] = []
    for fleet in fleets {
      for vehicle in vehicles {
        for kind in kinds {
          filters.append(TopicScheme.filter(root: root, fleet: fleet, vehicle: vehicle, kind: kind))
        }
      }
    }
    return filters
  }
}
