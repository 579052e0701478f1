import Motion
import Positioning
import Spatial
import Telemetry
import Testing

@testable import AgentCore

/// The expected traffic of a link, in virtual time.
@Suite struct LinkModelTests {
  private func link(_ settings: String...) throws -> LinkModel {
    let configuration = try AgentConfiguration(settings: ["vehicle.id=v"] + settings)
    let formats = try MessageFormats(
      configuration.profiles, topics: TopicScheme(fleet: "f", vehicle: "v"), version: "1")
    return LinkModel(configuration.mqtt, formats: formats, start: Timestamp(seconds: 0))
  }

  private func utc(_ seconds: Double) -> UTCTime { UTCTime(nanoseconds: Int64(seconds * 1e9)) }

  private func attitude(_ seconds: Double) -> VehicleMessage {
    .attitude(
      AttitudeMessage(
        time: utc(seconds), frame: .xTrueNorthZVertical, attitude: Attitude(quaternion: .identity)))
  }

  private func status(_ seconds: Double) -> VehicleMessage {
    .status(StatusMessage(state: .online, time: utc(seconds), sessionStart: utc(0)))
  }

  /// Live values neither open a link nor keep it open, and are dropped while it is closed.
  @Test func liveValuesDoNotKeepTheLinkOpen() throws {
    var link = try link("mqtt.link=bursts", "mqtt.burst_interval=600", "mqtt.burst_linger=5")
    for second in 0..<600 {
      link.advance(to: Timestamp(seconds: Double(second)), isAtRest: false)
      link.accept(second == 0 ? [status(0), attitude(0)] : [attitude(Double(second))])
    }
    #expect(link.messages == ["status": 2, "attitude": 5])
    #expect(link.radio.starts == 1 && link.radio.seconds < 17)
  }

  /// At rest, the link closes after its timeout despite live values.
  @Test func parkedLinkSleepsDespiteLiveValues() throws {
    var link = try link("mqtt.link=bursts-at-rest", "mqtt.burst_interval=1800")
    for second in 0..<3000 {
      link.advance(to: Timestamp(seconds: Double(second)), isAtRest: true)
      link.accept(second == 0 ? [status(0)] : [attitude(Double(second))])
    }
    let live = try #require(link.messages["attitude"])
    #expect((300...320).contains(live))
    #expect((300...350).contains(link.radio.seconds), "\(link.radio.seconds) s")
  }

  /// An event opens the link and delivers pending messages; a track alone does not.
  @Test func eventsOpenTheLink() throws {
    var link = try link("mqtt.link=bursts", "mqtt.burst_interval=3600", "mqtt.burst_linger=2")
    link.advance(to: Timestamp(seconds: 0), isAtRest: false)
    link.accept([status(0)])
    link.advance(to: Timestamp(seconds: 100), isAtRest: false)
    let track = TrackMessage(
      identity: nil,
      fixes: [
        .init(time: utc(99), coordinate: PrivacyPolicy.unrestricted(Coordinate(latitude: 48, longitude: 11)))
      ])
    link.accept([.track(track)])
    #expect(link.messages["track"] == nil)
    link.advance(to: Timestamp(seconds: 200), isAtRest: false)
    link.accept([.motion(MotionMessage(time: utc(200), event: .activity(.moving)))])
    #expect(link.messages["track"] == 1 && link.messages["motion"] == 1)
    #expect(link.radio.starts == 2)
  }

  /// Runs bursts every 600 s.
  /// - Parameters:
  ///   - restsFrom: time in s from which the vehicle is at rest.
  ///   - messages: messages by time in s.
  private func bursts(
    until end: Int, restsFrom: Int, _ messages: [Int: [VehicleMessage]] = [:]
  ) throws -> LinkModel {
    var link = try link("mqtt.link=bursts", "mqtt.burst_interval=600", "mqtt.burst_linger=5")
    for second in 0...end {
      link.advance(to: Timestamp(seconds: Double(second)), isAtRest: second >= restsFrom)
      link.accept((second == 0 ? [status(0)] : []) + (messages[second] ?? []))
    }
    return link
  }

