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
}
