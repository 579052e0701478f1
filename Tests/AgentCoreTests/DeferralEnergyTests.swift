import AgentCore
import Pipeline
import Positioning
import Simulation
import Testing

/// Energy of deferral on a simulated drive of one hour, from the agent's ledger. The figures are in
/// `Config/odograph.toml`.
@Suite struct DeferralEnergyTests {
  private func joules(_ settings: [String]) throws -> [EnergyComponent: Double] {
    let common = [
      "vehicle.id=v", "location.reporting=distance", "heading.enabled=false", "attitude.enabled=false",
      "motion.events=", "events.kinds=", "trips.enabled=false", "navigation.enabled=false",
    ]
    let configuration = try AgentConfiguration(settings: common + settings)
    return try SimulatedStretch(configuration, .drive).advance(to: 3600).joules
  }

  /// A batch uses less radio energy than its single fixes. The receiver sleeps between fixes as without deferral.
  @Test(arguments: [
    ("best", 0), ("best", 50), ("best", 500), ("nearestTenMeters", 0), ("hundredMeters", 0),
    ("hundredMeters", 500), ("kilometer", 0),
  ])
  func deferralSavesEnergy(accuracy: String, filter: Int) throws {
    let settings = ["location.desired_accuracy=\(accuracy)", "location.distance_filter=\(filter)"]
    let without = try joules(settings)
    for timeout in [60, 300] {
      let with = try joules(settings + ["location.deferral_timeout=\(timeout)"])
      let parts = [EnergyComponent.receiver, .processor, .radio].map { part in
        let (a, b) = (without[part] ?? 0, with[part] ?? 0)
        #expect(b <= 1.02 * a + 0.1, "\(part)")
        return "\(part) \(Int(a.rounded())) → \(Int(b.rounded())) J"
      }
      print("deferral \(accuracy) filter \(filter) timeout \(timeout): \(parts.joined(separator: ", "))")
    }
  }
}
