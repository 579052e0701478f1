public import Telemetry

/// A selection of messages of a fleet.
public struct FleetSelection: Hashable, Sendable {
  public var profile: MessageProfile
  public var root: String
  /// The selected fleets; empty for all.
  public var fleets: [String]
  /// The selected vehicles of the selected fleets; empty for all.
  public var vehicles: [String]
  /// The selected kinds of messages; empty for all.
  public var kinds: [MessageKind]

  /// Creates a selection.
  ///
  /// - Parameter root: the topic root; nil for the default of the profile.
  public init(
    profile: MessageProfile = .native, root: String? = nil, fleets: [String] = [], vehicles: [String] = [],
    kinds: [MessageKind] = []
  ) {
    self.profile = profile
    self.root = root ?? profile.usualRoot
    self.fleets = fleets
    self.vehicles = vehicles
    self.kinds = kinds
  }

  /// Returns the MQTT topic filters of the selection, one for each combination of fleet, vehicle and kind.
  /// - Throws: `FleetError` for a name that is not valid in a topic.
  public func filters() throws(FleetError) -> [String] {
    // The topic scheme defines which names are valid.
    for (name, what) in fleets.map({ ($0, "fleet") }) + vehicles.map({ ($0, "vehicle") }) {
      do throws(TopicError) {
        let (fleet, vehicle) = what == "fleet" ? (name, "v") : ("f", name)
        _ = try TopicScheme(root: root, fleet: fleet, vehicle: vehicle)
      } catch {
        throw .usage("select", "\(what) \"\(name.prefix(80))\"", error.description)
      }
    }
    do throws(TopicError) { _ = try TopicScheme(root: root, fleet: "f", vehicle: "v") } catch {
      throw .invalid("root", "\"\(root.prefix(80))\"", error.description)
    }
    let fleets: [String?] = self.fleets.isEmpty ? [nil] : self.fleets
    let vehicles: [String?] = self.vehicles.isEmpty ? [nil] : self.vehicles
    let paths = try paths()
    var filters: [String] = []
    for fleet in fleets {
      for vehicle in vehicles {
        let base = "\(root)/\(fleet ?? "+")/\(vehicle ?? "+")"
        for path in paths { filters.append(path.isEmpty ? base : "\(base)/\(path)") }
      }
    }
    return filters
  }
  /// Returns the topic levels below the vehicle for the selected kinds, without duplicates, in the order of
  /// the kinds.
  private func paths() throws(FleetError) -> [String] {
    guard !kinds.isEmpty else { return ["#"] }
    var paths: [String] = []
    for kind in kinds {
      guard let own = profile.paths(of: kind) else {
        throw .invalid(
          "kind", kind.rawValue, "the message profile \(profile.rawValue) has no such messages; leave it out",
          operation: "select")
      }
      paths += own.filter { !paths.contains($0) }
    }
    return paths
  }
}
