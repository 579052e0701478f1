package import Fleet
internal import JSON
package import Telemetry

extension VehicleDocuments {
  package var wantedRegions: RegionDocument { RegionDocument(kept: desired) }

  /// True if the report is about the regions of the vehicle's own file, and therefore no answer to
  /// `regions/desired`.
  package var reportsFile: Bool { reported?["source"]?.string == RegionsStateMessage.Source.file.rawValue }

  /// The identifiers of the remote regions that the vehicle monitors; nil if it has reported none, or only
  /// those of its own file.
  package var acceptedRegions: [String]? {
    reportsFile ? nil : reported?["accepted"]?.array?.compactMap(\.string)
  }

  /// Checks that the desired regions can be extended or reduced.
  /// - Throws: `FleetError` if the vehicle monitors remote regions whose document the broker has lost. A document
  ///   without them would delete them.
  package func checkWantedRegions(of key: VehicleKey) throws(FleetError) {
    let monitored = (acceptedRegions ?? []).prefix(3).joined(separator: ", ")
    guard desired == nil, !monitored.isEmpty else { return }
    throw .usage(
      "change the regions of", key.description,
      "the broker has lost the document of the regions that the vehicle monitors (\(monitored)); push all regions"
    )
  }

  /// The vehicle's last report of its region states; nil if missing or invalid.
  package var regionStates: RegionsStateMessage? {
    state.flatMap { state in try? RegionsStateMessage(json: state) }
  }

  /// The names of the desired and the monitored regions.
  package var regionNames: Set<String> {
    Set(wantedRegions.features.map(\.identifier)).union(acceptedRegions ?? [])
  }

  /// True if the vehicle's report answers the current desired document. A report without a version counts as
  /// current.
  package var isCurrent: Bool {
    guard !reportsFile else { return false }
    guard let version = desired?["version"]?.string, let answered = reported?["version"]?.string else {
      return reported != nil
    }
    return version == answered
  }

  /// Returns the reason why the vehicle refused a remote region; nil if it accepted the region or has not
  /// reported.
  package func refusal(of identifier: String) -> String? {
    guard !reportsFile else { return nil }
    let place = wantedRegions.features.firstIndex { $0.identifier == identifier }
    for refusal in reported?["refused"]?.array ?? [] {
      guard
        refusal["region"]?.string == identifier
          || (place != nil && refusal["index"]?.integer == place.map(Int64.init))
      else { continue }
      return "refused: " + (refusal["reason"]?.string ?? "no reason given")
    }
    return nil
  }

  /// Returns the differences between desired and monitored regions. If `file` is given, it replaces the
  /// desired regions, and a desired region with another outline than in the file is also a difference.
  package func differences(to file: RegionDocument?) -> [RegionDifference] {
    let (told, watched) = (wantedRegions, acceptedRegions ?? [])
    let wanted = file ?? told
    var differences: [RegionDifference] = []
    for feature in wanted.features {
      if !watched.contains(feature.identifier) {
        differences.append(RegionDifference(identifier: feature.identifier, kind: .missing))
      } else if let known = told[feature.identifier],
        known.shape?.outline != feature.shape?.outline || !isCurrent
      {
        differences.append(RegionDifference(identifier: feature.identifier, kind: .changed))
      }
    }
    for identifier in watched where wanted[identifier] == nil {
      differences.append(RegionDifference(identifier: identifier, kind: .extra))
    }
    return differences
  }
}

/// A region that is desired but not monitored, monitored but not desired, or monitored with another outline.
package struct RegionDifference: Hashable, Sendable {
  package enum Kind: String, Hashable, Sendable {
    case missing
    case extra
    case changed
  }

  package var identifier: String
  package var kind: Kind
}

/// The removal of regions: the vehicles that have at least one of the regions.
package struct RegionRemoval: Hashable, Sendable {
  package let vehicles: [VehicleKey]
  /// Sentences that name vehicles without one of the regions.
  package let notes: [String]

  /// The maximum number of vehicles named in a note.
  private static let mostNamed = 10

  /// Determines the vehicles whose regions are removed.
  ///
  /// - Parameter names: the names of the regions; empty for all regions of all vehicles.
  /// - Throws: `FleetError` with the regions that no vehicle has, so that a misspelt name is noticed.
  package init(_ names: [String], from kept: RetainedDocuments) throws(FleetError) {
    let vehicles = kept.vehicles
    guard !names.isEmpty else {
      (self.vehicles, notes) = (vehicles, [])
      return
    }
    let held = vehicles.map { (key: $0, names: kept[$0].regionNames) }
    let lacking = names.map { name in (name, held.filter { !$0.names.contains(name) }.map(\.key)) }
    let unknown = lacking.filter { $0.1.count == vehicles.count }.map { "\"\($0.0.prefix(80))\"" }
    guard unknown.isEmpty else {
      let nobody =
        vehicles.count == 1
        ? "\(vehicles[0]) does not have it" : "none of the \(vehicles.count) vehicles has it"
      throw .usage(
        "remove", "region " + unknown.joined(separator: ", "),
        "\(nobody); odograph regions list prints the regions. Nothing was removed")
    }
    self.vehicles = held.filter { !$0.names.isDisjoint(with: names) }.map(\.key)
    notes = lacking.filter { !$0.1.isEmpty }.map { name, without in
      let named = without.prefix(Self.mostNamed).map(\.description).joined(separator: ", ")
      let more = without.count > Self.mostNamed ? " and \(without.count - Self.mostNamed) more" : ""
      return "region \"\(name.prefix(80))\" does not exist on \(named)\(more)"
    }
  }
}
