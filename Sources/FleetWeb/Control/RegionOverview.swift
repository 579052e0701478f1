internal import Fleet
internal import FleetManagement
internal import JSON
internal import Spatial
internal import Telemetry
internal import VehicleData

extension VehicleDocuments {
  /// The progress of a change: `none` if there was none, `waiting` until the vehicle reports, or the state
  /// that it reported.
  var progress: String {
    guard desired != nil else { return reportsFile ? "none" : reported?["state"]?.string ?? "none" }
    return isCurrent ? reported?["state"]?.string ?? "waiting" : "waiting"
  }

  /// Writes desired and reported regions of a vehicle.
  func write(to json: inout JSONWriter) {
    let wanted = wantedRegions
    json.field("request", desired?["version"]?.string)
    json.field("state", progress)
    json.field("problem", reportsFile ? nil : reported?["problem"]?.string)
    json.key("wanted")
    json.value(
      .object([
        "type": .string("FeatureCollection"), "features": .array(wanted.features.map(\.json)),
      ]))
    json.field("accepted", texts: acceptedRegions ?? [])
    json.key("rejected")
    json.openArray()
    for feature in wanted.features {
      guard let reason = refusal(of: feature.identifier) else { continue }
      json.openObject()
      json.field("region", feature.identifier)
      json.field("reason", reason.dropPrefix("refused: "))
      json.closeObject()
    }
    json.closeArray()
    json.field("states", objects: regionStates?.regions ?? []) { json, status in
      json.field("region", status.identifier)
      json.field("state", status.state.rawValue)
      json.field("since", status.since?.rfc3339)
    }
    json.field("source", regionStates?.source?.rawValue)
    json.field("watched", regionStates?.count)
  }
}

extension String {
  func dropPrefix(_ prefix: String) -> String { hasPrefix(prefix) ? String(dropFirst(prefix.count)) : self }
}

/// An overview of the regions of several vehicles, each with the vehicles that should monitor it. Regions
/// with the same name and outline are combined.
struct RegionOverview {
  private struct Entry {
    var feature: RegionDocument.Feature
    var vehicles: [(key: VehicleKey, accepted: Bool, reason: String?, status: RegionStatus?)] = []
  }

  private var entries: [Entry] = []
  /// In an overview of one region, the vehicles that should no longer monitor it, but have not confirmed its
  /// removal yet; nil in an overview of all regions.
  private var watchingStill: [VehicleKey]?

  /// Creates the overview.
  ///
  /// - Parameter region: the only region to include; nil for all.
  init(_ documents: [(VehicleKey, DocumentStore.Documents)], region: String? = nil) {
    if region != nil { watchingStill = [] }
    var places: [RegionDocument.Feature: Int] = [:]
    // Vehicles with the same document share its bytes, so each document is parsed only once.
    var read: [[UInt8]: VehicleDocuments] = [:]
    for (key, documents) in documents {
      guard let desired = documents.desired else {
        if let region, documents.parsed.acceptedRegions?.contains(region) == true {
          watchingStill?.append(key)
        }
        continue
      }
      let wanted = read[desired] ?? VehicleDocuments(desired: DocumentStore.Documents.json(desired))
      read[desired] = wanted
      var own = documents.parsed
      own.desired = wanted.desired
      let accepted = Set(own.acceptedRegions ?? [])
      let states = Dictionary((own.regionStates?.regions ?? []).map { ($0.identifier, $0) }) { $1 }
      let isCurrent = own.isCurrent
      if let region, accepted.contains(region), own.wantedRegions[region] == nil {
        watchingStill?.append(key)
      }
      for feature in own.wantedRegions.features where region.map({ $0 == feature.identifier }) ?? true {
        let place = places[feature] ?? entries.count
        if place == entries.count {
          places[feature] = place
          entries.append(Entry(feature: feature))
        }
        entries[place].vehicles.append(
          (
            key, isCurrent && accepted.contains(feature.identifier),
            // A rejection of an earlier document does not apply to the current one.
            isCurrent ? own.refusal(of: feature.identifier)?.dropPrefix("refused: ") : nil,
            states[feature.identifier]
          ))
      }
    }
    entries.sort { NaturalOrder.precedes($0.feature.identifier, $1.feature.identifier) }
  }

  var json: [UInt8] {
    JSONWriter.object { json in
      json.field("regions", objects: entries) { json, entry in
        json.field("region", entry.feature.identifier)
        json.key("feature")
        json.value(entry.feature.json)
        json.key("vehicles")
        json.openArray()
        for vehicle in entry.vehicles {
          json.openObject()
          json.field("fleet", vehicle.key.fleet)
          json.field("vehicle", vehicle.key.vehicle)
          json.field("accepted", vehicle.accepted)
          json.field("reason", vehicle.reason)
          json.field("state", vehicle.status?.state.rawValue)
          json.field("since", vehicle.status?.since?.rfc3339)
          json.closeObject()
        }
        json.closeArray()
      }
      guard let watchingStill else { return }
      json.field("watchingStill", objects: watchingStill) { json, key in
        json.field("fleet", key.fleet)
        json.field("vehicle", key.vehicle)
      }
    }
  }
}
