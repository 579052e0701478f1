internal import CMosquitto
internal import Glibc
internal import Platform
internal import Spatial

/// A connection accepted by the broker: reads, hands over, acknowledges and sends until it ends.
///
/// One turn of its loop is: check the mailbox, send within the window, write, wait, read. Messages are handed
/// over *before* the next write, which carries their acknowledgements.
final class EstablishedConnection {
  typealias Ending = ConnectionPlanner.Ending

  private let connection: Connection
  private let loop: SessionLoop
  private let outflow: Outflow
  private let properties: MQTTServerProperties
  private let established = MonotonicTime.now
  private var sleep = SleepMeter(at: .now, .now)
  private var lastRead = MonotonicTime.now
  private var lastWrite = MonotonicTime.now
  private var nextLook = MonotonicTime.start
  private var credentials: CredentialWatch
  private var nextCredentialLook = MonotonicTime.now
  private var credentialsAreRenewed = false
  /// Time of the last activity, from which the end of a burst is calculated.
  private var lastBusy = MonotonicTime.now
  /// Batches that are handed over and not stored yet.
  private var hold: AcknowledgementHold
  /// True if the last write ended in the middle of a packet.
  private var hasHalfWritten = false
  /// Time at which a ping is due while nothing else may be written.
  private var pingDue = MonotonicTime.start
  /// Number of messages received on this connection.
  private var receivedCount = 0
  /// Number of messages on this connection that exceeded the size limit.
  private var droppedCount = 0
  /// Number of messages on this connection with a character that libmosquitto rejects.
  private var malformedCount = 0
  /// True if the last read left data unread. Data already read ahead is not visible at the socket.
  private var hasUnread: Bool
  /// True if messages arrive so fast that waiting for several saves time.
  private var isStreaming = false
  private var leaving: Leaving?
  private var recordWatch: AnswerWatch
  private var subscriptionWatch: AnswerWatch

  /// State of a clean end in progress, which is called leaving.
  private struct Leaving {
    /// Reported cause of the connection's end.
    let cause: MQTTDisconnection.Cause
    /// Time at which the connection ends even if steps remain.
    let deadline: MonotonicTime
    /// True to end the connection without DISCONNECT.
    let leavesWill: Bool
    /// Time at which the clean end started.
    let began = MonotonicTime.now
    var unsubscribed = false
    /// Value of `receivedCount` when `stopInflow` was last called.
    var receivedBefore = 0
  }

  /// Maximum number of messages of a batch, and of their bytes: they limit memory even if messages arrive
  /// fast.
  private static let batchCount = 1000
  private static let batchBytes = 1 << 20
  /// Waiting time in ms before reading while messages arrive fast: one turn of the loop for each message
  /// costs more than the message itself.
  private static let gathering: Int32 = 1
  /// Default time limit in s for a clean end.
  private static let leavingLimit = 5.0

  init(_ connection: Connection, _ properties: MQTTServerProperties, loop: SessionLoop) {
    self.connection = connection
    self.properties = properties
    self.loop = loop
    outflow = loop.outflow
    hasUnread = !connection.client.packets.isDrained
    let configuration = loop.configuration
    hold = AcknowledgementHold(
      .init(
        portion: configuration.heldPortion, count: configuration.heldMessages, bytes: configuration.heldBytes)
    )
    credentials = CredentialWatch(loop.usedCredentials)
    recordWatch = AnswerWatch(limit: configuration.answerTimeout)
    subscriptionWatch = AnswerWatch(limit: configuration.answerTimeout)
  }

  func run() -> Ending {
    outflow.begin(properties)
    loop.beginMeter()
    loop.reportConnected(properties)
    while true {
      if let ending = turn() {
        var ending = ending
        ending.held = established.secondsElapsed
        return ending
      }
    }
  }

  private func turn() -> Ending? {
    loop.heartbeat.beat()
    let (requests, immediate) = loop.mailbox.drain()
    loop.apply(requests)
    if let number = requests.settled { hold.settled(through: number) }
    if requests.providerHasMore || requests.providerMayHaveMore { outflow.providerAdded() }
    considerLeaving(requests)
    if hold.isHolding { return turnWhileHolding() }
    outflow.sendNow(immediate, through: connection.client)
    outflow.sendSubscriptions(through: connection.client)
    outflow.sendRecords(through: connection.client, takesRecords: leaving == nil)
    if let done = leave() { return done }
    if idleEnd == nil { lastBusy = MonotonicTime.now }
    if connection.client.wantsToWrite, let ending = write() { return ending }
    let events = POLLIN | (connection.client.wantsToWrite ? POLLOUT : 0)
    if isStreaming { connection.pause(milliseconds: Self.gathering) }
    let ready = connection.wait(for: events, until: hasUnread ? .start : nextDeadline)
    if hasUnread || ready.socket & ~Int16(POLLOUT) != 0, let ending = read() { return ending }
    return keepAlive()
  }

