import Platform
import Testing

@testable import MQTT

/// Subscriptions across the connections of one session.
@Suite struct SubscriptionLedgerTests {
  private func requests(_ ledger: inout SubscriptionLedger) -> [SubscriptionLedger.Request] {
    var requests: [SubscriptionLedger.Request] = []
    while let request = ledger.next() { requests.append(request) }
    return requests
  }

  /// The broker's session can contain a subscription of an earlier client.
  @Test func anUnsubscriptionIsRepeatedUntilItIsAnswered() {
    var ledger = SubscriptionLedger([MQTTSubscription("new/#")])
    ledger.remove("old/#")
    for turn in 1...2 {
      ledger.begin()
      let sent = requests(&ledger)
      #expect(sent == [.unsubscribe("old/#"), .subscribe(MQTTSubscription("new/#"))])
      for (index, request) in sent.enumerated() { ledger.sent(packet: Int32(index + 1), request) }
      // The first connection ends before the broker answers.
      if turn == 2 { #expect(ledger.answered(packet: 1) == .unsubscribe("old/#")) }
    }
    ledger.begin()
    #expect(requests(&ledger) == [.subscribe(MQTTSubscription("new/#"))])
  }

  /// A rejected subscription is retried after 1, 2, 4, … 60 s. After a granted subscription the delay restarts at 1 s.
  @Test func rejectedSubscriptionsAreRetried() throws {
    let retried = MQTTSubscription("a", isRetried: true)
    var ledger = SubscriptionLedger([retried, MQTTSubscription("b")])
    ledger.begin()
    #expect(requests(&ledger).count == 2)
    ledger.settle(MQTTSubscription("b"), isRejected: true, at: .start)
    #expect(ledger.deadline == nil)
    var now = MonotonicTime.start
    for pause: Double in [1, 2, 4, 8, 16, 32, 60, 60] {
      ledger.settle(retried, isRejected: true, at: now)
      #expect(ledger.deadline == now.advanced(bySeconds: pause) && ledger.isSettled)
      ledger.tick(now: now.advanced(bySeconds: pause - 1e-9))
      #expect(requests(&ledger) == [])
      now = now.advanced(bySeconds: pause)
      ledger.tick(now: now)
      #expect(requests(&ledger) == [.subscribe(retried)] && ledger.deadline == nil)
    }
    ledger.settle(retried, isRejected: false, at: now)
    ledger.settle(retried, isRejected: true, at: now)
    #expect(ledger.deadline == now.advanced(bySeconds: 1))
    // A new connection requests every subscription immediately.
    ledger.begin()
    #expect(requests(&ledger).count == 2 && ledger.deadline == nil)
    ledger.settle(retried, isRejected: true, at: now)
    ledger.remove("a")
    ledger.tick(now: now.advanced(bySeconds: 60))
    #expect(requests(&ledger) == [.unsubscribe("a")])
  }

  @Test func readdedFilterIsNotUnsubscribed() {
    var ledger = SubscriptionLedger([])
    ledger.remove("a")
    ledger.add(MQTTSubscription("a"))
    ledger.begin()
    #expect(requests(&ledger) == [.subscribe(MQTTSubscription("a"))])
    // The suspension lasts for one connection.
    ledger.suspend("a")
    #expect(requests(&ledger) == [.unsubscribe("a")])
    ledger.begin()
    #expect(requests(&ledger) == [.subscribe(MQTTSubscription("a"))])
  }
}
