import Pipeline
import Platform
import Sensors
import Spatial
import Testing

@testable import AgentCore

/// The agent's input queue between threads.
@Suite struct AgentInboxTests {
  private static let idle = AgentInput.sensor(
    .status(SourceStatus(timestamp: Timestamp(nanoseconds: 0), source: "s", kinds: [], state: .idle)))

  /// Floods the queue with sensor events from one thread and requests from another. A stop is among the next
  /// ten inputs, and inputs of both kinds are processed.
  @Test func stopPassesTwoFloods() throws {
    let inbox = AgentInbox()
    let isOver = Locked(false)
    func flood(_ name: String, _ input: AgentInput) throws -> DedicatedThread {
      try DedicatedThread.start(name: name) {
        while !isOver.withLock({ $0 }) { inbox.push(input) }
      }
    }
    let sensors = try flood("sensors", Self.idle)
    let requests = try flood("requests", .request(RemoteRequest(subject: .regions, payload: [])))
    defer {
      isOver.withLock { $0 = true }
      sensors.join()
      requests.join()
    }
    var counts = (sensors: 0, requests: 0)
    while counts.sensors < 2000 || counts.requests < 200 {
      switch try #require(inbox.pop(until: nil)) {
      case .sensor: counts.sensors += 1
      case .request: counts.requests += 1
      default: Issue.record("unexpected input")
      }
    }
    inbox.push(.stop)
    var isStopped = false
    for _ in 0..<10 {
      if case .stop = try #require(inbox.pop(until: nil)) { isStopped = true }
    }
    #expect(isStopped)
  }

  @Test func waitReturnsNilAfterTheTimeout() {
    let inbox = AgentInbox()
    let (late, none) = (inbox.pop(until: .after(0.001)), inbox.poll())
    #expect(late == nil && none == nil)
    inbox.push(.tick)
    guard case .tick? = inbox.pop(until: nil) else {
      Issue.record("expected the tick")
      return
    }
  }
}
