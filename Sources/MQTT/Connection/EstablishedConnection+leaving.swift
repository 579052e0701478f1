internal import Platform

/// What is left to do before a clean end.
struct Leaving {
  /// Monotonic nanoseconds after which the end comes regardless.
  let deadline: Int64
  var final: [MQTTMessage]
  var underWay: Set<Int32> = []
  var unsubscribed = false
  var saidGoodbye = false
  /// How many messages had come when the broker was last asked whether there are more.
  var receivedBefore = 0

  /// How the connection's end is reported.
  let cause: MQTTDisconnection.Cause

  init(_ cause: MQTTDisconnection.Cause, final: [MQTTMessage] = [], drain: Double = 5) {
    self.cause = cause
    self.final = final
    deadline = SystemClock.monotonic + Int64(max(0, min(drain, 3600)) * 1e9)
  }

  /// Whether the packet was one of the final ones.
  mutating func answered(packet: Int32) -> Bool { underWay.remove(packet) != nil }
}

extension EstablishedConnection {
  /// Whether this is the time to leave, and why.
  func considerLeaving(_ requests: Mailbox.Requests) {
    if let stop = requests.stop {
      // A stop overtakes every other reason.
      if leaving?.cause != .stopped {
        leaving = Leaving(.stopped, final: stop.final, drain: stop.drain)
      }
    } else if let change = requests.configuration {
      leaving = Leaving(.renewing, final: change.final)
    } else if leaving == nil, requests.renew || credentialsAreRenewed {
      leaving = Leaving(.renewing)
    } else if leaving == nil, let idleEnd, SystemClock.monotonic >= idleEnd {
      // Whoever wakes the session from here on means the next burst.
      loop.isWanted = false
      leaving = Leaving(.asleep, final: loop.handlers.farewell(loop.secondsToBurst))
    }
  }

  /// When the burst is over, as things stand; nil while something is under way or the link is to stand.
  var idleEnd: Int64? {
    guard case .bursts(let linger, _) = loop.configuration.linkPolicy, !providerHasMore, loop.flow.isIdle,
      loop.flow.deadline == nil, loop.ledger.isSettled, leaving == nil
    else { return nil }
    return lastBusy + Int64(linger * 1e9)
  }

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
      stopInflow()
    }
    if !late && !loop.ledger.isSettled { return nil }
    if !late && mayHaveMore {
      stopInflow()
      return nil
    }
    loop.mailbox.setLeftCleanly(!late && loop.flow.isIdle)
    leaving?.saidGoodbye = true
    connection.client.disconnect(endsSession: loop.configuration.endsSession)
    _ = connection.client.loopWrite()
    return Ending(cause: leaving?.cause ?? .stopped, phase: .established)
  }

  /// Sends the last messages, within the window.
  private func sendFinal() {
    while let message = leaving?.final.first {
      if message.qos > .atMostOnce, loop.flow.room() <= (leaving?.underWay.count ?? 0) { return }
      leaving?.final.removeFirst()
      let (outcome, packet) = connection.client.publish(message)
      if outcome.isSuccess { leaving?.underWay.insert(packet) }
    }
  }

  /// Whether the broker may still hold messages for this client alone. An unsubscription that is asked for again is
  /// answered after everything that the acknowledgements before it have set free: when nothing came in between,
  /// there is nothing left.
  private var mayHaveMore: Bool {
    !filtersToLeave.isEmpty && leaving?.receivedBefore != receivedCount
  }

  private var filtersToLeave: [String] {
    let configuration = loop.configuration
    let isRemembered = configuration.sessionExpiryInterval > 0 || !configuration.cleanStart
    guard isRemembered, !configuration.endsSession else { return loop.ledger.filters }
    return loop.ledger.filters.filter { $0.hasPrefix("$share/") }
  }

  /// Stops the inflow, so that nothing unread is left in the socket: leaving with unread input resets the
  /// connection and loses what was sent last. A session that the broker is to remember keeps its
  /// subscriptions, shared ones excepted: the broker would hand an absent member what others could take.
  private func stopInflow() {
    leaving?.receivedBefore = receivedCount
    for filter in filtersToLeave { loop.ledger.suspend(filter) }
    // An answer to anything at all says that the acknowledgements before it have arrived, so that the next to come
    // under this name is not sent again what was stored.
    if filtersToLeave.isEmpty, receivedCount > 0 { loop.ledger.suspend("odograph/leaving") }
    sendSubscriptions()
    _ = connection.client.loopWrite()
  }
}
