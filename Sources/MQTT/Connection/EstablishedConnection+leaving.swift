internal import Platform

/// What is left to do before a clean end.
struct Leaving {
  /// Monotonic nanoseconds after which the end comes regardless.
  let deadline: Int64
  var final: [MQTTMessage]
  var underWay: Set<Int32> = []
  var unsubscribed = false
  var saidGoodbye = false

  init(_ request: StopRequest) {
    deadline = SystemClock.monotonic + Int64(max(0, min(request.drain, 3600)) * 1e9)
    final = request.final
  }

  /// Whether the packet was one of the final ones.
  mutating func answered(packet: Int32) -> Bool { underWay.remove(packet) != nil }
}

extension EstablishedConnection {
  /// One step towards the end; a value when it is reached.
  func leave() -> Ending? {
    guard leaving != nil else { return nil }
    let late = SystemClock.monotonic >= (leaving?.deadline ?? 0)
    sendFinal()
    if !late, leaving?.final.isEmpty == false || leaving?.underWay.isEmpty == false || !loop.flow.isIdle {
      return nil
    }
    if leaving?.unsubscribed == false {
      leaving?.unsubscribed = true
      unsubscribeForGood()
    }
    if !late && !loop.ledger.isSettled { return nil }
    loop.mailbox.setLeftCleanly(!late && loop.flow.isIdle)
    leaving?.saidGoodbye = true
    client.disconnect()
    _ = client.loopWrite()
    return Ending(cause: .stopped, phase: .established)
  }

  /// Sends the last messages, within the window.
  private func sendFinal() {
    while let message = leaving?.final.first {
      if message.qos > .atMostOnce, loop.flow.room() <= (leaving?.underWay.count ?? 0) { return }
      leaving?.final.removeFirst()
      let (outcome, packet) = client.publish(message)
      if outcome.isSuccess { leaving?.underWay.insert(packet) }
    }
  }

  /// Stops the inflow, so that nothing unread is left in the socket: leaving with unread input resets the
  /// connection and loses what was sent last. A session that the broker is to remember keeps its
  /// subscriptions, shared ones excepted: the broker would hand an absent member what others could take.
  private func unsubscribeForGood() {
    let remembered = loop.configuration.sessionExpiryInterval > 0 || !loop.configuration.cleanStart
    for filter in loop.ledger.filters where !remembered || filter.hasPrefix("$share/") {
      loop.ledger.remove(filter)
    }
    sendSubscriptions()
    _ = client.loopWrite()
  }
}
