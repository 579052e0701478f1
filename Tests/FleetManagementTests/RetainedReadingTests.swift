import Fleet
import Platform
import Testing

@Suite struct RetainedReadingTests {
  private func at(_ seconds: Double) -> MonotonicTime { .start.advanced(bySeconds: 7 + seconds) }

  /// A broker that answers after seconds may still have retained messages.
  @Test func silenceCountsFromTheAnswerOnly() {
    var reading = RetainedReading(silence: 0.4, timeout: 30, at: at(0))
    #expect(reading.outcome(at: at(5)) == .pending)
    reading.kept(at: at(6))
    #expect(reading.outcome(at: at(20)) == .pending)
    reading.marked(at: at(21))
    #expect(reading.deadline == at(21.4) && reading.outcome(at: at(21.3)) == .pending)
    // Messages after the answer count, and restart the silence.
    reading.kept(at: at(21.3))
    #expect(reading.outcome(at: at(21.5)) == .pending && reading.outcome(at: at(21.7)) == .complete)
  }

  /// Without the answer it is unknown whether all messages have arrived, however long the silence.
  @Test func withoutTheAnswerTheOutcomeIsUnknown() {
    var reading = RetainedReading(silence: 0.4, timeout: 30, at: at(0))
    reading.kept(at: at(10))
    #expect(reading.outcome(at: at(39)) == .pending && reading.outcome(at: at(40)) == .unknown)
  }
}
