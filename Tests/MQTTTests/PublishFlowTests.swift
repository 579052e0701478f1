import Platform
import TestSupport
import Testing

@testable import MQTT

@Suite struct PublishFlowTests {
  private func at(_ nanoseconds: Int64) -> MonotonicTime { MonotonicTime(nanoseconds: nanoseconds) }

  @Test func windowIsTheSmallerOfBothSides() {
    var flow = PublishFlow(window: 20)
    flow.begin(receiveMaximum: nil)
    #expect(flow.room() == 20)
    flow.begin(receiveMaximum: 3)
    #expect(flow.room() == 3)
    for packet in 1...3 { flow.sent(packet: Int32(packet), token: UInt64(packet), at: .start) }
    #expect(flow.room() == 0)
    #expect(flow.answered(packet: 2, reason: .success) == .acknowledged(2))
    #expect(flow.room() == 1)
    #expect(flow.answered(packet: 2, reason: .success) == nil)
    #expect(flow.answered(packet: 77, reason: .success) == nil)
  }

  @Test(
    arguments: [
      (.success, .taken), (.noMatchingSubscribers, .taken), (.notAuthorized, .never),
      (.topicNameInvalid, .never),
      (.payloadFormatInvalid, .never), (.packetTooLarge, .never), (.quotaExceeded, .notNow),
      (.packetIdentifierInUse, .notNow), (.unspecifiedError, .unnamed),
      (.implementationSpecificError, .unnamed),
      (MQTTReasonCode(rawValue: 0xFE), .unnamed), (MQTTReasonCode(rawValue: 0x01), .taken),
    ] as [(MQTTReasonCode, PublishFlow.Meaning)])
  func reasons(reason: MQTTReasonCode, meaning: PublishFlow.Meaning) {
    #expect(PublishFlow.meaning(of: reason) == meaning)
  }

  @Test func temporaryRefusalWaitsForAllAnswersThenPausesThenRetries() {
    var flow = PublishFlow(window: 10)
    flow.begin(receiveMaximum: nil)
    flow.sent(packet: 1, token: 1, at: .start)
    flow.sent(packet: 2, token: 2, at: .start)
    #expect(flow.answered(packet: 1, reason: .quotaExceeded) == .postponed(1, .quotaExceeded))
    #expect(flow.room() == 0)
    #expect(flow.tick(now: .start, jitter: 1) == false)
    #expect(flow.deadline == nil)
    #expect(flow.answered(packet: 2, reason: .success) == .acknowledged(2))
    #expect(flow.tick(now: at(1_000_000_000), jitter: 1) == false)
    #expect(flow.deadline == at(2_250_000_000))
    #expect(flow.tick(now: at(2_249_999_999), jitter: 0) == false)
    #expect(flow.tick(now: at(2_250_000_000), jitter: 0) == true)
    #expect(flow.room() == 1)
  }

  /// After each pause one record is sent. Its acceptance opens the window, also on a later connection.
  @Test func oneRecordIsSentAfterAPause() {
    var flow = PublishFlow(window: 10)
    flow.begin(receiveMaximum: nil)
    for packet in 1...10 { flow.sent(packet: Int32(packet), token: UInt64(packet), at: .start) }
    for packet in 1...10 { _ = flow.answered(packet: Int32(packet), reason: .quotaExceeded) }
    for round in 0..<5 {
      #expect(flow.pauseReason == .quotaExceeded && flow.room() == 0 && flow.roomForFinal == 10)
      #expect(flow.tick(now: .start, jitter: 0.5) == false)
      #expect(flow.isPaused)
      if round == 3 {
        flow.begin(receiveMaximum: nil)
      } else {
        #expect(flow.tick(now: .distantFuture, jitter: 0) == true)
      }
      #expect(flow.room() == 1 && !flow.isPaused)
      flow.sent(packet: 1, token: 1, at: .start)
      #expect(flow.room() == 0)
      #expect(flow.answered(packet: 1, reason: .quotaExceeded) == .postponed(1, .quotaExceeded))
    }
    #expect(flow.tick(now: .start, jitter: 0.5) == false)
    #expect(flow.tick(now: .distantFuture, jitter: 0) == true)
    flow.sent(packet: 1, token: 1, at: .start)
    #expect(flow.answered(packet: 1, reason: .success) == .acknowledged(1))
    #expect(flow.room() == 10 && flow.pauseReason == nil)
  }

