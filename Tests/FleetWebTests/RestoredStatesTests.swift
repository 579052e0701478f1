import Fleet
import FleetAlerts
import FleetFixtures
import FleetWeb
import MQTT
import Platform
import Spatial
import Telemetry
import TestSupport
import Testing
import VehicleData

/// A server that starts with a recording: its observers receive the states that the broker repeats.
@Suite struct RestoredStatesTests {
  private final class Witness: FleetObserver {
    let seen = Locked<[String]>([])

    func observe(_ message: FleetMessage, isRetained: Bool, of vehicle: VehicleRecord, at moment: Moment) {
      let text =
        switch message {
        case .message(.status(let status)): "status \(status.state)"
        case .message(.location(let location)): "location \(location.location.coordinate.latitude)"
        case .message(.regionsState(let states)): "\(states.count) regions"
        default: "another message"
        }
      seen.withLock { $0.append(text) }
    }
  }

  private static func states(_ state: String, _ latitude: Double, seq: Int) -> [(kind: String, json: String)]
  {
    let time = Double(seq)
    return [
      ("status", statusJSON(state, at: time, epoch: "e", seq: seq)),
      ("location", locationJSON(latitude, at: time, epoch: "e", seq: seq + 1)),
      (
        "regions/state",
        #"{"time":"\#(wireTime(time))","count":1,"regions":[{"region":"depot","state":"inside"}],"#
          + #""epoch":"e","seq":\#(seq + 2)}"#
      ),
      (
        "region",
        #"{"event":"enter","region":"depot","time":"\#(wireTime(time))","latitude":48,"longitude":11,"#
          + #""epoch":"e","seq":\#(seq + 3)}"#
      ),
    ]
  }

  private func roster(_ states: [(kind: String, json: String)]) -> Roster {
    var roster = Roster()
    for (kind, json) in states { roster.receive(kind, json, retained: true, at: 50) }
    return roster
  }

  private func send(_ states: [(kind: String, json: String)], to feed: FleetFeed) {
    let messages = states.map {
      MQTTMessage(topic: "odograph/v1/demo/van/\($0.kind)", text: $0.json, retain: true)
    }
    feed.receive(FleetBatch(messages: messages, receivedAt: .now))
  }

  /// States, not events, and only once: after a reconnect the broker repeats states that observers have received.
  @Test func repeatedStatesAreReportedOnce() {
    let witness = Witness()
    let states = Self.states("offline", 48, seq: 10)
    let feed = FleetFeed(roster(states), observers: [witness])
    for _ in 0..<3 { send(states, to: feed) }
    #expect(witness.seen.withLock { $0 } == ["status offline", "location 48.0", "1 regions"])
  }

  /// A broker that has lost its newest messages repeats older ones: the states of the recording apply.
  @Test func newerStatesOfTheRecordingAreReported() {
    let witness = Witness()
    let feed = FleetFeed(roster(Self.states("offline", 48, seq: 10)), observers: [witness])
    send(Self.states("online", 47, seq: 1), to: feed)
    #expect(witness.seen.withLock { $0 } == ["status offline", "location 48.0", "1 regions"])
  }

  @Test func newerStatesOfTheBrokerAreReported() {
    let witness = Witness()
    let feed = FleetFeed(roster(Self.states("offline", 48, seq: 10)), observers: [witness])
    let states = Self.states("online", 49, seq: 20)
    for _ in 0..<2 { send(states, to: feed) }
    #expect(
      witness.seen.withLock { $0 } == ["status online", "location 49.0", "1 regions", "another message"])
  }

  /// Rules of `silent` use each message. New rules are evaluated with the states of vehicles that send nothing.
  @Test func messagesAndStatesReachNewRules() {
    var silent = AlertRule(name: "silent", condition: .silent)
    silent.duration = 3600
    var settings = AlertSettings(store: "unused")
    settings.rules = [silent]
    let service = AlertService(settings) { _ in }
    let feed = FleetFeed(Roster(), observers: [service])
    func receive(_ kind: String, _ json: String) {
      let message = MQTTMessage(topic: "odograph/v1/demo/van/\(kind)", text: json)
      feed.receive(FleetBatch(messages: [message], receivedAt: moment(10)))
    }
    func shake(_ time: Double) -> String { #"{"time":"\#(wireTime(time))","event":"shake","phase":"began"}"# }
    func heading(_ time: Double) -> String { #"{"time":"\#(wireTime(time))","magneticHeading":10}"# }
    func reports() -> [VehicleFacts] {
      service.inbox.update { inbox in
        defer { inbox.reports = ReportQueue() }
        return inbox.reports.inOrder
      }
    }
    receive("status", statusJSON("online", at: 0))
    receive("motion", shake(0))
    receive("heading", heading(0))
    #expect(reports().map(\.topic) == [.status, .contact, .contact])
    settings.rules = [AlertRule(name: "shaken", condition: .event(["shake"]))]
    service.reload(settings)
    receive("motion", shake(1))
    receive("heading", heading(1))
    #expect(reports().map(\.topic) == [.event])
    settings.rules = [silent]
    service.reload(settings)
    feed.report(to: service, at: moment(20))
    let repeated = reports()
    #expect(repeated.map(\.topic) == [.status] && repeated.map(\.heard) == [moment(10).timestamp])
  }

  /// The vehicle went offline, and later online, before the server started.
  @Test(.timeLimit(.minutes(3))) func alertsFollowFromRepeatedStates() throws {
    let directory = try TemporaryDirectory()
    var settings = AlertSettings(store: directory.file("alerts.sqlite"))
    settings.rules = [AlertRule(name: "away", condition: .offline)]
    func start(_ states: [(kind: String, json: String)]) throws -> AlertService {
      let service = AlertService(settings) { _ in }
      try service.start()
      send(states, to: FleetFeed(roster(states), observers: [service]))
      return service
    }
    let first = try start(Self.states("offline", 48, seq: 10))
    #expect(waitUntil { first.state.open.values.map(\.rule) == ["away"] })
    first.stop()
    let second = try start(Self.states("online", 48, seq: 20))
    #expect(waitUntil { second.state.open.isEmpty && second.state.ended.count == 1 })
    second.stop()
  }
}
