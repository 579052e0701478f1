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
