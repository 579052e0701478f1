import Testing

@testable import AgentCore

@Suite struct ProfileConfigurationTests {
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
