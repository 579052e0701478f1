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

/// Statuses of scheduled bursts, in virtual time.
@Suite struct QuietBurstTests {
  /// A vehicle that connects in bursts.
  private final class Vehicle {
    private var burst = QuietBurst()
    private var plan: LinkPlan

    init(_ link: String = "bursts", linger: Double = 5, isAtRest: Bool = true, isAsleep: Bool = true) throws {
      let settings = ["vehicle.id=v", "mqtt.link=\(link)", "mqtt.burst_linger=\(linger)"]
      plan = LinkPlan(try AgentConfiguration(settings: settings).mqtt)
      move(isAtRest: isAtRest)
      if isAsleep { sleep() }
    }

    func move(isAtRest: Bool) { _ = plan.observe(isAtRest: isAtRest, at: Timestamp(seconds: 0)) }

    /// Publishes `asleep`.
    func sleep() { burst.announce() }

    func fail() { burst.attempt() }

    func connect(at seconds: Double) {
      burst.attempt()
      burst.connect(at: Timestamp(seconds: seconds))
    }

    func isQuiet(at seconds: Double) -> Bool { burst.isQuiet(plan, at: Timestamp(seconds: seconds)) }

    func holdsStatus(at seconds: Double) -> Bool { burst.holds(plan, at: Timestamp(seconds: seconds)) }

    /// Returns true if the event publishes a held status.
    func event() -> Bool { burst.end() }

    /// Returns true if the time has come to publish a held status.
    func advance(to seconds: Double) -> Bool { burst.advance(to: Timestamp(seconds: seconds), plan) }
  }

  @Test func firstBurstPublishesItsStatuses() throws {
    let vehicle = try Vehicle(isAsleep: false)
    #expect(!vehicle.holdsStatus(at: 0))
    vehicle.connect(at: 1)
    #expect(!vehicle.isQuiet(at: 1))
    #expect(!vehicle.holdsStatus(at: 1))
  }

  @Test func scheduledBurstsHoldTheirStatuses() throws {
    let vehicle = try Vehicle()
    for start in [600.0, 1200, 1800] {
      // A status between two bursts is held, too.
      #expect(vehicle.holdsStatus(at: start - 100))
      vehicle.connect(at: start)
      #expect(vehicle.isQuiet(at: start))
      #expect(vehicle.holdsStatus(at: start + 1))
      #expect(!vehicle.advance(to: start + 5))
      vehicle.sleep()
    }
  }

  @Test func failedAttemptAndBrokenConnectionEndTheSilence() throws {
    let vehicle = try Vehicle()
    vehicle.connect(at: 600)
    #expect(vehicle.holdsStatus(at: 600))
    // The burst breaks off, and the broker publishes the will.
    vehicle.connect(at: 603)
    #expect(!vehicle.holdsStatus(at: 603))
    vehicle.sleep()
    vehicle.fail()
    vehicle.connect(at: 1203)
    #expect(!vehicle.holdsStatus(at: 1203))
    vehicle.sleep()
    vehicle.connect(at: 1800)
    #expect(vehicle.holdsStatus(at: 1800))
  }

  @Test func eventPublishesTheHeldStatus() throws {
    let vehicle = try Vehicle()
    // Between two bursts: the next session publishes a status of its own.
    #expect(vehicle.holdsStatus(at: 90))
    #expect(!vehicle.event())
    vehicle.connect(at: 100)
    #expect(!vehicle.holdsStatus(at: 100))
    vehicle.sleep()
    // During a burst, before its first status.
    vehicle.connect(at: 600)
    #expect(!vehicle.event())
    #expect(!vehicle.holdsStatus(at: 600))
    vehicle.sleep()
    // During a burst, after its first status.
    vehicle.connect(at: 1200)
    #expect(vehicle.holdsStatus(at: 1200))
    #expect(vehicle.event())
    #expect(!vehicle.event())
    #expect(!vehicle.holdsStatus(at: 1201))
    // After `asleep`, before the link is closed.
    vehicle.sleep()
    #expect(!vehicle.event())
    vehicle.connect(at: 1206)
    #expect(!vehicle.isQuiet(at: 1206))
  }

  @Test func longBurstPublishesTheHeldStatus() throws {
    let vehicle = try Vehicle(linger: 5)
    vehicle.connect(at: 600)
    #expect(vehicle.holdsStatus(at: 601))
    #expect(!vehicle.advance(to: 624.9))
    #expect(vehicle.advance(to: 625))
    #expect(!vehicle.advance(to: 626))
    #expect(!vehicle.holdsStatus(at: 626))
    #expect(!(try Vehicle(linger: 30).holdsStatus(at: 500)))
  }

  @Test func movingVehicleAndPermanentLinkPublishTheirStatuses() throws {
    #expect(!(try Vehicle(isAtRest: false).holdsStatus(at: 100)))
    #expect(!(try Vehicle("always").holdsStatus(at: 100)))
    let vehicle = try Vehicle()
    vehicle.connect(at: 600)
    #expect(vehicle.holdsStatus(at: 600))
    vehicle.move(isAtRest: false)
    #expect(vehicle.advance(to: 601))
  }
}

@Suite struct PresenceTests {
  /// In a quiet burst, `asleep` has the members of the newest held status, and the session of the burst.
  @Test func asleepHasTheMembersOfTheHeldStatus() throws {
    var plan = LinkPlan(try AgentConfiguration(settings: ["vehicle.id=v", "mqtt.link=bursts"]).mqtt)
    _ = plan.observe(isAtRest: true, at: Timestamp(seconds: 0))
    let presence = Presence()
    func observe(_ problem: String?) -> Bool {
      var status = StatusMessage(state: .online, time: .now, sessionStart: .now)
      status.deliveryProblem = problem
      presence.observe(status)
      return presence.holdsStatus(plan)
    }
    func connect() -> UTCTime {
      let will = presence.will()
      presence.connected()
      return will.sessionStart
    }
    let first = connect()
    #expect(!observe(nil))
    #expect(try #require(presence.asleep(nextContactIn: 60)).sessionStart == first)
    let second = connect()
    #expect(presence.isQuiet(plan) && observe(nil) && observe("quota exceeded") && second > first)
    let asleep = try #require(presence.asleep(nextContactIn: 60))
    #expect(asleep.state == .asleep && asleep.deliveryProblem == "quota exceeded")
    #expect(asleep.sessionStart == second)
    // An event during the burst publishes what was held.
    _ = connect()
    #expect(observe("disk full"))
    let held = try #require(presence.interrupt())
    #expect(held.state == .online && held.deliveryProblem == "disk full")
    #expect(presence.interrupt() == nil && !observe(nil))
  }

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