  /// At rest, only the first burst publishes `online` besides `asleep`.
  @Test func scheduledBurstsAtRestHaveOneStatus() throws {
    let resting = try bursts(until: 3605, restsFrom: 0)
    #expect(resting.radio.starts == 7 && resting.messages == ["status": 8])
    let moving = try bursts(until: 3605, restsFrom: 4000)
    #expect(moving.radio.starts == 7 && moving.messages == ["status": 14])
    // From the fourth burst on, the vehicle is at rest.
    #expect(try bursts(until: 3605, restsFrom: 1500).messages == ["status": 10])
  }

  /// An event opens the link and publishes `online`, also during a scheduled burst. The next burst is quiet again.
  @Test func eventsPublishOnline() throws {
    let event: VehicleMessage = .motion(MotionMessage(time: utc(0), event: .activity(.stationary)))
    let between = try bursts(until: 1299, restsFrom: 0, [700: [event]])
    #expect(between.radio.starts == 3 && between.messages == ["status": 2 + 1 + 2, "motion": 1])
    #expect(try bursts(until: 1400, restsFrom: 0, [700: [event]]).messages == ["status": 6, "motion": 1])
    let during = try bursts(until: 1300, restsFrom: 0, [602: [event]])
    #expect(during.radio.starts == 3 && during.messages == ["status": 2 + 2 + 1, "motion": 1])
  }

  /// A problem that is reported between two bursts or during one is part of the next `asleep`.
  @Test(arguments: [300, 602]) func changedStatusIsPublishedAsAsleep(second: Int) throws {
    var changed = StatusMessage(state: .online, time: utc(Double(second)), sessionStart: utc(0))
    changed.deliveryProblem = String(repeating: "x", count: 500)
    let plain = try bursts(until: 700, restsFrom: 0)
    let link = try bursts(until: 700, restsFrom: 0, [second: [.status(changed)]])
    #expect(plain.messages == ["status": 3] && link.messages == ["status": 3])
    let more = (link.bytes["status"] ?? 0) - (plain.bytes["status"] ?? 0)
    #expect((500...600).contains(more), "\(more)")
  }

  /// A burst that state messages extend beyond 30 s publishes `online`.
  @Test func longBurstPublishesOnline() throws {
    func messages(until end: Int) -> [Int: [VehicleMessage]] {
      let data = AltitudeData(timestamp: Timestamp(seconds: 0), relativeAltitude: 0, pressure: 101)
      let states = stride(from: 601, to: end, by: 2).map {
        ($0, [VehicleMessage.altitude(AltitudeMessage(time: utc(Double($0)), data: data))])
      }
      return Dictionary(uniqueKeysWithValues: states)
    }
    #expect(try bursts(until: 700, restsFrom: 0, messages(until: 620)).messages["status"] == 3)
    #expect(try bursts(until: 700, restsFrom: 0, messages(until: 660)).messages["status"] == 4)
  }

  /// Parameters are link settings. The use of the link does not depend on the time step.
  @Test(arguments: [
    ["mqtt.link=bursts", "mqtt.burst_interval=600"], ["mqtt.link=always", "mqtt.keepalive=30"],
    ["mqtt.link=bursts-at-rest", "mqtt.burst_interval=700", "mqtt.keepalive_at_rest=300"],
  ])
  func linkUseIsIndependentOfTheStep(settings: [String]) throws {
    func use(step: Int) throws -> EnergyAccount {
      var link = try link(settings[0], settings[1], settings.last ?? "")
      for second in stride(from: 0, through: 7200, by: step) {
        link.advance(to: Timestamp(seconds: Double(second)), isAtRest: second >= 1200)
        if second % 1200 == 0 { link.accept([status(Double(second))]) }
      }
      return link.radio
    }
    let (fine, coarse) = (try use(step: 1), try use(step: 60))
    #expect(fine.bytes == coarse.bytes && fine.starts == coarse.starts)
    #expect(abs(fine.seconds - coarse.seconds) < 0.02 * fine.seconds, "\(fine) \(coarse)")
  }
}
