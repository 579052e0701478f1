import Fleet
import Platform
import Testing

@Suite struct RetainedReadingTests {
  private func at(_ seconds: Double) -> MonotonicTime { .start.advanced(bySeconds: 7 + seconds) }

  /// A broker that thinks for seconds before its first word is not one that keeps nothing.
  @Test func silenceCountsFromTheAnswerOnly() {
    var reading = RetainedReading(silence: 0.4, timeout: 30, at: at(0))
    #expect(reading.outcome(at: at(5)) == .pending)
    reading.kept(at: at(6))
    #expect(reading.outcome(at: at(20)) == .pending)
    reading.marked(at: at(21))
    #expect(reading.deadline == at(21.4) && reading.outcome(at: at(21.3)) == .pending)
    // What comes after the answer still counts, and begins the silence anew.
    reading.kept(at: at(21.3))
    #expect(reading.outcome(at: at(21.5)) == .pending && reading.outcome(at: at(21.7)) == .complete)
  }

  /// Without the answer nobody knows whether it was all, however long it is silent.
  @Test func withoutTheAnswerItIsUnknown() {
    var reading = RetainedReading(silence: 0.4, timeout: 30, at: at(0))
    reading.kept(at: at(10))
    #expect(reading.outcome(at: at(39)) == .pending && reading.outcome(at: at(40)) == .unknown)
  }
}
