import FleetAlerts
import Testing

struct AlertRuleTests {
  @Test func aRuleHasItsName() { #expect(AlertRule(name: "offline").name == "offline") }
}
