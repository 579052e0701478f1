import Platform
import Sensors
import Simulation
import TestSupport
import Testing

@testable import SensorsGPSD

/// Decisions of a gpsd source about connections and reports, in virtual time.
@Suite struct GPSDWatchTests {
  private static let always = SensorDemand.rate(hertz: 1, latency: .seconds(1))

  private struct Story {
    var watch: GPSDWatch
    var generator = SeededGenerator(seed: 1)
    var said: [SourceStatus.State] = []

    init(device: String? = nil) {
      watch = GPSDWatch(source: "gpsd", device: device, backoff: Backoff(floor: 1, base: 1, limit: 30))
    }

    /// Reasons of the outages.
    var reasons: [String] {
      said.compactMap { if case .unavailable(let reason) = $0 { reason } else { nil } }
    }

    /// Returns the actions on an event, without reports of the status.
    mutating func at(_ seconds: Double, _ event: GPSDWatch.Event) -> [GPSDWatch.Action] {
      watch.handle(event, at: .start.advanced(bySeconds: seconds), using: &generator).filter { action in
        guard case .report(let state) = action else { return true }
        said.append(state)
        return false
      }
    }

    func deadline(_ seconds: Double) -> Double? {
      watch.deadline(at: .start.advanced(bySeconds: seconds))?.seconds
    }
  }

  private static let active = SourceStatus.State.active(rates: [:])

  @Test func noConnectionWithoutDemand() {
    var story = Story()
    #expect(story.at(0, .demand(.off)) == [])
    #expect(story.said == [.idle])
    #expect(story.deadline(0) == nil)
    #expect(story.at(5, .demand(Self.always)) == [.connect])
    #expect(story.at(5, .connected) == [])
    #expect(story.at(6, .reported(device: "a")) == [])
    #expect(story.said == [.idle, Self.active])
    #expect(story.at(7, .demand(.off)) == [.disconnect])
    #expect(story.said == [.idle, Self.active, .idle])
  }

  @Test func anOutageIsReportedOnceForAllAttempts() throws {
    var story = Story()
    #expect(story.at(0, .demand(Self.always)) == [.connect])
    var now = 0.0
    for attempt in 0..<20 {
      #expect(story.at(now, .disconnected(.unreachable, reason: "refused \(attempt)")) == [])
      let next = try #require(story.deadline(now))
      #expect(next - now >= 1 && next - now <= 30)
      #expect(story.at((now + next) / 2, .tick) == [])
      #expect(story.at(next, .tick) == [.connect])
      now = next
    }
    #expect(story.said == [.unavailable(reason: "refused 0")])
    #expect(story.at(now, .connected) == [])
    #expect(story.said.count == 1)
    _ = story.at(now + 1, .reported(device: nil))
    _ = story.at(now + 2, .reported(device: nil))
    #expect(story.said == [.unavailable(reason: "refused 0"), Self.active])
  }

