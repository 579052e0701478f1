import JSON
import Spatial
import Telemetry
import Testing
import VehicleData

@Suite struct HomeAssistantTests {
  @Test func eachEntityIsAnnouncedWithItsDevice() throws {
    let topics = try TopicScheme(fleet: "ö 1", vehicle: "van.1")
    var formats = MessageFormats(
      topics: topics, homeAssistant: HomeAssistantDiscovery(prefix: "ha", topics: topics, version: "9"))
    let first = StatusMessage(
      state: .online, time: UTCTime(nanoseconds: 0), sessionStart: UTCTime(nanoseconds: 0))
    // Discovery messages are published before the first message, and only once.
    let publications = formats.encode(.status(first)).dropLast()
    #expect(formats.encode(.status(first)).count == 1)
    var identifiers: Set<String> = []
    for publication in publications {
      // Home Assistant allows only letters, digits, `_` and `-` in these names.
      let parts = publication.topic.split(separator: "/")
      #expect(
        parts.count == 5 && parts[0] == "ha" && parts[2] == "odograph___1_van_1" && parts[4] == "config")
      #expect(publication.retain && publication.qos == 1 && publication.lane == .state)
      let json = try JSONValue(parsing: publication.payload(identity: nil))
      identifiers.insert(try #require(json["unique_id"]?.string))
      #expect(json["name"]?.string?.isEmpty == false)
      #expect(json["availability_topic"]?.string == "odograph/v1/ö 1/van.1/status")
      #expect(json["availability_template"]?.string?.contains("value_json.state") == true)
      #expect(json["device"]?["identifiers"]?.array == [.string("odograph___1_van_1")])
      #expect(json["device"]?["name"]?.string == "van.1" && json["device"]?["sw_version"]?.string == "9")
      if parts[1] == "device_tracker" {
        #expect(json["source_type"]?.string == "gps")
        #expect(json["json_attributes_topic"]?.string == "odograph/v1/ö 1/van.1/location")
        // Home Assistant would treat an accuracy of 0 as exact.
        #expect(
          json["json_attributes_template"]?.string
            == "{{ dict(value_json, gps_accuracy=value_json.horizontalAccuracy | default(1000)) | tojson }}")
      } else {
        let isRetained = parts[1] == "binary_sensor"
        let prefix = isRetained ? "ha/binary_sensor/odograph___1_van_1/" : "odograph/v1/ö 1/van.1/"
        #expect(json["state_topic"]?.string?.hasPrefix(prefix) == true)
        #expect((json["value_template"]?.string?.isEmpty == false) != isRetained)
        let suggested = ["m/s": "km/h", "m": "km"][json["unit_of_measurement"]?.string ?? ""]
        #expect(json["suggested_unit_of_measurement"]?.string == suggested)
        let isOdometer = json["name"]?.string == "Odometer"
        #expect(json["state_class"]?.string == "total_increasing" || !isOdometer)
      }
    }
    let events = try #require(publications.first { $0.topic.hasPrefix("ha/event/") })
    let json = try JSONValue(parsing: events.payload(identity: nil))
    #expect(json["state_topic"]?.string?.hasSuffix("/driving/event") == true)
    #expect(json["event_types"]?.array?.contains(.string("harshBraking")) == true)
    #expect(publications.count >= 9 && identifiers.count == publications.count)
    #expect(publications.allSatisfy { if case .payload = $0.content { true } else { false } })
  }

  @Test func entitiesWithoutMessagesAreRemoved() throws {
    let topics = try TopicScheme(fleet: "f", vehicle: "v")
    let all = HomeAssistantDiscovery(prefix: "ha", topics: topics, version: "9").publications
    let some = HomeAssistantDiscovery(
      prefix: "ha", topics: topics, version: "9", kinds: [.location, .trip]
    ).publications
    #expect(some.map(\.topic) == all.map(\.topic) && some.allSatisfy(\.retain))
    let removed = some.filter { $0.payload(identity: nil).isEmpty }.map(\.topic)
    #expect(
      removed
        == [
          "sensor/odograph_f_v/heading", "binary_sensor/odograph_f_v/moving",
          "event/odograph_f_v/driving_event",
        ]
        .map { "ha/\($0)/config" })
  }

  /// After discovery was switched off, the first message removes all entities and states.
  @Test func entitiesOfAnEarlierRunAreRemovedOnce() throws {
    let topics = try TopicScheme(fleet: "f", vehicle: "v")
    var formats = MessageFormats(topics: topics)
    let former = HomeAssistantDiscovery(prefix: "ha", topics: topics, version: "9")
    formats.remove(former)
    let status = VehicleMessage.status(
      StatusMessage(state: .online, time: UTCTime(nanoseconds: 0), sessionStart: UTCTime(nanoseconds: 0)))
    let removed = formats.encode(status).filter { $0.topic.hasPrefix("ha/") }
    #expect(removed.allSatisfy { $0.retain && $0.lane == .state && $0.payload(identity: nil).isEmpty })
    let states = ["moving", "driving"].map { "ha/binary_sensor/odograph_f_v/\($0)/state" }
    #expect(Set(removed.map(\.topic)) == Set(former.publications.map(\.topic) + states))
    #expect(formats.encode(status).count == 1)
  }

  /// The retained position of both formats is deleted in the lane of positions.
  @Test func positionIsDeletedInAllFormats() throws {
    let topics = try TopicScheme(fleet: "f", vehicle: "v")
    let names = try OwnTracksTopics(user: "f", device: "v")
    let ownTracks = OwnTracksFormat(topics: names, trackerID: "v")
    let removals = MessageFormats(topics: topics, ownTracks: ownTracks).positionRemovals
    #expect(removals.map(\.topic) == [topics.topic(.location), names.base])
    #expect(removals.allSatisfy { $0.retain && $0.lane == .tracks && $0.payload(identity: nil).isEmpty })
    let foreign = MessageFormats(topics: topics, isNative: false, ownTracks: ownTracks).positionRemovals
    #expect(foreign.map(\.topic) == [names.base])
  }

  /// A payload that is not JSON is a string of the printed line.
  @Test(arguments: [("OFF", #""OFF""#), ("", #""""#), (#"{"a":1}"#, #"{"a":1}"#)])
  func printedLineIsJSON(payload: String, member: String) throws {
    let line = Publication(topic: "t", payload: Array(payload.utf8), lane: .state, retain: true).line(
      identity: nil)
    #expect(
      String(decoding: line, as: UTF8.self) == #"{"topic":"t","qos":1,"retain":true,"payload":"# + member
        + "}")
    #expect(try JSONValue(parsing: line)["topic"]?.string == "t")
  }

  /// Remote settings can enable a kind of message while the agent runs.
  @Test func entitiesOfEnabledMessagesAreAnnouncedOnce() throws {
    let topics = try TopicScheme(fleet: "f", vehicle: "v")
    var formats = MessageFormats(
      topics: topics,
      homeAssistant: HomeAssistantDiscovery(prefix: "ha", topics: topics, version: "9", kinds: [.location]))
    func announced(_ event: MotionMessage.Event) -> [String] {
      formats.encode(.motion(MotionMessage(time: UTCTime(nanoseconds: 0), event: event)))
        .filter { $0.topic.hasSuffix("/config") && !$0.payload(identity: nil).isEmpty }.map(\.topic)
    }
    _ = formats.encode(
      .status(
        StatusMessage(state: .online, time: UTCTime(nanoseconds: 0), sessionStart: UTCTime(nanoseconds: 0))))
    #expect(announced(.other("shake")) == [])
    #expect(announced(.activity(.moving)) == ["ha/binary_sensor/odograph_f_v/moving/config"])
    #expect(announced(.activity(.stationary)) == [])
  }

  @Test func movingAndDrivingAreRetainedAndPublishedOnChange() throws {
    let topics = try TopicScheme(fleet: "f", vehicle: "v")
    var formats = MessageFormats(
      topics: topics, homeAssistant: HomeAssistantDiscovery(prefix: "ha", topics: topics, version: "9"))
    func states(_ message: VehicleMessage) -> [String] {
      formats.encode(message).filter { $0.topic.hasSuffix("/state") && $0.topic.hasPrefix("ha/") }.map {
        #expect($0.retain && $0.qos == 1)
        return "\($0.topic) \(String(decoding: $0.payload(identity: nil), as: UTF8.self))"
      }
    }
    func motion(_ event: MotionMessage.Event) -> VehicleMessage {
      .motion(MotionMessage(time: UTCTime(nanoseconds: 0), event: event))
    }
    #expect(states(motion(.activity(.moving))) == ["ha/binary_sensor/odograph_f_v/moving/state ON"])
    #expect(states(motion(.activity(.moving))) == [])
    #expect(states(motion(.other("shake"))) == [])
    #expect(states(motion(.activity(.stationary))) == ["ha/binary_sensor/odograph_f_v/moving/state OFF"])
  }
}
