import Platform
import Testing

@Suite struct BackoffTests {
  @Test func staysBetweenFloorAndADoublingCeiling() {
    var generator = SystemRandomNumberGenerator()
    for _ in 0..<200 {
      var backoff = Backoff(floor: 0.1, base: 1, limit: 30)
      for attempt in 0..<40 {
        let ceiling = min(30, Double(1 << min(attempt, 20)))
        let wait = backoff.next(using: &generator)
        #expect((0.1...ceiling).contains(wait))
      }
      backoff.reset()
      #expect(backoff.next(using: &generator) <= 1)
    }
  }
}