  private var nextDeadline: MonotonicTime {
    // A check for renewed credentials alone does not justify a wakeup, so it has no deadline.
    var deadline = keepAliveDue
    if let idleEnd { deadline = min(deadline, idleEnd) }
    if let pause = outflow.deadline { deadline = min(deadline, pause) }
    if let leavingEnd { deadline = min(deadline, leavingEnd) }
    if let measurement = loop.measurementDue { deadline = min(deadline, measurement) }
    if awaitsAnswer { deadline = min(deadline, recordWatch.due) }
    return deadline
  }

  /// True if a record or a subscription request is unanswered. A clean end has its own time limits.
  private var awaitsAnswer: Bool { leaving == nil && !(outflow.isIdle && outflow.isSettled) }

  private func write() -> Ending? {
    connection.setCorked(true)
    let outcome = connection.client.loopWrite()
    if connection.client.socket >= 0 { connection.setCorked(false) }
    hasHalfWritten = connection.client.wantsToWrite
    lastWrite = MonotonicTime.now
    loop.measureLink(connection.client.socket)
    outflow.settlePublished(connection.client.events)
    return check(outcome)
  }

  private func read() -> Ending? {
    var failure: Ending?
    let events = connection.client.events
    var isExhausted = false
    while failure == nil {
      failure = check(connection.client.loopRead())
      isExhausted = connection.client.packets.isDrained
      if isExhausted || events.inbound.count >= Self.batchCount
        || events.inboundBytes >= Self.batchBytes
      {
        break
      }
    }
    lastRead = MonotonicTime.now
    sleep = SleepMeter(at: lastRead, .now)
    hasUnread = !isExhausted
    loop.measureLink(connection.client.socket)
    // Waiting to collect messages is allowed only if the last one needs no acknowledgement. Otherwise a
    // broker with a small window would send nothing until the message is acknowledged. A held message is
    // acknowledged later in any case.
    isStreaming =
      isExhausted && events.inbound.count > 1
      && (events.inbound.last?.qos == .atMostOnce || hold.isHolding)
    warnOfDropped()
    warnOfMalformed()
    // Even if the connection has ended, messages that were received before are handed over, and
    // acknowledgements are processed.
    let refusal = handOver()
    outflow.settlePublished(events)
    outflow.settleSubscriptions(events)
    return refusal ?? failure
  }

  /// Warns about the first message of a connection that exceeded the size limit, and counts all such
  /// messages.
  private func warnOfDropped() {
    let count = connection.client.packets.droppedCount
    guard count > droppedCount else { return }
    if droppedCount == 0 {
      loop.handlers.warned(
        "skipped a message of \(connection.broker) above \(connection.configuration.maximumPacketSize) bytes; "
          + "further ones are only counted")
    }
    loop.mailbox.count { $0.oversized += count - droppedCount }
    droppedCount = count
  }

  /// Warns about the first message of a connection with a character that libmosquitto rejects, and counts all
  /// such messages.
  private func warnOfMalformed() {
    let events = connection.client.events
    let count = events.malformedCount - malformedCount
    guard count > 0 else { return }
    if malformedCount == 0 {
      loop.handlers.warned(
        "dropped a message of \(connection.broker): \(events.firstMalformed ?? ""); further ones are only counted"
      )
    }
    loop.mailbox.count { $0.malformed += count }
    malformedCount += count
    // A dropped message counts as received: its acknowledgement allows the broker to send more.
    receivedCount += count
  }

  private func check(_ outcome: Client.Outcome) -> Ending? {
    if let reason = connection.client.events.serverDisconnect {
      return Ending(cause: .disconnectedByServer(reason), phase: .established)
    }
    let isSound = connection.client.packets.violation == nil
    if outcome.isSuccess, connection.client.socket >= 0, isSound { return nil }
    return connection.ending(outcome, phase: .established)
  }

