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
