import Platform
import TestSupport
import Testing

@testable import MQTT

@Suite struct AnswerWatchTests {
  private func at(_ seconds: Double) -> MonotonicTime { .start.advanced(bySeconds: 1000 + seconds) }

  /// Examines the connection every 15 s. Returns the first time in s at which the broker does not answer, within
  /// an hour.
  private func unansweredAt(_ look: (Double) -> AnswerWatch.Look) -> Double? {
    var watch = AnswerWatch(limit: 60)
    return stride(from: 0.0, through: 3600, by: 15).first { watch.observe(look($0), at: at($0)) }
  }

  @Test func silentBrokerIsDetectedAfterAMinute() {
    #expect(unansweredAt { _ in AnswerWatch.Look(oldest: 1, arrived: 500, written: 500, received: 0) } == 60)
    #expect(unansweredAt { _ in AnswerWatch.Look(oldest: 1, received: 0) } == 60)
  }

  /// Pings and messages of QoS 0 are sent and received after the unanswered request.
  @Test func laterTrafficIsNoProgress() {
    #expect(
      unansweredAt { time in
        AnswerWatch.Look(
          oldest: 1, arrived: 500 + Int(time) * 100, written: 600 + Int(time) * 100, received: 0)
      } == 75)
  }

  /// The library has unwritten data for 200 s, and the kernel for another 100 s.
  @Test func requestsThatAreStillSentAreNotOverdue() {
    let time = unansweredAt { time in
      AnswerWatch.Look(
        oldest: 1, arrived: Int(min(time, 300)) * 100, written: time < 200 ? nil : 30_000, received: 0)
    }
    #expect(time == 360)
  }

  /// The link is dead, which the keep-alive detects. A waiting request is overdue, too.
  @Test func unsentRequestsAreOverdueIfNothingIsSent() {
    #expect(unansweredAt { _ in AnswerWatch.Look(oldest: 1, arrived: 500, received: 0) } == 60)
  }

  @Test func answersAndMessagesAreProgress() {
    #expect(
      unansweredAt { time in
        AnswerWatch.Look(oldest: UInt64(time / 45), arrived: 500, written: 500, received: 0)
      } == nil)
    #expect(
      unansweredAt { time in
        AnswerWatch.Look(oldest: 1, arrived: 500, written: 500, received: Int(min(time, 300) / 30))
      } == 360)
  }

  @Test func nothingIsOverdueWhileAllIsAnswered() {
    #expect(
      unansweredAt { _ in AnswerWatch.Look(oldest: nil, arrived: 500, written: 500, received: 0) } == nil)
  }

  /// Answers may wait unread after the thread was blocked, or the machine suspended.
  @Test func gapBetweenExaminationsIsNoSilence() {
    var watch = AnswerWatch(limit: 60)
    let look = AnswerWatch.Look(oldest: 1, arrived: 500, written: 500, received: 0)
    var overdue: [Double] = []
    for time in [0.0, 15, 30, 45, 200, 215, 230, 245, 260] where watch.observe(look, at: at(time)) {
      overdue.append(time)
    }
    #expect(overdue == [260])
    #expect(watch.due == at(275))
  }
}