  /// Records that were sent before the temporary rejection do not end the pause.
  @Test func earlierAcceptanceDoesNotEndAPause() {
    var flow = PublishFlow(window: 10)
    flow.begin(receiveMaximum: nil)
    for packet in 1...3 { flow.sent(packet: Int32(packet), token: UInt64(packet), at: .start) }
    _ = flow.answered(packet: 1, reason: .messageRateTooHigh)
    _ = flow.answered(packet: 2, reason: .success)
    _ = flow.answered(packet: 3, reason: .payloadFormatInvalid)
    #expect(flow.pauseReason == .messageRateTooHigh && flow.room() == 0)
  }

  @Test func pausesGrowUntilAMessageIsAccepted() {
    var flow = PublishFlow(window: 1)
    flow.begin(receiveMaximum: nil)
    var pauses: [MonotonicTime?] = []
    for round in 0..<8 {
      flow.sent(packet: 1, token: UInt64(round), at: .start)
      _ = flow.answered(packet: 1, reason: .quotaExceeded)
      _ = flow.tick(now: .start, jitter: 1)
      pauses.append(flow.deadline)
      _ = flow.tick(now: .distantFuture, jitter: 1)
    }
    #expect(pauses == [1.25, 2.25, 4.25, 8.25, 16.25, 32.25, 60.25, 60.25].map { at(Int64($0 * 1e9)) })
    flow.sent(packet: 1, token: 99, at: .start)
    _ = flow.answered(packet: 1, reason: .success)
    flow.sent(packet: 1, token: 100, at: .start)
    _ = flow.answered(packet: 1, reason: .quotaExceeded)
    _ = flow.tick(now: .start, jitter: 0)
    #expect(flow.deadline == at(250_000_000))
  }

  @Test func fifthUnspecifiedRefusalMakesADeadLetter() {
    var flow = PublishFlow(window: 1)
    flow.begin(receiveMaximum: nil)
    for _ in 1..<PublishFlow.attemptsForUnnamedRefusal {
      flow.sent(packet: 1, token: 7, at: .start)
      #expect(flow.answered(packet: 1, reason: .unspecifiedError) == .postponed(7, .unspecifiedError))
    }
    flow.sent(packet: 1, token: 7, at: .start)
    #expect(flow.answered(packet: 1, reason: .unspecifiedError) == .rejected(7, .unspecifiedError))
  }

