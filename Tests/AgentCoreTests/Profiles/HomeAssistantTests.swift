import Telemetry
import Testing

@testable import AgentCore

@Suite struct HomeAssistantTests {
  @Test func eachEntityIsAnnouncedWithItsDevice() throws {
    let topics = try TopicScheme(fleet: "ö 1", vehicle: "van.1")
    let drafts = HomeAssistantDiscovery(prefix: "ha", topics: topics, version: "9").drafts
    var identifiers: Set<String> = []
    for draft in drafts {
      let topic = try #require(draft.topic)
      // Letters, digits, _ and - are all that Home Assistant takes here.
      let parts = topic.split(separator: "/")
      #expect(
        parts.count == 5 && parts[0] == "ha" && parts[2] == "odograph___1_van_1" && parts[4] == "config")
      #expect(draft.retain && draft.qos == 1)
      let json = try JSONValue(parsing: draft.encode(nil))
      identifiers.insert(try #require(json["unique_id"]?.string))
      #expect(json["name"]?.string?.isEmpty == false)
      #expect(json["availability_topic"]?.string == "odograph/v1/ö 1/van.1/status")
      #expect(json["availability_template"]?.string?.contains("value_json.state") == true)
      #expect(json["device"]?["identifiers"]?.array == [.string("odograph___1_van_1")])
      #expect(json["device"]?["name"]?.string == "van.1" && json["device"]?["sw_version"]?.string == "9")
      if parts[1] == "device_tracker" {
        #expect(json["source_type"]?.string == "gps")
        #expect(json["json_attributes_topic"]?.string == "odograph/v1/ö 1/van.1/location")
        #expect(json["json_attributes_template"]?.string?.contains("gps_accuracy") == true)
      } else {
        #expect(json["state_topic"]?.string?.hasPrefix("odograph/v1/ö 1/van.1/") == true)
        #expect(json["value_template"]?.string?.isEmpty == false)
      }
    }
    #expect(drafts.count >= 5 && identifiers.count == drafts.count)
  }

  @Test(arguments: [
    ("mqtt.profile=", "name at least one"), ("mqtt.profile=traccar", "is not one of"),
    ("owntracks.tid=abc", "one or two characters"), ("owntracks.user=a/b", "must not hold \"/\""),
    ("homeassistant.enabled=true", "add \"native\""),
  ])
  func profilesThatCannotBeAreRefused(flag: String, problem: String) throws {
    let flags = ["vehicle.id=v"] + (flag.hasPrefix("mqtt") ? [] : ["mqtt.profile=owntracks"]) + [flag]
    let layers = try ConfigurationLayers(file: nil, environment: [:], assignments: flags)
    do throws(ConfigurationError) {
      _ = try layers.configuration()
      Issue.record("accepted \(flag)")
    } catch { #expect(error.problem.contains(problem), "\(error)") }
  }
}
