import FleetWeb
import Spatial
import Testing

@Suite struct RateWindowTests {
  @Test func aSteadyFlowIsItsRate() {
    var window = RateWindow()
    #expect(window.rates(at: Timestamp(seconds: 5)).messages == 0)
    for step in 0..<3000 { window.add(bytes: 50, at: Timestamp(seconds: 100 + Double(step) * 0.01)) }
    let rates = window.rates(at: Timestamp(seconds: 130))
    #expect(rates.messages == 100 && rates.bytes == 5000)
  }

  @Test func oldMessagesDoNotCount() {
    var window = RateWindow()
    for step in 0..<100 { window.add(bytes: 1, at: Timestamp(seconds: 100 + Double(step) * 0.01)) }
    // One of the last ten whole seconds had 100 messages.
    #expect(window.rates(at: Timestamp(seconds: 110.5)).messages == 10)
    #expect(window.rates(at: Timestamp(seconds: 112)).messages == 0)
    #expect(window.rates(at: Timestamp(seconds: 1e6)).messages == 0)
  }

  @Test func theFirstSecondHasNoRate() {
    var window = RateWindow()
    window.add(bytes: 9, at: Timestamp(seconds: 10.2))
    #expect(window.rates(at: Timestamp(seconds: 10.9)).messages == 0)
    #expect(window.rates(at: Timestamp(seconds: 11.1)).messages == 1)
  }
}
