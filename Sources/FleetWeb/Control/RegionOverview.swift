internal import Fleet
internal import FleetControl
internal import JSON
internal import Positioning
internal import Spatial
internal import Telemetry

extension VehicleDocuments {
  /// Where a change stands: `none` was asked, the vehicle is `waiting` to be heard, or its own word.
  var progress: String {
    guard desired != nil else { return reportsFile ? "none" : reported?["state"]?.string ?? "none" }
    return isCurrent ? reported?["state"]?.string ?? "waiting" : "waiting"
  }

  /// Writes the members of what is wanted of a vehicle's regions and what it says of it.
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
    json.key("states")
    json.openArray()
    for status in regionStates?.regions ?? [] {
      json.openObject()
      json.field("region", status.identifier)
      json.field("state", status.state.rawValue)
      json.field("since", status.since?.rfc3339)
      json.closeObject()
    }
    json.closeArray()
    json.field("source", regionStates?.source?.rawValue)
    json.field("watched", regionStates?.count)
  }
}

extension String {
  func dropPrefix(_ prefix: String) -> String { hasPrefix(prefix) ? String(dropFirst(prefix.count)) : self }
}

/// All regions of some vehicles, each with those that are to watch it: regions of the same name and outline are one.
struct RegionOverview {
  private struct Entry {
    var feature: RegionDocument.Feature
    var vehicles: [(key: VehicleKey, accepted: Bool, reason: String?, status: RegionStatus?)] = []
  }

  private var entries: [Entry] = []
  /// Of one region: vehicles that are to watch it no more, and have not said yet that they do not. Nil for all regions.
  private var watchingStill: [VehicleKey]?

  /// - Parameter region: the only one that is told of; nil for all.
  init(_ documents: [(VehicleKey, ManagementState.Documents)], region: String? = nil) {
    if region != nil { watchingStill = [] }
    var places: [RegionDocument.Feature: Int] = [:]
    // Vehicles that were told the same share the text, so that it is read once.
    var read: [[UInt8]: VehicleDocuments] = [:]
    for (key, documents) in documents {
      guard let desired = documents.desired else {
        if let region, documents.parsed.acceptedRegions?.contains(region) == true {
          watchingStill?.append(key)
        }
        continue
      }
      let wanted = read[desired] ?? VehicleDocuments(desired: ManagementState.Documents.json(desired))
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
            // A refusal of what was wanted before is no answer.
            isCurrent ? own.refusal(of: feature.identifier)?.dropPrefix("refused: ") : nil,
            states[feature.identifier]
          ))
      }
    }
    entries.sort { NaturalOrder.precedes($0.feature.identifier, $1.feature.identifier) }
  }

  var json: [UInt8] {
    JSONWriter.object { json in
      json.key("regions")
      json.openArray()
      for entry in entries {
        json.openObject()
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
        json.closeObject()
      }
      json.closeArray()
      guard let watchingStill else { return }
      json.key("watchingStill")
      json.openArray()
      for key in watchingStill {
        json.openObject()
        json.field("fleet", key.fleet)
        json.field("vehicle", key.vehicle)
        json.closeObject()
      }
      json.closeArray()
    }
  }
}
