import MQTT
import Platform
import Spatial
import Telemetry
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

@Suite struct PresenceTests {
  /// The status `asleep` contains the counters after the burst, which has just emptied the queue.
  @Test func asleepHasTheCountersOfTheEndOfTheBurst() throws {
    let presence = Presence()
    #expect(presence.asleep(nextContactIn: 60) == nil)
    var status = StatusMessage(state: .online, time: .now, sessionStart: .now)
    (status.uptime, status.counters) = (662.5, ["queue.records": 2, "connections": 3])
    presence.observe(status)
    let asleep = try #require(presence.asleep(nextContactIn: 60, counters: ["queue.records": 0]))
    #expect(asleep.state == .asleep && asleep.nextContact == asleep.time.advanced(bySeconds: 60))
    #expect(asleep.counters == ["queue.records": 0, "connections": 3])
    #expect(asleep.uptime ?? 0 >= 662.5 && asleep.time >= status.time)
  }

  /// On a machine without a clock battery, the receiver provides the time. A will with a time in 1970 would be
  /// attributed to an earlier session.
  @Test func willHasTheTimeOfTheStatus() {
    let presence = Presence()
    let true2026 = UTCTime.now.advanced(bySeconds: 3e7)
    presence.observe(StatusMessage(state: .online, time: true2026, sessionStart: true2026))
    let will = presence.will()
    #expect(will.isWill && will.state == .offline)
    #expect(will.sessionStart >= true2026 && will.time == will.sessionStart)
    presence.connected()
    // The clock is set back.
    presence.observe(StatusMessage(state: .online, time: .now, sessionStart: true2026))
    #expect(presence.will().sessionStart > will.sessionStart)
  }
}
