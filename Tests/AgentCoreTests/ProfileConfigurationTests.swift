import AgentCore
import Testing

@Suite struct ProfileConfigurationTests {
  @Test(arguments: [
    ("mqtt.profile=", "name at least one"), ("mqtt.profile=traccar", "is not one of"),
    ("owntracks.tid=abc", "one or two characters"), ("owntracks.user=a/b", "must not hold \"/\""),
    ("homeassistant.enabled=true", "add \"native\""),
  ])
  func invalidProfilesAreRejected(flag: String, problem: String) throws {
    let flags = ["vehicle.id=v"] + (flag.hasPrefix("mqtt") ? [] : ["mqtt.profile=owntracks"]) + [flag]
    let layers = try ConfigurationLayers(file: nil, environment: [:], assignments: flags)
    do throws(ConfigurationError) {
      _ = try layers.configuration()
      Issue.record("accepted \(flag)")
    } catch { #expect(error.problem.contains(problem), "\(error)") }
  }

  @Test(arguments: [("van-1", "n1"), ("a", "a"), ("bus_12", "12"), ("--", "--"), ("x.-y-", "xy")])
  func trackerIDHasLettersAndDigits(vehicle: String, trackerID: String) throws {
    let layers = try ConfigurationLayers(
      file: nil, environment: [:], assignments: ["vehicle.id=\(vehicle)", "mqtt.profile=owntracks"])
    #expect(try layers.configuration().profiles.ownTracks?.trackerID == trackerID)
  }
}
