internal import CMosquitto
internal import Glibc
internal import Platform

/// A connection that the broker accepted: reads, hands over, acknowledges, sends, until it ends.
///
/// One turn of its loop is: look into the mailbox, send what there is room for, write, wait, read. What was
/// read is handed over *before* the next write, which is the one that carries the acknowledgements.
final class EstablishedConnection {
  typealias Ending = ConnectionPlanner.Ending

  let connection: Connection
  let loop: SessionLoop
  let properties: MQTTServerProperties
  var providerHasMore: Bool
  var leaving: Leaving?
  private let established = SystemClock.monotonic
  private let sleptBefore = SystemClock.boottime - SystemClock.monotonic
  private(set) var lastRead = SystemClock.monotonic
  private var lastWrite = SystemClock.monotonic
  private var nextLook: Int64 = 0
  private var credentials: CredentialWatch
  private(set) var credentialsAreRenewed = false
  /// When something was last under way, for bursts.
  private(set) var lastBusy = SystemClock.monotonic
  var unwrittenNow = 0
  /// Whether the last write ended in the middle of a packet.
  private(set) var hasHalfWritten = false
  /// When the broker is to be shown a sign of life, while nothing else may be written.
  var pingDue: Int64 = 0
  /// Messages received on this connection.
  private(set) var receivedCount = 0
  /// Whether the last read ended before all was read. What TLS has decrypted does not show at the socket.
  private(set) var hasUnread = false
  /// Whether messages come so fast that it pays to wait for several.
  private(set) var isStreaming = false

  /// A batch ends with this many messages or bytes, so that memory stays small however fast they come.
  private static let batchCount = 1000
  private static let batchBytes = 1 << 20
  /// Milliseconds to wait while messages stream in: a turn of the loop for each costs more than the message itself.
  static let gathering: Int32 = 1
  /// How many `publishNow` messages may wait in the library for a slow socket.
  static let unwrittenNowLimit = 100

  init(_ connection: Connection, _ properties: MQTTServerProperties, loop: SessionLoop) {
    self.connection = connection
    self.properties = properties
    self.loop = loop
    providerHasMore = loop.provider != nil
    credentials = CredentialWatch(loop.usedCredentials)
  }

  func run() -> Ending {
    loop.meter.begin()
    loop.flow.begin(receiveMaximum: properties.receiveMaximum)
    loop.ledger.begin()
    loop.hold.begin()
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
    let (requests, immediate) = loop.mailbox.take()
    loop.note(requests)
    if requests.providerHasMore || requests.providerMayHaveMore { providerHasMore = true }
    considerLeaving(requests)
    if loop.hold.isHolding { return turnWhileHolding() }
    sendNow(immediate)
    sendSubscriptions()
    sendRecords()
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
    var deadline = keepAliveDue
    if let idleEnd { deadline = min(deadline, idleEnd) }
    if let pause = loop.flow.deadline { deadline = min(deadline, pause) }
    if let leaving { deadline = min(deadline, leaving.deadline) }
    return deadline
  }

  private func write() -> Ending? {
    connection.setCorked(true)
    let outcome = connection.client.loopWrite()
    if connection.client.socket >= 0 { connection.setCorked(false) }
    hasHalfWritten = connection.client.wantsToWrite
    lastWrite = SystemClock.monotonic
    meter()
    settlePublished()
    return check(outcome)
  }

  func read() -> Ending? {
    var failure: Ending?
    let events = connection.client.events
    var isExhausted = false
    while failure == nil {
      let before = events.inbound.count
      let outcome = connection.client.loopRead()
      failure = check(outcome)
      // The library leaves this error behind also after a message of QoS 1: a byte by which it would wake a thread of its
      // own, which is not there, finds no room.
      isExhausted = outcome.errno == EAGAIN && events.inbound.count == before
      if isExhausted || events.inbound.count >= Self.batchCount
        || events.inboundBytes >= Self.batchBytes
      {
        break
      }
    }
    lastRead = SystemClock.monotonic
    hasUnread = !isExhausted
    meter()
    // A message that waits for its acknowledgement must not be made to wait for others: a broker that lets few be under
    // way would send no more meanwhile. One that is held waits anyway.
    isStreaming =
      isExhausted && events.inbound.count > 1
      && (events.inbound.last?.qos == .atMostOnce || loop.hold.isHolding)
    // What came before the end counts: it was received, and acknowledgements stand.
    let refusal = handOver()
    settlePublished()
    settleSubscriptions()
    return refusal ?? failure
  }

  private func meter() {
    guard let carried = bytesCarried(by: connection.client.socket),
      loop.meter.note(carried: carried, at: SystemClock.boottime)
    else { return }
    let use = loop.meter.use
    loop.mailbox.count { $0.link = use }
  }

  private func check(_ outcome: Client.Outcome) -> Ending? {
    if let reason = connection.client.events.serverDisconnect {
      return Ending(cause: .disconnectedByServer(reason), phase: .established)
    }
    if outcome.isSuccess && connection.client.socket >= 0 { return nil }
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
      if !loop.hold.isHolding { pingDue = SystemClock.monotonic + keepAliveInterval / 3 }
      loop.hold.held(number, count: batch.count, bytes: bytes, at: SystemClock.monotonic)
      return nil
    }
  }

  // MARK: Keep-alive

  var keepAliveInterval: Int64 {
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
    guard now >= keepAliveDue else { return nil }
    credentialsAreRenewed = credentials.isRenewed(loop.credentialStamps)
    let outcome = connection.client.loopMisc()
    // It counts whole seconds: where it saw nothing to do, it will a second later.
    if connection.client.wantsToWrite { lastRead = now }
    nextLook = now + 1_000_000_000
    return check(outcome)
  }
}
