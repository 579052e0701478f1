internal import CMosquitto
internal import Glibc
internal import Platform

/// A connection that the broker accepted: reads, hands over, acknowledges, sends, until it ends.
///
/// One turn of its loop is: look into the mailbox, send what there is room for, write, wait, read. What was
/// read is handed over *before* the next write, which is the one that carries the acknowledgements.
final class EstablishedConnection {
  typealias Ending = ConnectionPlanner.Ending

  private let connection: Connection
  private let loop: SessionLoop
  private let outflow: Outflow
  private let properties: MQTTServerProperties
  private let established = SystemClock.monotonic
  private let sleptBefore = SystemClock.boottime - SystemClock.monotonic
  private var lastRead = SystemClock.monotonic
  private var lastWrite = SystemClock.monotonic
  private var nextLook: Int64 = 0
  private var credentials: CredentialWatch
  private var nextCredentialLook = SystemClock.monotonic
  private var credentialsAreRenewed = false
  /// When something was last under way, for bursts.
  private var lastBusy = SystemClock.monotonic
  /// What was handed over and is not stored yet.
  private var hold: AcknowledgementHold
  /// Whether the last write ended in the middle of a packet.
  private var hasHalfWritten = false
  /// When the broker is to be shown a sign of life, while nothing else may be written.
  private var pingDue: Int64 = 0
  /// Messages received on this connection.
  private var receivedCount = 0
  /// Messages of this connection that were too large to be read.
  private var droppedCount = 0
  /// Messages of this connection with a character that libmosquitto rejects.
  private var malformedCount = 0
  /// Whether the last read ended before all was read. What was read ahead does not show at the socket.
  private var hasUnread: Bool
  /// Whether messages come so fast that it pays to wait for several.
  private var isStreaming = false
  private var leaving: Leaving?

  /// What is left to do before a clean end.
  private struct Leaving {
    /// How the connection's end is reported.
    let cause: MQTTDisconnection.Cause
    /// Monotonic nanoseconds after which the end comes regardless.
    let deadline: Int64
    /// Monotonic nanoseconds.
    let began = SystemClock.monotonic
    var unsubscribed = false
    /// How many messages had come when the broker was last asked whether there are more.
    var receivedBefore = 0
  }