  private func handOver() -> Ending? {
    let events = connection.client.events
    guard !events.inbound.isEmpty else { return nil }
    let batch = events.inbound
    loop.mailbox.count { $0.received += batch.count }
    lastBusy = MonotonicTime.now
    receivedCount += batch.count
    let bytes = events.inboundBytes
    let outcome = loop.handlers.received(batch)
    events.clearInbound()
    switch outcome {
    case .kept: return nil
    case .notKept(let why): return Ending(cause: .notCommitted(why), phase: .established)
    case .held(let number):
      if !hold.isHolding { pingDue = .after(keepAliveInterval / 3) }
      hold.held(number, count: batch.count, bytes: bytes, at: .now)
      return nil
    }
  }

  // MARK: Keep-alive

  /// The keep-alive time in s.
  private var keepAliveInterval: Double {
    Double(max(1, properties.keepAlive.map(Int.init) ?? connection.configuration.keepAlive))
  }

  /// Next time at which the library must check the keep-alive. It is called once per keep-alive time
  /// after the last read or write and not more often, so that an idle connection does not wake the processor.
  private var keepAliveDue: MonotonicTime {
    max(min(lastRead, lastWrite).advanced(bySeconds: keepAliveInterval), nextLook)
  }

  private func keepAlive() -> Ending? {
    let now = MonotonicTime.now
    if let measurement = loop.measurementDue, now >= measurement {
      loop.measureLink(connection.client.socket)
    }
    let slept = sleep.seconds(at: now, .now)
    if slept > 1.5 * keepAliveInterval {
      return Ending(cause: .suspended(seconds: slept), phase: .established)
    }
    // Credentials are checked here because a link with constant traffic never reaches `keepAliveDue`.
    if now >= nextCredentialLook {
      nextCredentialLook = now.advanced(bySeconds: keepAliveInterval)
      credentialsAreRenewed = credentialsAreRenewed || credentials.isRenewed(loop.credentialStamps)
    }
    if awaitsAnswer, now >= recordWatch.due, isUnanswered(at: now) {
      return Ending(
        cause: .unanswered(seconds: connection.configuration.answerTimeout), phase: .established)
    }
    guard now >= keepAliveDue else { return nil }
    let outcome = connection.client.loopMisc()
    // The library counts whole seconds, so a ping that was not due now is due a second later.
    if connection.client.wantsToWrite { lastRead = now }
    nextLook = now.advanced(bySeconds: 1)
    return check(outcome)
  }

  /// Returns true if the broker does not answer records or subscription requests.
  private func isUnanswered(at now: MonotonicTime) -> Bool {
    let arrived = bytesArrived(from: connection.client.socket)
    var look = AnswerWatch.Look(
      oldest: outflow.oldestRecord, arrived: arrived, received: receivedCount)
    if !connection.client.wantsToWrite, let arrived {
      look.written = bytesUnderWay(from: connection.client.socket).map { arrived + $0 }
    }
    let isRecordUnanswered = recordWatch.observe(look, at: now)
    look.oldest = outflow.oldestSubscription
    return subscriptionWatch.observe(look, at: now) || isRecordUnanswered
  }

  // MARK: Held batches

  /// Runs one turn of the loop while batches are held. Nothing is written that would carry their
  /// acknowledgements, but pings show the broker that the client is alive.
  private func turnWhileHolding() -> Ending? {
    let now = MonotonicTime.now
    if let leaving, now >= leaving.deadline {
      // The connection ends without DISCONNECT, so that nothing is acknowledged and a persistent session
      // delivers the held messages again.
      loop.mailbox.setLeftCleanly(false)
      return Ending(cause: leaving.cause, phase: .established)
    }
    if now >= pingDue {
      pingDue = now.advanced(bySeconds: keepAliveInterval / 3)
      // Within a half written packet, a ping would be read as a part of it.
      if !hasHalfWritten, !connection.client.pingDirectly() {
        return Ending(cause: .closedByPeer, phase: .established)
      }
    }
    let isReading = hold.mayRead(at: now) && leaving == nil
    if isReading, now.seconds(since: lastRead) > 1.5 * keepAliveInterval {
      return Ending(cause: .keepAliveExpired, phase: .established)
    }
    if isReading, isStreaming { connection.pause(milliseconds: Self.gathering) }
    let isAwaited = isReading && hasUnread
    let deadline = isAwaited ? .start : hold.deadline(after: now) ?? .distantFuture
    let ready = connection.wait(
      for: isReading ? POLLIN : 0, until: min(pingDue, deadline, leaving?.deadline ?? .distantFuture))
    // A closed socket is detected even if reading is paused; data sent before the end must then be read.
    if isAwaited || ready.socket != 0, let ending = read() { return ending }
    return nil
  }

