import AgentCore
import Pipeline
import Positioning
import Simulation
import Spatial
import Testing

/// Receiver energy on a simulated drive at each desired accuracy. The power plan depends on the exact fix:
/// blurring published positions uses no additional energy.
@Suite struct PowerTierTests {
  private enum Disclosure: CaseIterable {
    case exact
    case blurredEverywhere
    case inABlurZone
  }

  private func receiverJoules(
    _ accuracy: DesiredAccuracy, _ disclosure: Disclosure, _ scenario: SimulatedDrive.Scenario
  ) throws -> Double {
    let settings = [
      "vehicle.id=v", "location.desired_accuracy=\(accuracy.rawValue)", "location.reporting=distance",
      "location.distance_filter=25",
      "heading.enabled=false", "attitude.enabled=false", "motion.events=",
    ]
    var configuration = try AgentConfiguration(settings: settings)
    configuration.pipeline.privacy =
      switch disclosure {
      case .exact: PrivacyPolicy()
      case .blurredEverywhere: PrivacyPolicy(accuracy: 1000)
      case .inABlurZone:
        PrivacyPolicy(zones: [
          PrivacyPolicy.Zone(
            area: .circle(try #require(Circle(center: Self.place, radius: 50_000))), treatment: .blur)
        ])
      }
    let stretch = try SimulatedStretch(configuration, scenario)
    return try #require(stretch.advance(to: 600).joules[.receiver])
  }

  /// Start of the simulated route.
  private static let place = SimulatedDrive.Configuration().route.waypoints[0].coordinate

  /// Simulates ten minutes, driving and parked.
  @Test(arguments: DesiredAccuracy.allCases) func blurringUsesNoEnergy(accuracy: DesiredAccuracy) throws {
    for scenario in [SimulatedDrive.Scenario.drive, .parked] {
      let exact = try receiverJoules(accuracy, .exact, scenario)
      for disclosure in [Disclosure.blurredEverywhere, .inABlurZone] {
        let blurred = try receiverJoules(accuracy, disclosure, scenario)
        #expect(blurred <= 1.02 * exact + 0.1, "\(scenario) \(disclosure): \(blurred) J, exact \(exact) J")
      }
    }
  }

  /// A coarser accuracy never uses more energy, and `reduced`, with cells of several kilometres, uses less than
  /// half as much as the best.
  @Test func coarserAccuracyUsesLessEnergy() throws {
    for scenario in [SimulatedDrive.Scenario.drive, .parked] {
      let tiers = try DesiredAccuracy.allCases.map { try receiverJoules($0, .exact, scenario) }
      for (fine, coarse) in zip(tiers, tiers.dropFirst()) { #expect(coarse <= 1.02 * fine + 0.1) }
      #expect(try #require(tiers.last) < 0.5 * (try #require(tiers.first)), "\(scenario): \(tiers)")
    }
  }
}