  /// A batch ends with this many messages or bytes, so that memory stays small however fast they come.
  private static let batchCount = 1000
  private static let batchBytes = 1 << 20
  /// Milliseconds to wait while messages stream in: a turn of the loop for each costs more than the message itself.
  private static let gathering: Int32 = 1
  /// Seconds for an end that nobody set a limit to.
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
  }

  func run() -> Ending {
    outflow.begin(properties)
    loop.beginMeter()
    loop.reportConnected(properties)
    while true {
      if let ending = turn() {
        var ending = ending
        ending.held = Double(SystemClock.monotonic - established) * 1e-9
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
    if idleEnd == nil { lastBusy = SystemClock.monotonic }
    if connection.client.wantsToWrite, let ending = write() { return ending }
    let events = POLLIN | (connection.client.wantsToWrite ? POLLOUT : 0)
    if isStreaming { connection.pause(milliseconds: Self.gathering) }
    let ready = connection.wait(for: events, until: hasUnread ? 0 : nextDeadline)
    if hasUnread || ready.socket & ~Int16(POLLOUT) != 0, let ending = read() { return ending }
    return keepAlive()
  }

  private var nextDeadline: Int64 {
    // Nobody is woken for the credentials alone.
    var deadline = keepAliveDue
    if let idleEnd { deadline = min(deadline, idleEnd) }
    if let pause = outflow.deadline { deadline = min(deadline, pause) }
    if let leavingEnd { deadline = min(deadline, leavingEnd) }
    return deadline
  }

  private func write() -> Ending? {
    connection.setCorked(true)
    let outcome = connection.client.loopWrite()
    if connection.client.socket >= 0 { connection.setCorked(false) }
    hasHalfWritten = connection.client.wantsToWrite
    lastWrite = SystemClock.monotonic
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
    lastRead = SystemClock.monotonic
    hasUnread = !isExhausted
    loop.measureLink(connection.client.socket)
    // A message that waits for its acknowledgement must not be made to wait for others: a broker that lets few be under
    // way would send no more meanwhile. One that is held waits anyway.
    isStreaming =
      isExhausted && events.inbound.count > 1
      && (events.inbound.last?.qos == .atMostOnce || hold.isHolding)
    warnOfDropped()
    warnOfMalformed()
    // What came before the end counts: it was received, and acknowledgements stand.
    let refusal = handOver()
    outflow.settlePublished(events)
    outflow.settleSubscriptions(events)
    return refusal ?? failure
  }

  /// Reports the first message of a connection that was too large to be read, and counts all.
  private func warnOfDropped() {
    let count = connection.client.packets.droppedCount
    guard count > droppedCount else { return }
    if droppedCount == 0 {
      loop.handlers.warned(
        "a message of \(connection.broker) is larger than \(connection.configuration.maximumPacketSize) bytes and was left "
          + "out; more of them are only counted")
    }
    loop.mailbox.count { $0.oversized += count - droppedCount }
    droppedCount = count
  }

  /// Reports the first message of a connection with a character that libmosquitto rejects, and counts all.
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
    // Acknowledged like any other: the broker may send more.
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
    lastBusy = SystemClock.monotonic
    receivedCount += batch.count
    let bytes = events.inboundBytes
    let outcome = loop.handlers.received(batch)
    events.clearInbound()
    switch outcome {
    case .kept: return nil
    case .notKept(let why): return Ending(cause: .notCommitted(why), phase: .established)
    case .held(let number):
      if !hold.isHolding { pingDue = SystemClock.monotonic + keepAliveInterval / 3 }
      hold.held(number, count: batch.count, bytes: bytes, at: SystemClock.monotonic)
      return nil
    }
  }

  // MARK: Keep-alive

  private var keepAliveInterval: Int64 {
    let seconds = properties.keepAlive.map(Int.init) ?? connection.configuration.keepAlive
    return Int64(max(1, seconds)) * 1_000_000_000
  }

  /// The library wants to be asked once per keep-alive time after it last read or wrote, and is asked no more
  /// often, so that an idle connection does not wake the processor.
  private var keepAliveDue: Int64 { max(min(lastRead, lastWrite) + keepAliveInterval, nextLook) }

  private func keepAlive() -> Ending? {
    let now = SystemClock.monotonic
    let slept = Double(SystemClock.boottime - now - sleptBefore) * 1e-9
    if slept > 1.5 * Double(keepAliveInterval) * 1e-9 {
      return Ending(cause: .suspended(seconds: slept), phase: .established)
    }
    // A link that is never idle has no other moment for it.
    if now >= nextCredentialLook {
      nextCredentialLook = now + keepAliveInterval
      credentialsAreRenewed = credentialsAreRenewed || credentials.isRenewed(loop.credentialStamps)
    }
    guard now >= keepAliveDue else { return nil }
    let outcome = connection.client.loopMisc()
    // It counts whole seconds: where it saw nothing to do, it will a second later.
    if connection.client.wantsToWrite { lastRead = now }
    nextLook = now + 1_000_000_000
    return check(outcome)
  }

  // MARK: While batches are held

  /// One turn while batches are held: nothing is written that would carry their acknowledgements, but the broker
  /// sees that somebody is there.
  private func turnWhileHolding() -> Ending? {
    let now = SystemClock.monotonic
    if let leaving, now >= leaving.deadline {
      // Only an end without DISCONNECT acknowledges nothing: a lasting session brings it all again.
      loop.mailbox.setLeftCleanly(false)
      return Ending(cause: leaving.cause, phase: .established)
    }
    if now >= pingDue {
      pingDue = now + keepAliveInterval / 3
      // Behind a packet that is half written, a ping would be read as a part of it.
      if !hasHalfWritten, !connection.client.pingDirectly() {
        return Ending(cause: .closedByPeer, phase: .established)
      }
    }
    let isReading = hold.mayRead(at: now) && leaving == nil
    if isReading, Double(now - lastRead) > 1.5 * Double(keepAliveInterval) {
      return Ending(cause: .keepAliveExpired, phase: .established)
    }
    if isReading, isStreaming { connection.pause(milliseconds: Self.gathering) }
    let isAwaited = isReading && hasUnread
    let deadline = isAwaited ? 0 : hold.deadline(after: now) ?? .max
    let ready = connection.wait(
      for: isReading ? POLLIN : 0, until: min(pingDue, deadline, leaving?.deadline ?? .max))
    // What is closed shows also when reading is paused; what was sent before the end can wait no longer then.
    if isAwaited || ready.socket != 0, let ending = read() { return ending }
    return nil
  }

  // MARK: Leaving

  /// Whether this is the time to leave, and why.
  private func considerLeaving(_ requests: Mailbox.Requests) {
    if let stop = requests.stop {
      // A stop overtakes every other reason.
      if leaving?.cause != .stopped { beginLeaving(.stopped, final: stop.final, drain: stop.drain) }
    } else if let change = requests.configuration {
      beginLeaving(.renewing, final: change.final)
    } else if leaving == nil, requests.renew || credentialsAreRenewed {
      beginLeaving(.renewing)
    } else if let idleEnd, SystemClock.monotonic >= idleEnd {
      // Whoever wakes the session from here on means the next burst.
      beginLeaving(.asleep, final: loop.endBurst())
    }
  }

  private func beginLeaving(
    _ cause: MQTTDisconnection.Cause, final: [MQTTMessage] = [], drain: Double = leavingLimit
  ) {
    outflow.setFinal(final)
    leaving = Leaving(
      cause: cause, deadline: SystemClock.monotonic + Int64(max(0, min(drain, 3600)) * 1e9))
  }

  /// When the burst is over, as things stand; nil while something is under way or the link is to stand.
  private var idleEnd: Int64? {
    guard case .bursts(let linger, _) = loop.configuration.linkPolicy, outflow.isQuiet, leaving == nil else {
      return nil
    }
    return lastBusy + Int64(linger * 1e9)
  }

  /// Seconds for which a broker may be silent while it is left: what it owes will not come from one that has stopped.
  private static let silenceLimit = 5.0

  /// When leaving ends regardless, as things stand.
  private var leavingEnd: Int64? {
    leaving.map { min($0.deadline, max($0.began, lastRead) + Int64(Self.silenceLimit * 1e9)) }
  }

  /// One step towards the end; a value when it is reached.
  private func leave() -> Ending? {
    guard let leaving, let leavingEnd else { return nil }
    let isLate = SystemClock.monotonic >= leavingEnd
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
    connection.client.disconnect(endsSession: loop.configuration.endsSession)
    _ = connection.client.loopWrite()
    return Ending(cause: leaving.cause, phase: .established)
  }

  /// Whether the broker may still hold messages for this client alone. An unsubscription that is asked for again is
  /// answered after everything that the acknowledgements before it have set free: when nothing came in between,
  /// there is nothing left.
  private var mayHaveMore: Bool { !filtersToLeave.isEmpty && leaving?.receivedBefore != receivedCount }

  private var filtersToLeave: [String] {
    let configuration = loop.configuration
    let isRemembered = configuration.sessionExpiryInterval > 0 || !configuration.cleanStart
    guard isRemembered, !configuration.endsSession else { return outflow.filters }
    return outflow.filters.filter { $0.hasPrefix("$share/") }
  }

  /// Stops the inflow, so that nothing unread is left in the socket: leaving with unread input resets the
  /// connection and loses what was sent last. A session that the broker is to remember keeps its
  /// subscriptions, shared ones excepted: the broker would hand an absent member what others could take.
  private func stopInflow() {
    leaving?.receivedBefore = receivedCount
    let filters = filtersToLeave
    for filter in filters { outflow.suspend(filter) }
    // An answer to anything at all says that the acknowledgements before it have arrived, so that the next to come
    // under this name is not sent again what was stored.
    if filters.isEmpty, receivedCount > 0 { outflow.suspend("odograph/leaving") }
    outflow.sendSubscriptions(through: connection.client)
    _ = connection.client.loopWrite()
  }
}
