import Platform
import Testing

@testable import AgentCore

@Suite struct PauseLogTests {
  private func seconds(_ seconds: Double) -> MonotonicTime { .start.advanced(bySeconds: seconds) }

  @Test func pauseAndItsEndAreLoggedOnce() {
    var log = PauseLog()
    #expect(log.problem == nil)
    #expect(log.observe("quota exceeded (0x97)", at: seconds(0)) == .paused(reason: "quota exceeded (0x97)"))
    #expect(log.problem?.contains("quota exceeded (0x97)") == true)
    // The broker accepts single messages in between.
    for time in stride(from: 1.0, to: 500, by: 30) {
      #expect(log.observe(nil, at: seconds(time)) == nil)
      #expect(log.due(at: seconds(time + 19)) == nil)
      #expect(log.observe("quota exceeded (0x97)", at: seconds(time + 20)) == nil)
    }
    #expect(log.due(at: seconds(1000)) == nil && log.problem != nil)
    #expect(log.observe(nil, at: seconds(1000)) == nil)
    #expect(log.due(at: seconds(1059)) == nil && log.problem != nil)
    #expect(log.due(at: seconds(1060)) == .resumed)
    #expect(log.due(at: seconds(1200)) == nil && log.problem == nil)
    #expect(log.observe("message rate too high (0x96)", at: seconds(1300)) != nil)
  }
}
