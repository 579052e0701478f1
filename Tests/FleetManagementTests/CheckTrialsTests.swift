import FleetManagement
import Testing

@testable import MQTT

@Suite struct CheckTrialsTests {
  private func end(
    _ cause: MQTTDisconnection.Cause, _ phase: MQTTDisconnection.Phase = .established
  ) -> MQTTDisconnection {
    MQTTDisconnection(broker: .init(host: "localhost", port: 1883), phase: phase, cause: cause)
  }

  /// RabbitMQ disconnects users who publish without permission.
  @Test func aDisconnectionIsARefusalAndTheOthersAreTried() {
    var trials = CheckTrials(count: 3)
    for number in 0..<3 {
      #expect(!trials.isOver)
      trials.isConnected = true
      trials.began(UInt64(number))
      let shouldContinue = trials.ended(end(.closedByPeer))
      #expect(shouldContinue && trials.isAnswered && !trials.isConnected)
    }
    let all = [CheckTrials.Answer?](repeating: .refused(.notAuthorized), count: 3)
    #expect(trials.isOver && trials.answers == all)
  }

  @Test func aDisconnectionAfterAnAnswerChangesNothing() {
    var trials = CheckTrials(count: 2)
    trials.began(7)
    let others = trials.answered(6, nil)
    let own = trials.answered(7, .notAuthorized)
    let shouldContinue = trials.ended(end(.closedByPeer))
    #expect(!others && own && shouldContinue)
    trials.began(8)
    let second = trials.answered(8, nil)
    let all: [CheckTrials.Answer?] = [.refused(.notAuthorized), .accepted]
    #expect(second && trials.isOver && trials.answers == all)
  }

  /// Table: disconnections that do not refuse a trial.
  @Test(arguments: [
    (MQTTDisconnection.Cause.keepAliveExpired, MQTTDisconnection.Phase.established),
    (.closedByPeer, .connect), (.timedOut(seconds: 5), .tcp), (.networkError("x"), .established),
  ])
  func otherDisconnectionsEndTheTrials(cause: MQTTDisconnection.Cause, phase: MQTTDisconnection.Phase) {
    var trials = CheckTrials(count: 3)
    trials.began(1)
    let shouldContinue = trials.ended(end(cause, phase))
    #expect(!shouldContinue)
  }

  @Test func aDisconnectionBeforeTheFirstTrialEndsTheTrials() {
    var trials = CheckTrials(count: 2)
    let before = trials.ended(end(.closedByPeer))
    #expect(!before)
    trials = CheckTrials(count: 2)
    trials.began(1)
    let goOn = (0..<3).map { _ in trials.ended(end(.closedByPeer)) }
    #expect(goOn == [true, true, false])
  }
}
