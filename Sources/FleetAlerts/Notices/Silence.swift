package import Fleet
package import Spatial

/// A silence: matching alerts are not reported until its end. Alerts that are still open at its end are
/// reported then; alerts that have ended are not.
package struct Silence: Hashable, Sendable {
  /// The rule whose alerts are silenced; nil for all rules.
  package var rule: String?
  /// The fleet whose alerts are silenced; nil for all fleets.
  package var fleet: String?
  /// The vehicle whose alerts are silenced; nil for all vehicles of the fleet.
  package var vehicle: String?
  package var until: UTCTime

  package init(rule: String? = nil, fleet: String? = nil, vehicle: String? = nil, until: UTCTime) {
    (self.rule, self.fleet, self.vehicle, self.until) = (rule, fleet, vehicle, until)
  }

  package func covers(rule name: String, _ key: VehicleKey) -> Bool {
    (rule == nil || rule == name) && (fleet == nil || fleet == key.fleet)
      && (vehicle == nil || vehicle == key.vehicle)
  }
}

extension [Silence] {
  /// Returns the silences with another one added. If a silence for the same rule and vehicles exists, the one
  /// that ends later is retained. Silences that have ended at `time` are dropped.
  package func adding(_ silence: Silence, at time: UTCTime) -> [Silence] {
    var kept = filter { $0.until > time }
    if let place = kept.firstIndex(where: {
      ($0.rule, $0.fleet, $0.vehicle) == (silence.rule, silence.fleet, silence.vehicle)
    }) {
      kept[place].until = Swift.max(kept[place].until, silence.until)
    } else {
      kept.append(silence)
    }
    return kept
  }
}
