import Platform
import Spatial
import TestSupport
import Testing

@testable import MQTT

@Suite struct ConnectionPlannerTests {
  typealias Ending = ConnectionPlanner.Ending
  typealias Attempt = ConnectionPlanner.Attempt

  private func planner(
    _ brokers: Int = 1, _ version: MQTTConfiguration.ProtocolVersion = .automatic
  ) -> ConnectionPlanner {
    ConnectionPlanner(brokerCount: brokers, protocolVersion: version, backoffBase: 1, backoffLimit: 60)
  }

  private let unreachable = Ending(cause: .unreachable("no route"), phase: .tcp)

  /// Two brokers have retained settings that refer to each other. At most 60 connections are made in ten
  /// minutes. An earlier planner made 292 connections in 10 s.
  @Test func repeatedBrokerChangesAreDelayed() {
    var generator = SplitMix.announced()
    let other = MQTTConfiguration(brokers: [.init(host: "b", port: 1)], clientID: "v")
    var planner = planner()
    var (time, connections) = (0.0, 0)
    while time < 600 {
      planner.restart(with: other, waits: true, isStable: false)
      time += planner.next(using: &generator).wait + 0.03
      connections += 1
    }
    print("changes of brokers in ten minutes: \(connections)")
    #expect(connections < 60)
    planner.restart(with: other, waits: true, isStable: true)
    #expect(planner.next(using: &generator).wait <= max(other.backoffBase, 0.1))
    // Other settings of the same broker are used immediately.
    planner.restart(with: other, waits: false, isStable: false)
    #expect(planner.next(using: &generator).wait == 0)
  }

  @Test func roundTriesAllBrokersWithoutWaitThenBacksOff() {
    var planner = planner(3)
    var generator = SystemRandomNumberGenerator()
    for round in 0..<20 {
      for broker in 0..<3 {
        let attempt = planner.next(using: &generator)
        #expect(attempt.broker == broker)
        if broker > 0 || round == 0 {
          #expect(attempt.wait == 0)
        } else {
          #expect(attempt.wait > 0 && attempt.wait <= min(60, Double(1 << (round - 1))))
        }
        planner.ended(unreachable)
      }
    }
  }

  @Test func waitsAreSpreadOverTheWholeRange() {
    var generator = SystemRandomNumberGenerator()
    var waits: [Double] = []
    for _ in 0..<400 {
      var planner = planner()
      for _ in 0..<8 {
        _ = planner.next(using: &generator)
        planner.ended(unreachable)
      }
      waits.append(planner.next(using: &generator).wait)
    }
    // The waits are uniform up to 60 s: each third of the range contains a third of them, within five standard
    // deviations.
    for third in 0..<3 {
      let count = waits.filter { Int($0 / 20) == third }.count
      #expect((86...181).contains(count), "\(count) of 400")
    }
  }

  @Test func brokerWithoutMQTT5IsRetriedWith311Immediately() {
    var planner = planner()
    var generator = SystemRandomNumberGenerator()
    #expect(planner.next(using: &generator).version311 == false)
    planner.ended(Ending(cause: .refused(.unsupportedProtocolVersion, nil), phase: .connect))
    #expect(planner.next(using: &generator) == Attempt(broker: 0, version311: true, onlyIPv4: false, wait: 0))
    planner.ended(Ending(cause: .closedByPeer, phase: .established, held: 100))
    #expect(planner.next(using: &generator).version311 == true)
    planner.ended(Ending(cause: .refused(.unsupportedProtocolVersion, nil), phase: .connect))
    let back = planner.next(using: &generator)
    #expect(!back.version311 && back.wait > 0)
  }

  @Test(arguments: [MQTTDisconnection.Cause.closedByPeer, .timedOut(seconds: 5), .protocolViolation("x")])
  func silentOrClosingBrokerGets311ThenMQTT5InTheNextRound(cause: MQTTDisconnection.Cause) {
    var planner = planner(1)
    var generator = SystemRandomNumberGenerator()
    #expect(planner.next(using: &generator).isTrial)
    planner.ended(Ending(cause: cause, phase: .connect))
    #expect(planner.next(using: &generator) == Attempt(broker: 0, version311: true, onlyIPv4: false, wait: 0))
    planner.ended(Ending(cause: cause, phase: .connect))
    let back = planner.next(using: &generator)
    // The next attempt is no trial: a slow broker gets the full timeout.
    #expect(!back.version311 && back.wait > 0 && !back.isTrial)
  }

  /// A single slow answer must not disable message expiry and reason codes permanently.
  @Test(arguments: [MQTTDisconnection.Cause.closedByPeer, .timedOut(seconds: 5)])
  func mqtt5IsOfferedAgainUntilThreeAttemptsFailed(cause: MQTTDisconnection.Cause) {
    var planner = planner()
    var generator = SystemRandomNumberGenerator()
    for connection in 1...3 {
      #expect(!planner.next(using: &generator).version311, "connection \(connection)")
      planner.ended(Ending(cause: cause, phase: .connect))
      #expect(planner.next(using: &generator).version311)
      planner.ended(Ending(cause: .closedByPeer, phase: .established, held: 100))
    }
    #expect(planner.next(using: &generator).version311, "3.1.1 is kept after three attempts")

    // A successful connection with MQTT 5 resets the count.
    planner = self.planner()
    for answers in [false, false, true, false, false] {
      #expect(!planner.next(using: &generator).version311)
      if !answers {
        planner.ended(Ending(cause: cause, phase: .connect))
        #expect(planner.next(using: &generator).version311)
      }
      planner.ended(Ending(cause: .closedByPeer, phase: .established, held: 100))
    }
    #expect(!planner.next(using: &generator).version311)
  }

