package import Fleet
package import Spatial

/// That nobody is told of some alerts for a time. Alerts that are open when it is over are told then; those that have ended never
/// are.
package struct Silence: Hashable, Sendable {
  /// nil for all rules.
  package var rule: String?
  /// nil for all fleets, and for all vehicles of the fleet.
  package var fleet: String?
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
  /// With another one. Of those of the same rule and vehicles the longest is kept, and what is over at `time` is not.
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
