import MQTT
import Spatial
import Testing

@testable import AgentCore

@Suite struct LinkPlanTests {
  private func plan(_ settings: String...) throws -> LinkPlan {
    let configuration = try AgentConfiguration(settings: ["vehicle.id=v"] + settings)
    return LinkPlan(configuration.mqtt)
  }

  @Test func linkSettingsFollowLongRestAndFirstMovement() throws {
    var plan = try plan(
      "mqtt.link=bursts-at-rest", "mqtt.burst_interval=900", "mqtt.burst_linger=3",
      "mqtt.keepalive_at_rest=240")
    let moving = LinkPlan.Choice(policy: .standing, keepAlive: 60)
    let resting = LinkPlan.Choice(policy: .bursts(linger: 3, interval: 900), keepAlive: 240)
    #expect(plan.choice == moving)
    for (seconds, isAtRest, expected) in [
      (0.0, true, nil), (299, true, nil), (299.5, false, nil), (300, true, nil), (599, true, nil),
      (600, true, resting), (601, true, nil), (700, false, moving), (701, false, nil), (702, true, nil),
      (1002, true, resting),
    ] {
      #expect(plan.observe(isAtRest: isAtRest, at: Timestamp(seconds: seconds)) == expected, "\(seconds)")
    }
  }

  @Test(arguments: ["always", "bursts"]) func linkSettingsAreUnchangedWithoutRestSettings(link: String) throws
  {
    var plan = try plan("mqtt.link=\(link)")
    for seconds in [0.0, 400, 800] {
      #expect(plan.observe(isAtRest: true, at: Timestamp(seconds: seconds)) == nil)
    }
  }
}