  @Test func packetBlamedByTheBrokerIsDropped() {
    var flow = PublishFlow(window: 10)
    for _ in 0..<3 {
      flow.begin(receiveMaximum: nil)
      #expect(flow.room() == 10)
      for token in 1...10 { flow.sent(packet: Int32(token), token: UInt64(token), at: .start) }
      #expect(flow.ended(blamed: .payloadFormatInvalid, closedByPeer: false, at: .start) == nil)
    }
    flow.begin(receiveMaximum: nil)
    #expect(flow.room() == 1)
    flow.sent(packet: 1, token: 1, at: .start)
    #expect(flow.ended(blamed: .payloadFormatInvalid, closedByPeer: false, at: .start) == nil)
    flow.begin(receiveMaximum: nil)
    flow.sent(packet: 1, token: 1, at: .start)
    #expect(
      flow.ended(blamed: .payloadFormatInvalid, closedByPeer: false, at: .start)
        == .rejected(1, .payloadFormatInvalid))
    flow.begin(receiveMaximum: nil)
    #expect(flow.room() == 10)
  }

  @Test func lostNetworkDoesNotCountAgainstARecord() {
    var flow = PublishFlow(window: 10)
    for _ in 0..<100 {
      flow.begin(receiveMaximum: nil)
      #expect(flow.room() == 10)
      flow.sent(packet: 1, token: 1, at: .start)
      #expect(flow.ended(blamed: nil, closedByPeer: false, at: .start) == nil)
    }
  }

  @Test func recordIsDroppedAfterTenSilentClosesAlone() {
    var flow = PublishFlow(window: 10)
    var rejections: [Int] = []
    for round in 1...13 {
      flow.begin(receiveMaximum: nil)
      flow.sent(packet: 1, token: 1, at: .start)
      if flow.ended(blamed: nil, closedByPeer: true, at: .start) != nil { rejections.append(round) }
    }
    #expect(rejections == [13])
  }

  @Test func answerClearsTheSuspicion() {
    var flow = PublishFlow(window: 10)
    for round in 0..<50 {
      flow.begin(receiveMaximum: nil)
      #expect(flow.room() == (round % 4 == 3 ? 1 : 10))
      flow.sent(packet: 1, token: UInt64(round / 4), at: .start)
      if round % 4 == 3 {
        #expect(flow.answered(packet: 1, reason: .success) == .acknowledged(UInt64(round / 4)))
        #expect(flow.room() == 10)
      }
      #expect(flow.ended(blamed: nil, closedByPeer: true, at: .start) == nil)
    }
  }

  /// Each connection first delivers a new `status`, which the broker acknowledges.
  @Test(arguments: [(nil, 13), (.packetTooLarge, 5)] as [(MQTTReasonCode?, Int)])
  func recordThatEndsConnectionsIsFoundBehindAcknowledgedOnes(reason: MQTTReasonCode?, connections: Int) {
    var flow = PublishFlow(window: 10)
    for round in 1...connections {
      flow.begin(receiveMaximum: nil)
      #expect(flow.room() == (round <= 3 ? 10 : 1))
      flow.sent(packet: 1, token: UInt64(1000 + round), at: .start)
      #expect(flow.answered(packet: 1, reason: .success) == .acknowledged(UInt64(1000 + round)))
      flow.sent(packet: 2, token: 7, at: .start)
      if round <= 3 { flow.sent(packet: 3, token: 8, at: .start) }
      let verdict = flow.ended(blamed: reason, closedByPeer: reason == nil, at: .start)
      #expect(
        verdict == (round == connections ? .rejected(7, reason ?? .unspecifiedError) : nil), "round \(round)")
    }
    flow.begin(receiveMaximum: nil)
    #expect(flow.room() == 10)
  }

  /// The broker resets a connection that it closed during a radio outage when the next packet arrives.
  @Test func lateResetDoesNotCountAgainstARecord() {
    var flow = PublishFlow(window: 10)
    let reset = MonotonicTime.start.advanced(bySeconds: PublishFlow.promptClose + 1)
    for _ in 0..<100 {
      flow.begin(receiveMaximum: nil)
      flow.sent(packet: 1, token: 1, at: .start)
      #expect(flow.ended(blamed: nil, closedByPeer: true, at: reset) == nil)
    }
    flow.begin(receiveMaximum: nil)
    #expect(flow.room() == 1)
  }

  /// A subscription request may also make the broker close the connection.
  @Test func closeWithAnotherOpenRequestDoesNotCountAgainstARecord() {
    var flow = PublishFlow(window: 10)
    for _ in 0..<100 {
      flow.begin(receiveMaximum: nil)
      flow.sent(packet: 1, token: 1, at: .start)
      #expect(flow.ended(blamed: nil, closedByPeer: true, isAlone: false, at: .start) == nil)
    }
  }

  /// If the suspect record is no longer in the store, the window opens after some answers.
  @Test func windowReopensIfTheSuspectRecordExpired() {
    var flow = PublishFlow(window: 5)
    for _ in 0..<3 {
      flow.begin(receiveMaximum: nil)
      flow.sent(packet: 1, token: 1, at: .start)
      _ = flow.ended(blamed: nil, closedByPeer: true, at: .start)
    }
    flow.begin(receiveMaximum: nil)
    for token in 2...11 {
      #expect(flow.room() == 1 && flow.isIsolating)
      flow.sent(packet: 1, token: UInt64(token), at: .start)
      _ = flow.answered(packet: 1, reason: .success)
    }
    #expect(flow.room() == 5)
  }

  @Test func windowReopensIfTheStoreIsEmpty() {
    var flow = PublishFlow(window: 5)
    for _ in 0..<3 {
      flow.begin(receiveMaximum: nil)
      flow.sent(packet: 1, token: 1, at: .start)
      _ = flow.ended(blamed: nil, closedByPeer: true, at: .start)
    }
    flow.begin(receiveMaximum: nil)
    flow.sent(packet: 1, token: 2, at: .start)
    flow.providerIsEmpty()
    #expect(flow.isIsolating)
    _ = flow.answered(packet: 1, reason: .success)
    flow.providerIsEmpty()
    #expect(!flow.isIsolating && flow.room() == 5)
    _ = flow.ended(blamed: nil, closedByPeer: true, at: .start)
    flow.begin(receiveMaximum: nil)
    #expect(flow.room() == 5)
  }

  /// Simulated sessions with a broker that closes the connection at certain records, over a network that often
  /// fails: exactly these records become dead letters, and all others arrive.
  @Test func onlyRecordsThatEndConnectionsBecomeDeadLetters() {
    var generator = SplitMix.announced()
    for _ in 0..<200 {
      let harmful = Set(
        (0..<Int.random(in: 0...3, using: &generator)).map { _ in
          UInt64.random(in: 0..<30, using: &generator)
        })
      let reason: MQTTReasonCode? = Bool.random(using: &generator) ? .packetTooLarge : nil
      var (flow, now) = (PublishFlow(window: Int.random(in: 1...20, using: &generator)), MonotonicTime.start)
      var (waiting, rejected): ([UInt64], Set<UInt64>) = (Array(0..<30), [])
      var connections: UInt64 = 0
      while !waiting.isEmpty, connections < 3000 {
        connections += 1
        flow.begin(receiveMaximum: nil)
        var unsent = [1000 + connections] + waiting
        var open: [(packet: Int32, token: UInt64)] = []
        var packet: Int32 = 0
        var stepsToFailure =
          Double.random(in: 0...1, using: &generator) < 0.6
          ? Int.random(in: 0...5, using: &generator) : .max
        while true {
          while flow.room() > 0, !unsent.isEmpty {
            packet += 1
            let token = unsent.removeFirst()
            flow.sent(packet: packet, token: token, at: now)
            open.append((packet, token))
          }
          guard let first = open.first else { break }
          if stepsToFailure > 0, !harmful.contains(first.token) {
            stepsToFailure -= 1
            now = now.advanced(bySeconds: 0.3)
            open.removeFirst()
            let verdict = flow.answered(packet: first.packet, reason: .success)
            #expect(verdict == .acknowledged(first.token))
            waiting.removeAll { $0 == first.token }
            continue
          }
          let verdict: PublishFlow.Verdict?
          if stepsToFailure == 0 {
            // The link is lost, or reset after an outage, or reset immediately.
            let failure = Int.random(in: 0..<3, using: &generator)
            now = now.advanced(bySeconds: failure == 1 ? 60 : 0.5)
            verdict = flow.ended(blamed: nil, closedByPeer: failure > 0, at: now)
          } else {
            now = now.advanced(bySeconds: 1)
            verdict = flow.ended(blamed: reason, closedByPeer: reason == nil, at: now)
          }
          if case .rejected(let token, _)? = verdict {
            rejected.insert(token)
            waiting.removeAll { $0 == token }
          }
          break
        }
        now = now.advanced(bySeconds: 10)
      }
      #expect(rejected == harmful && waiting.isEmpty, "\(connections) connections")
    }
  }
}