  /// gpsd is started after the agent, and has no receiver; one is plugged in, and gpsd stops.
  @Test func eachCauseOfAnOutageIsReportedOnce() throws {
    var story = Story()
    _ = story.at(0, .demand(Self.always))
    var now = 0.0
    /// Connects at the next attempt.
    func connect() throws {
      now = try #require(story.deadline(now))
      #expect(story.at(now, .tick) == [.connect])
      _ = story.at(now, .connected)
    }
    for _ in 0..<3 {
      _ = story.at(now, .disconnected(.unreachable, reason: "refused"))
      now = try #require(story.deadline(now))
      #expect(story.at(now, .tick) == [.connect])
    }
    _ = story.at(now, .connected)
    for _ in 0..<3 {
      #expect(story.at(now, .listed(paths: [])) == [])
      now += GPSDWatch.silenceLimit
      #expect(story.at(now, .tick) == [.disconnect])
      try connect()
    }
    _ = story.at(now, .listed(paths: ["/dev/a"]))
    _ = story.at(now, .reported(device: "/dev/a"))
    _ = story.at(now, .disconnected(.connectionLost, reason: "closed"))
    _ = story.at(now + 60, .disconnected(.unreachable, reason: "refused"))
    #expect(
      story.said == [
        .unavailable(reason: "refused"),
        .unavailable(
          reason: "gpsd has no receiver; plug it in, or name it in DEVICES of /etc/default/gpsd"),
        Self.active, .unavailable(reason: "closed"), .unavailable(reason: "refused"),
      ])
  }

  /// `gpsd.device` has a mistake, or is a link to the path that gpsd uses.
  @Test func aReceiverThatGPSDDoesNotHaveIsReportedWithItsPaths() throws {
    var story = Story(device: "/dev/gps0")
    _ = story.at(0, .demand(Self.always))
    var now = 0.0
    for _ in 0..<3 {
      _ = story.at(now, .connected)
      #expect(story.at(now, .listed(paths: ["/dev/ttyACM0", "/dev/ttyUSB1"])) == [])
      #expect(story.at(now, .refused(message: "No such device as /dev/gps0")) == [.disconnect])
      now = try #require(story.deadline(now))
      #expect(story.at(now, .tick) == [.connect])
    }
    #expect(
      story.reasons == [
        "gpsd has no receiver /dev/gps0; set gpsd.device to one of: /dev/ttyACM0, /dev/ttyUSB1"
      ])
    // The receiver is plugged in.
    _ = story.at(now, .connected)
    _ = story.at(now, .listed(paths: ["/dev/gps0", "/dev/ttyACM0"]))
    _ = story.at(now, .reported(device: "/dev/gps0"))
    #expect(story.said.last == Self.active)
  }

  @Test func anErrorOfGPSDIsReportedWithTheSilence() {
    var story = Story()
    _ = story.at(0, .demand(Self.always))
    _ = story.at(0, .connected)
    _ = story.at(0, .listed(paths: ["/dev/a"]))
    #expect(story.at(1, .refused(message: "Invalid WATCH: 12")) == [])
    #expect(story.at(15, .tick) == [.disconnect])
    #expect(
      story.reasons == [
        "gpsd has had no report from a receiver for 15 s; check that the receiver is plugged in; gpsd reports: "
          + "Invalid WATCH: 12"
      ])
  }

  @Test func aStableConnectionResetsTheBackoff() throws {
    var story = Story()
    _ = story.at(0, .demand(Self.always))
    for attempt in 0..<10 {
      _ = story.at(Double(attempt) * 100, .disconnected(.unreachable, reason: "x"))
      _ = story.at(Double(attempt) * 100 + 50, .tick)
    }
    _ = story.at(1000, .connected)
    _ = story.at(1006, .reported(device: nil))
    _ = story.at(1010, .disconnected(.unreachable, reason: "gone"))
    // Floor and first ceiling are both 1 s.
    #expect(abs((story.deadline(1010) ?? 0) - 1011) < 1e-9)
  }

  @Test func silenceIsReportedAndTheConnectionReopened() throws {
    var story = Story()
    _ = story.at(0, .demand(Self.always))
    _ = story.at(0, .connected)
    _ = story.at(2, .reported(device: "a"))
    #expect(story.deadline(2) == 17)
    #expect(story.at(16.9, .tick) == [])
    #expect(story.at(17, .tick) == [.disconnect])
    #expect(story.said.count == 2)
    let retry = try #require(story.deadline(17))
    #expect(story.at(retry, .tick) == [.connect])
    _ = story.at(retry, .connected)
    #expect(story.at(retry + 15, .tick) == [.disconnect])
    #expect(story.said.count == 2)
    let again = try #require(story.deadline(retry + 15))
    _ = story.at(again, .tick)
    _ = story.at(again, .connected)
    _ = story.at(again, .reported(device: "a"))
    #expect(story.said.last == Self.active && story.said.count == 3)
  }

  /// A receiver that hangs repeats its last report. It counts as silent until it sends another one, across connections.
  @Test func repetitionsAreReportedLikeSilence() throws {
    var story = Story()
    _ = story.at(0, .demand(Self.always))
    _ = story.at(0, .connected)
    _ = story.at(2, .reported(device: "a"))
    for second in 3...16 { #expect(story.at(Double(second), .reported(device: "a", isRepeated: true)) == []) }
    #expect(story.said == [Self.active] && story.deadline(16) == 17)
    #expect(story.at(17, .tick) == [.disconnect])
    #expect(story.reasons == ["gpsd has had the same report from a for 15 s; restart the receiver"])
    let retry = try #require(story.deadline(17))
    #expect(story.at(retry, .tick) == [.connect])
    _ = story.at(retry, .connected)
    _ = story.at(retry, .reported(device: "a", isRepeated: true))
    #expect(story.said.count == 2)
    _ = story.at(retry + 1, .reported(device: "a"))
    #expect(story.said.last == Self.active && story.said.count == 3)
    // gpsd sends an epoch in parts.
    for second in 2...60 {
      for part in [false, true, true] {
        #expect(story.at(retry + Double(second), .reported(device: "a", isRepeated: part)) == [])
      }
      #expect(story.at(retry + Double(second), .tick) == [])
    }
    #expect(story.said.count == 3)
  }

  @Test func onlyAReceiverThatHasReportedIsMissed() {
    var story = Story()
    _ = story.at(0, .demand(Self.always))
    _ = story.at(0, .connected)
    _ = story.at(1, .reported(device: "a"))
    _ = story.at(2, .deviceClosed(path: "b"))
    #expect(story.said == [Self.active])
    #expect(story.at(3, .deviceClosed(path: "a")) == [])
    #expect(story.said.count == 2)
    guard case .unavailable(let reason)? = story.said.last else {
      Issue.record("not unavailable")
      return
    }
    #expect(reason.contains("a"))
    _ = story.at(4, .reported(device: "a"))
    #expect(story.said.last == Self.active)
  }

  @Test func aDutyCycleWatchesForItsOnPhases() {
    var story = Story()
    #expect(story.at(100, .demand(.dutyCycle(on: .seconds(10), period: .seconds(60)))) == [.connect])
    _ = story.at(100, .connected)
    _ = story.at(101, .reported(device: nil))
    #expect(story.deadline(101) == 110)
    #expect(story.at(110, .tick) == [.disconnect])
    #expect(story.deadline(110) == 160)
    #expect(story.at(130, .tick) == [])
    #expect(story.at(160, .tick) == [.connect])
    // An attempt that fails at the very end of the phase is not repeated before the next.
    #expect(story.at(170, .disconnected(.unreachable, reason: "refused")) == [])
    #expect(story.deadline(170) == 220)
    #expect(story.said == [Self.active])
    #expect(story.at(171, .demand(.off)) == [])
    #expect(story.said == [Self.active, .idle])
  }

  @Test(arguments: [
    (SensorDemand.dutyCycle(on: .seconds(60), period: .seconds(60)), true),
    (.dutyCycle(on: .zero, period: .seconds(1)), false),
    (.dutyCycle(on: .seconds(1), period: .zero), true), (.rate(hertz: 0, latency: .zero), false),
    (.rate(hertz: .nan, latency: .zero), false),
    (.rate(hertz: 0.1, latency: .zero), true),
  ])
  func extremeDemandsAreHandled(demand: SensorDemand, connects: Bool) {
    var story = Story()
    #expect(story.at(0, .demand(demand)) == (connects ? [.connect] : []))
  }

  @Test func aNewDemandRestartsAnInterruptedAttempt() {
    var story = Story()
    #expect(story.at(0, .demand(Self.always)) == [.connect])
    #expect(story.at(1, .demand(.rate(hertz: 5, latency: .zero))) == [.connect])
    #expect(story.at(2, .demand(.off)) == [])
    #expect(story.said == [.idle])
  }

  @Test func aLossWithoutDemandIsNoOutage() {
    var story = Story()
    _ = story.at(0, .demand(Self.always))
    _ = story.at(1, .demand(.off))
    #expect(story.at(2, .disconnected(.unreachable, reason: "gone")) == [])
    #expect(story.said == [.idle])
  }
}
