import Platform
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
    for packet in 1...3 { flow.sent(packet: Int32(packet), token: UInt64(packet)) }
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
    flow.sent(packet: 1, token: 1)
    flow.sent(packet: 2, token: 2)
    #expect(flow.answered(packet: 1, reason: .quotaExceeded) == .postponed(1, .quotaExceeded))
    #expect(flow.room() == 0)
    #expect(flow.tick(now: .start, jitter: 1) == false)
    #expect(flow.deadline == nil)
    #expect(flow.answered(packet: 2, reason: .success) == .acknowledged(2))
    #expect(flow.tick(now: at(1_000_000_000), jitter: 1) == false)
    #expect(flow.deadline == at(2_250_000_000))
    #expect(flow.tick(now: at(2_249_999_999), jitter: 0) == false)
    #expect(flow.tick(now: at(2_250_000_000), jitter: 0) == true)
    #expect(flow.room() == 10)
  }

  @Test func pausesGrowUntilAMessageIsAccepted() {
    var flow = PublishFlow(window: 1)
    flow.begin(receiveMaximum: nil)
    var pauses: [MonotonicTime?] = []
    for round in 0..<8 {
      flow.sent(packet: 1, token: UInt64(round))
      _ = flow.answered(packet: 1, reason: .quotaExceeded)
      _ = flow.tick(now: .start, jitter: 1)
      pauses.append(flow.deadline)
      _ = flow.tick(now: .distantFuture, jitter: 1)
    }
    #expect(pauses == [1.25, 2.25, 4.25, 8.25, 16.25, 32.25, 60.25, 60.25].map { at(Int64($0 * 1e9)) })
    flow.sent(packet: 1, token: 99)
    _ = flow.answered(packet: 1, reason: .success)
    flow.sent(packet: 1, token: 100)
    _ = flow.answered(packet: 1, reason: .quotaExceeded)
    _ = flow.tick(now: .start, jitter: 0)
    #expect(flow.deadline == at(250_000_000))
  }

  @Test func fifthUnspecifiedRefusalMakesADeadLetter() {
    var flow = PublishFlow(window: 1)
    flow.begin(receiveMaximum: nil)
    for _ in 1..<PublishFlow.attemptsForUnnamedRefusal {
      flow.sent(packet: 1, token: 7)
      #expect(flow.answered(packet: 1, reason: .unspecifiedError) == .postponed(7, .unspecifiedError))
    }
    flow.sent(packet: 1, token: 7)
    #expect(flow.answered(packet: 1, reason: .unspecifiedError) == .rejected(7, .unspecifiedError))
  }

  @Test func packetBlamedByTheBrokerIsDropped() {
    var flow = PublishFlow(window: 10)
    for _ in 0..<3 {
      flow.begin(receiveMaximum: nil)
      #expect(flow.room() == 10)
      for token in 1...10 { flow.sent(packet: Int32(token), token: UInt64(token)) }
      #expect(flow.ended(blamed: .payloadFormatInvalid, closedByPeer: false) == nil)
    }
    flow.begin(receiveMaximum: nil)
    #expect(flow.room() == 1)
    flow.sent(packet: 1, token: 1)
    #expect(flow.ended(blamed: .payloadFormatInvalid, closedByPeer: false) == nil)
    flow.begin(receiveMaximum: nil)
    flow.sent(packet: 1, token: 1)
    #expect(
      flow.ended(blamed: .payloadFormatInvalid, closedByPeer: false) == .rejected(1, .payloadFormatInvalid))
    flow.begin(receiveMaximum: nil)
    #expect(flow.room() == 10)
  }

  @Test func lostNetworkDoesNotCountAgainstARecord() {
    var flow = PublishFlow(window: 10)
    for _ in 0..<100 {
      flow.begin(receiveMaximum: nil)
      #expect(flow.room() == 10)
      flow.sent(packet: 1, token: 1)
      #expect(flow.ended(blamed: nil, closedByPeer: false) == nil)
    }
  }

  @Test func recordIsDroppedAfterTenSilentClosesAlone() {
    var flow = PublishFlow(window: 10)
    var rejections: [Int] = []
    for round in 1...13 {
      flow.begin(receiveMaximum: nil)
      flow.sent(packet: 1, token: 1)
      if flow.ended(blamed: nil, closedByPeer: true) != nil { rejections.append(round) }
    }
    #expect(rejections == [13])
  }

  @Test func answerClearsTheSuspicion() {
    var flow = PublishFlow(window: 10)
    for _ in 0..<50 {
      flow.begin(receiveMaximum: nil)
      flow.sent(packet: 1, token: 1)
      flow.sent(packet: 2, token: 2)
      #expect(flow.answered(packet: 1, reason: .success) == .acknowledged(1))
      #expect(flow.ended(blamed: nil, closedByPeer: true) == nil)
    }
    flow.begin(receiveMaximum: nil)
    #expect(flow.room() == 10)
  }
}
