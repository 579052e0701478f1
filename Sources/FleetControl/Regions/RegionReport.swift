internal import Fleet
internal import JSON
internal import Telemetry

/// What a vehicle says of the regions that it was to watch, and what it was told.
struct RegionReport: Hashable, Sendable {
  var desired: JSONValue?
  var reported: JSONValue?

  var wanted: RegionDocument { RegionDocument(kept: desired) }

  /// Identifiers; nil when the vehicle has not reported.
  var accepted: [String]? { reported?["accepted"]?.array?.compactMap(\.string) }

  /// Of the regions that are wanted or watched.
  var names: Set<String> { Set(wanted.features.map(\.identifier)).union(accepted ?? []) }

  /// Whether the report is about what is wanted now; one that names no document is taken to be.
  var isCurrent: Bool {
    guard let version = desired?["version"]?.string, let answered = reported?["version"]?.string else {
      return reported != nil
    }
    return version == answered
  }

  /// Why the vehicle did not take a region; nil when it did, or did not say.
  func refusal(of identifier: String) -> String? {
    let place = wanted.features.firstIndex { $0.identifier == identifier }
    for refusal in reported?["refused"]?.array ?? [] {
      guard
        refusal["region"]?.string == identifier
          || (place != nil && refusal["index"]?.integer == place.map(Int64.init))
      else { continue }
      return "refused: " + (refusal["reason"]?.string ?? "no reason given")
    }
    return nil
  }

  /// Regions that are wanted and not watched, or the other way round. Those of `file` are wanted instead, when given;
  /// one with another outline than the vehicle was told is a difference too.
  func differences(to file: RegionDocument?) -> [RegionDifference] {
    let wanted = file ?? self.wanted
    let watched = accepted ?? []
    var differences: [RegionDifference] = []
    for feature in wanted.features {
      if !watched.contains(feature.identifier) {
        differences.append(RegionDifference(identifier: feature.identifier, kind: .missing))
      } else if let told = self.wanted[feature.identifier],
        told.shape?.outline != feature.shape?.outline || !isCurrent
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