  @Test func aFixedVersionIsNeverChanged() {
    var planner = planner(1, .v5)
    var generator = SystemRandomNumberGenerator()
    for _ in 0..<5 {
      #expect(planner.next(using: &generator).version311 == false)
      planner.ended(Ending(cause: .refused(.unsupportedProtocolVersion, nil), phase: .connect))
    }
  }

  @Test func deadIPv6AddressFallsBackToIPv4() {
    var planner = planner(2)
    var generator = SystemRandomNumberGenerator()
    _ = planner.next(using: &generator)
    planner.ended(Ending(cause: .timedOut(seconds: 20), phase: .tcp, wasIPv6: true))
    #expect(
      planner.next(using: &generator)
        == Attempt(broker: 0, version311: false, onlyIPv4: true, wait: 0, isTrial: true))
    planner.ended(unreachable)
    #expect(
      planner.next(using: &generator)
        == Attempt(broker: 1, version311: false, onlyIPv4: false, wait: 0, isTrial: true))
  }

  @Test func wrongCredentialsWaitLong() {
    var generator = SystemRandomNumberGenerator()
    for _ in 0..<100 {
      var planner = planner()
      _ = planner.next(using: &generator)
      planner.ended(Ending(cause: .refused(.badUserNameOrPassword, nil), phase: .connect))
      #expect((30...60).contains(planner.next(using: &generator).wait))
    }
  }

  @Test func missingFileIsRetriedSoon() {
    var generator = SystemRandomNumberGenerator()
    for _ in 0..<100 {
      var planner = planner()
      _ = planner.next(using: &generator)
      planner.ended(Ending(cause: .configuration("cannot read ca.crt"), phase: .lookup))
      #expect(planner.next(using: &generator).wait <= 1)
    }
  }

  @Test func stableConnectionResetsTheBackoff() {
    var generator = SystemRandomNumberGenerator()
    for _ in 0..<100 {
      var planner = planner()
      for _ in 0..<10 {
        _ = planner.next(using: &generator)
        planner.ended(unreachable)
      }
      _ = planner.next(using: &generator)
      planner.ended(Ending(cause: .closedByPeer, phase: .established, held: 31))
      #expect(planner.next(using: &generator).wait <= 1)
    }
  }

  @Test func flappingConnectionKeepsTheBackoff() {
    var generator = SystemRandomNumberGenerator()
    var longest = 0.0
    for _ in 0..<50 {
      var planner = planner()
      for _ in 0..<10 {
        longest = max(longest, planner.next(using: &generator).wait)
        planner.ended(Ending(cause: .closedByPeer, phase: .established, held: 1))
      }
    }
    #expect(longest > 20)
  }

  @Test func redirectingBrokerIsSkipped() {
    var planner = planner(2)
    var generator = SystemRandomNumberGenerator()
    _ = planner.next(using: &generator)
    planner.ended(Ending(cause: .disconnectedByServer(.serverMoved), phase: .established, held: 5))
    #expect(planner.next(using: &generator).broker == 1)
  }

  /// Connections without acknowledgements do not reset the growing waits, however long they last.
  @Test func brokerWithoutAcknowledgementsIsSkipped() {
    var generator = SystemRandomNumberGenerator()
    for brokers in 1...2 {
      var planner = planner(brokers)
      var (longest, used) = (0.0, [Int]())
      for _ in 0..<50 {
        let attempt = planner.next(using: &generator)
        longest = max(longest, attempt.wait)
        used.append(attempt.broker)
        planner.ended(Ending(cause: .unanswered(seconds: 60), phase: .established, held: 60))
      }
      #expect(longest > 20)
      #expect(used == (0..<50).map { $0 % brokers })
    }
  }
}

@Suite struct SleepMeterTests {
  /// Creates a meter from readings of the monotonic clock and of the boot clock, in seconds.
  private func meter(_ monotonic: Double, _ boot: Double) -> SleepMeter {
    SleepMeter(at: time(monotonic), Timestamp(nanoseconds: 0).advanced(bySeconds: boot))
  }

  private func time(_ seconds: Double) -> MonotonicTime {
    MonotonicTime(nanoseconds: 0).advanced(bySeconds: seconds)
  }

  /// Several short sleeps with packets between them do not add up to one long sleep.
  @Test func onlyTheTimeSinceItsStartCounts() {
    #expect(meter(10, 10).seconds(at: time(15), Timestamp(nanoseconds: 0).advanced(bySeconds: 35)) == 20)
    #expect(meter(15, 35).seconds(at: time(20), Timestamp(nanoseconds: 0).advanced(bySeconds: 40)) == 0)
  }
}

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

@Suite struct SilentClosesTests {
  private func reports(
    _ times: [Double], _ cause: MQTTDisconnection.Cause = .closedByPeer,
    phase: MQTTDisconnection.Phase = .established
  ) -> [Double] {
    var closes = SilentCloses()
    let end = MQTTDisconnection(
      broker: MQTTConfiguration.Broker(host: "broker"), phase: phase, cause: cause)
    return times.filter { closes.isFrequent(end, at: .start.advanced(bySeconds: $0)) }
  }

  @Test func thirdCloseWithinAMinuteIsReportedOnceAnHour() {
    #expect(reports([0, 10, 20, 30, 40]) == [20])
    #expect(reports([0, 40, 80, 120, 130]) == [130])
    #expect(reports(Array(stride(from: 0, through: 7300, by: 10))) == [20, 3620, 7220])
  }

  @Test func otherEndsAreNotReported() {
    #expect(reports([0, 1, 2, 3], .keepAliveExpired).isEmpty)
    #expect(reports([0, 1, 2, 3], .disconnectedByServer(.sessionTakenOver)).isEmpty)
    #expect(reports([0, 1, 2, 3], phase: .connect).isEmpty)
  }
}