  // MARK: Leaving

  /// Decides whether to start a clean end, and for which reason.
  private func considerLeaving(_ requests: Mailbox.Requests) {
    if let stop = requests.stop {
      // A stop takes precedence over every other reason.
      if leaving?.cause != .stopped {
        beginLeaving(.stopped, final: stop.final, drain: stop.drain, leavesWill: stop.leavesWill)
      }
    } else if let change = requests.configuration {
      beginLeaving(.reconfiguring, final: change.final)
    } else if leaving == nil, requests.renew || credentialsAreRenewed {
      beginLeaving(credentialsAreRenewed ? .renewing : .reconfiguring)
    } else if let idleEnd, idleEnd.hasPassed {
      // A wakeup that arrives after this call opens the next burst.
      beginLeaving(.asleep, final: loop.endBurst())
    }
  }

  private func beginLeaving(
    _ cause: MQTTDisconnection.Cause, final: [MQTTMessage] = [], drain: Double = leavingLimit,
    leavesWill: Bool = false
  ) {
    outflow.setFinal(final)
    leaving = Leaving(cause: cause, deadline: .after(max(0, min(drain, 3600))), leavesWill: leavesWill)
  }

  /// Time at which the burst ends if nothing changes; nil while something is in progress or the link is
  /// permanent.
  private var idleEnd: MonotonicTime? {
    guard case .bursts(let linger, _) = loop.configuration.linkPolicy, outflow.isQuiet, leaving == nil else {
      return nil
    }
    return lastBusy.advanced(bySeconds: linger)
  }

  /// Maximum silence of the broker in s during a clean end. A broker that has stopped will not send the
  /// missing answers.
  private static let silenceLimit = 5.0

  /// Time at which the clean end is completed even if answers are missing; nil if none is in progress.
  private var leavingEnd: MonotonicTime? {
    leaving.map { min($0.deadline, max($0.began, lastRead).advanced(bySeconds: Self.silenceLimit)) }
  }

  /// Performs one step of the clean end. Returns the ending once it is complete.
  private func leave() -> Ending? {
    guard let leaving, let leavingEnd else { return nil }
    let isLate = leavingEnd.hasPassed
    outflow.sendFinal(through: connection.client)
    if !isLate, !outflow.isFinalAcknowledged || !outflow.isIdle { return nil }
    if !leaving.unsubscribed {
      self.leaving?.unsubscribed = true
      stopInflow()
    }
    if !isLate && !outflow.isSettled { return nil }
    if !isLate && mayHaveMore {
      stopInflow()
      return nil
    }
    loop.mailbox.setLeftCleanly(!isLate && outflow.isIdle)
    loop.measureLink(connection.client.socket, isLast: true)
    if !leaving.leavesWill {
      connection.client.disconnect(endsSession: loop.configuration.endsSession)
      _ = connection.client.loopWrite()
    }
    return Ending(cause: leaving.cause, phase: .established)
  }

  /// True if the broker may still send messages that it would not deliver to another client. The broker
  /// answers a repeated unsubscription after all messages that the preceding acknowledgements allowed it to
  /// send. If no message arrived before that answer, none are left.
  private var mayHaveMore: Bool { !filtersToLeave.isEmpty && leaving?.receivedBefore != receivedCount }

  private var filtersToLeave: [String] {
    let configuration = loop.configuration
    let isRemembered = configuration.sessionExpiryInterval > 0 || !configuration.cleanStart
    guard isRemembered, !configuration.endsSession else { return outflow.filters }
    return outflow.filters.filter { $0.hasPrefix("$share/") }
  }

  /// Stops the inflow, so that no unread data remains in the socket: closing with unread data resets the
  /// connection and loses the last messages sent. A persistent session retains its subscriptions except
  /// shared ones, because the broker would assign messages to an absent member of the group.
  private func stopInflow() {
    leaving?.receivedBefore = receivedCount
    let filters = filtersToLeave
    for filter in filters { outflow.suspend(filter) }
    // The unsubscription only requests an answer: it confirms that the preceding acknowledgements have
    // arrived. The next connection with this client identifier then does not receive stored messages again.
    if filters.isEmpty, receivedCount > 0 { outflow.suspend("odograph/leaving") }
    outflow.sendSubscriptions(through: connection.client)
    _ = connection.client.loopWrite()
  }
}
