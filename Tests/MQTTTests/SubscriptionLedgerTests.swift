import Testing

@testable import MQTT

/// Subscriptions over the connections of one session.
@Suite struct SubscriptionLedgerTests {
  private func requests(_ ledger: inout SubscriptionLedger) -> [SubscriptionLedger.Request] {
    var requests: [SubscriptionLedger.Request] = []
    while let request = ledger.next() { requests.append(request) }
    return requests
  }

  /// The broker's session can have the subscription of an earlier client.
  @Test func anUnsubscriptionIsRepeatedUntilItIsAnswered() {
    var ledger = SubscriptionLedger([MQTTSubscription("new/#")])
    ledger.remove("old/#")
    for turn in 1...2 {
      ledger.begin()
      let sent = requests(&ledger)
      #expect(sent == [.unsubscribe("old/#"), .subscribe(MQTTSubscription("new/#"))])
      for (index, request) in sent.enumerated() { ledger.sent(packet: Int32(index + 1), request) }
      // The first connection ends before the answer.
      if turn == 2 { #expect(ledger.answered(packet: 1) == .unsubscribe("old/#")) }
    }
    ledger.begin()
    #expect(requests(&ledger) == [.subscribe(MQTTSubscription("new/#"))])
  }

  @Test func aFilterThatIsWantedAgainIsNotUnsubscribed() {
    var ledger = SubscriptionLedger([])
    ledger.remove("a")
    ledger.add(MQTTSubscription("a"))
    ledger.begin()
    #expect(requests(&ledger) == [.subscribe(MQTTSubscription("a"))])
    // Suspended for one connection only.
    ledger.suspend("a")
    #expect(requests(&ledger) == [.unsubscribe("a")])
    ledger.begin()
    #expect(requests(&ledger) == [.subscribe(MQTTSubscription("a"))])
  }
}
