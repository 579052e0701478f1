import AgentCore
import StoreAndForward
import TestSupport
import Testing

/// Settings of the previous run that have caused retained messages.
@Suite struct FormerSettingTests {
  @Test func changedSettingIsReportedOnce() throws {
    let directory = try TemporaryDirectory()
    let outbox = try Outbox(path: directory.file("outbox.sqlite"))
    func former(_ current: String) -> String? {
      let setting = FormerSetting("test", current: current, outbox: outbox)
      for document in setting.change { _ = outbox.preserve(document) }
      return setting.value
    }
    #expect(former("") == nil && former("a") == nil && former("a") == nil)
    #expect(former("b") == "a" && former("b") == nil)
    #expect(former("") == "b" && former("") == nil)
    #expect(FormerSetting("test", current: "a", outbox: nil).change.isEmpty)
  }

  /// Each setting that permits fewer positions changes the digest. Others do not.
  @Test func positionDigestFollowsPrivacy() throws {
    func digest(_ settings: String...) throws -> String {
      try AgentConfiguration(settings: ["vehicle.id=v", "mqtt.broker=127.0.0.1"] + settings).positionDigest
    }
    let usual = try digest()
    #expect(try digest("status.interval=7", "location.error_bound=77") == usual)
    let others = [
      try digest("location.enabled=false"), try digest("privacy.accuracy=1000"),
      try digest("privacy.zones=[\"48.2,11.5,50000\"]"), try digest("privacy.zones=[\"48.2,11.5,500\"]"),
      try digest("location.desired_accuracy=reduced"),
    ]
    #expect(Set(others + [usual]).count == 6)
  }
}
