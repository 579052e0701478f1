import AgentCore
import StoreAndForward
import TestSupport
import Testing

/// Memory of the published discovery messages of Home Assistant.
@Suite struct DiscoveryMemoryTests {
  @Test func formerPrefixIsRemovedOnce() throws {
    let directory = try TemporaryDirectory()
    let outbox = try Outbox(path: directory.file("outbox.sqlite"))
    func next(_ prefix: String?) -> String? {
      let memory = DiscoveryMemory(prefix: prefix, outbox: outbox)
      for document in memory.change { _ = outbox.preserve(document) }
      return memory.former
    }
    #expect(next(nil) == nil && next("a") == nil && next("a") == nil)
    #expect(next("b") == "a" && next("b") == nil)
    #expect(next(nil) == "b" && next(nil) == nil)
    #expect(DiscoveryMemory(prefix: nil, outbox: nil).change.isEmpty)
  }
}
