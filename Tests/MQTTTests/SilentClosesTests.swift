import Platform
import Testing

@testable import MQTT

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
