internal import Bytes
internal import CMosquitto
internal import Glibc
internal import Platform

/// A connection from its first packet to its end. It belongs to the session's thread.
final class Connection {
  typealias Ending = ConnectionPlanner.Ending

  let client: Client
  let broker: MQTTConfiguration.Broker
  let configuration: MQTTConfiguration
  let wake: EventDescriptor
  private var isThroughHandshake = false
  /// Time limit in s for the answer to a CONNECT in a version that the broker may not support.
  private static let trialLimit = 5.0

  init(
    client: consuming Client, broker: MQTTConfiguration.Broker, configuration: MQTTConfiguration,
    wake: EventDescriptor
  ) {
    self.client = client
    self.broker = broker
    self.configuration = configuration
    self.wake = wake
  }

  enum Establishment {
    case established(MQTTServerProperties)
    case failed(Ending)
    /// The attempt was cancelled by `interrupted`.
    case interrupted
  }

  /// Performs name lookup, TCP, TLS and CONNECT. No step but the lookup blocks.
  /// - Parameters:
  ///   - isTrial: true to stop early if the broker does not answer CONNECT.
  ///   - interrupted: called whenever `wake` was signalled.
  func establish(onlyIPv4: Bool, isTrial: Bool, interrupted: () -> Bool) -> Establishment {
    let outcome = client.connect(configuration, to: broker, onlyIPv4: onlyIPv4)
    guard outcome.isSuccess || outcome.code == MOSQ_ERR_CONN_PENDING.code else {
      return .failed(ending(connectCall: outcome))
    }
    let deadline = MonotonicTime.after(configuration.connectTimeout)
    if let end = waitForTCP(until: deadline, interrupted: interrupted) { return end }
    return waitForAnswer(until: deadline, isTrial: isTrial, interrupted: interrupted)
  }

  private func waitForTCP(until deadline: MonotonicTime, interrupted: () -> Bool) -> Establishment? {
    while true {
      let ready = wait(for: POLLOUT, until: deadline)
      if ready.woken && interrupted() { return .interrupted }
      if ready.socket != 0 { break }
      if deadline.hasPassed { return timedOut(.tcp) }
    }
    var code: Int32 = 0
    var size = socklen_t(MemoryLayout<Int32>.size)
    unsafe getsockopt(client.socket, SOL_SOCKET, SO_ERROR, &code, &size)
    // On the local machine a refusal arrives so early that the library's first TLS packet consumed the error;
    // the kernel reports it once.
    if code == 0, configuration.tls != nil, wasAccepted(client.socket) == false { code = ECONNREFUSED }
    // A reset means that the other side had accepted the connection. Its TLS alert can still be read.
    guard code != 0, code != ECONNRESET else { return nil }
    let cause = MQTTDisconnection.Cause.unreachable(SystemError.message(for: code))
    return .failed(Ending(cause: cause, phase: .tcp, wasIPv6: usesIPv6))
  }

  private func waitForAnswer(until end: MonotonicTime, isTrial: Bool, interrupted: () -> Bool)
    -> Establishment
  {
    let phase: MQTTDisconnection.Phase = configuration.tls == nil ? .connect : .tls
    var deadline = end
    var isLimited = false
    while true {
      if configuration.tls != nil, client.isHandshakeComplete { isThroughHandshake = true }
      // During the TLS handshake, reading also writes, and the library does not reliably report whether it
      // must write. Therefore each turn reads and writes, after a check whether the broker has closed the
      // connection.
      if configuration.tls != nil || client.events.connectAnswer == nil {
        if isClosedByPeer { return .failed(Ending(cause: .closedByPeer, phase: phaseReached(phase))) }
      }
      // Nothing is written before all data was read: a failed write discards an unread TLS alert, which
      // contains the reason.
      if let end = judge(client.loopRead(), phase) { return end }
      if configuration.tls == nil || !hasUnread, let end = judge(client.loopWrite(), phase) { return end }
      if isTrial, !isLimited, phaseReached(phase) == .connect {
        isLimited = true
        deadline = min(end, .after(Self.trialLimit))
      }
      let soon = min(deadline, .after(1))
      if wait(for: POLLIN, until: soon).woken && interrupted() { return .interrupted }
      if deadline.hasPassed {
        return timedOut(phaseReached(phase), seconds: deadline < end ? Self.trialLimit : nil)
      }
    }
  }

  /// Returns the result of a step; nil while it is undecided.
  private func judge(_ outcome: Client.Outcome, _ phase: MQTTDisconnection.Phase) -> Establishment? {
    if let answer = client.events.connectAnswer { return evaluate(answer, outcome) }
    if outcome.isSuccess, client.socket >= 0, client.packets.violation == nil {
      if configuration.tls != nil, client.isHandshakeComplete { isThroughHandshake = true }
      return nil
    }
    return .failed(ending(outcome, phase: phaseReached(phase)))
  }

  /// Returns the phase in progress. CONNECT is sent only after the TLS handshake.
  private func phaseReached(_ phase: MQTTDisconnection.Phase) -> MQTTDisconnection.Phase {
    phase == .tls && isThroughHandshake ? .connect : phase
  }

  private func evaluate(_ answer: ClientEvents.ConnectAnswer, _ outcome: Client.Outcome) -> Establishment {
    guard answer.reason == .success else {
      let cause = MQTTDisconnection.Cause.refused(answer.reason, answer.grants.reasonString)
      return .failed(Ending(cause: cause, phase: .connect))
    }
    guard outcome.isSuccess, client.socket >= 0, client.packets.violation == nil else {
      return .failed(ending(outcome, phase: .connect))
    }
    if answer.grants.receiveMaximum == 0 || answer.grants.maximumPacketSize == 0 {
      let cause = MQTTDisconnection.Cause.protocolViolation("CONNACK with a limit of zero")
      return .failed(Ending(cause: cause, phase: .established))
    }
    client.connected()
    var properties = MQTTServerProperties(broker: broker, version311: client.version311, answer)
    if configuration.tls != nil { properties.certificate = client.peerCertificate }
    return .established(properties)
  }

  private func timedOut(_ phase: MQTTDisconnection.Phase, seconds: Double? = nil) -> Establishment {
    let cause = MQTTDisconnection.Cause.timedOut(seconds: seconds ?? configuration.connectTimeout)
    return .failed(Ending(cause: cause, phase: phase, wasIPv6: phase == .tcp && usesIPv6))
  }
}

extension Connection {
  /// Waits for the socket or for a request of another thread.
  /// - Returns: the socket's `poll(2)` result, and whether `wake` was signalled (it is drained).
  func wait(for events: Int32, until deadline: MonotonicTime) -> (socket: Int16, woken: Bool) {
    unsafe withUnsafeTemporaryAllocation(of: pollfd.self, capacity: 2) { entries in
      unsafe entries.initialize(repeating: pollfd(fd: client.socket, events: Int16(events), revents: 0))
      unsafe entries[1] = pollfd(fd: wake.descriptor, events: Int16(POLLIN), revents: 0)
      // Rounded up, because a wait that ends early would spin during its last millisecond.
      let left = Int32(max(0, min(deadline.secondsRemaining * 1000, 86_400_000))) + 1
      let count = unsafe poll(entries.baseAddress, 2, left)
      guard count > 0 else { return (0, false) }
      let woken = unsafe entries[1].revents != 0
      if woken { wake.drain() }
      return unsafe (entries[0].revents, woken)
    }
  }

  /// Waits until another thread signals `wake` or the time is over. The signal remains pending for `wait`.
  func pause(milliseconds: Int32) {
    var entry = pollfd(fd: wake.descriptor, events: Int16(POLLIN), revents: 0)
    _ = unsafe poll(&entry, 1, milliseconds)
  }

  /// True if the other side has closed and no data is left to read. (Inside a TLS handshake the library
  /// treats this as "try again" and would do so forever.)
  var isClosedByPeer: Bool { peek() == 0 }

  /// True if data of the other side waits to be read.
  var hasUnread: Bool { peek() > 0 }

  private func peek() -> Int {
    var byte: UInt8 = 0
    return unsafe recv(client.socket, &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT))
  }

  /// Sets whether the socket is corked. While corked, the kernel combines the library's small writes into
  /// full segments.
  func setCorked(_ isCorked: Bool) {
    var value: Int32 = isCorked ? 1 : 0
    unsafe setsockopt(
      client.socket, Int32(IPPROTO_TCP), TCP_CORK, &value, socklen_t(MemoryLayout<Int32>.size))
  }

  var usesIPv6: Bool {
    var address = sockaddr_storage()
    var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
    let result = unsafe withUnsafeMutablePointer(to: &address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
        unsafe getsockname(client.socket, generic, &size)
      }
    }
    return result == 0 && address.ss_family == sa_family_t(AF_INET6)
  }

  /// Returns the reason why the library's connect call failed immediately.
  func ending(connectCall outcome: Client.Outcome) -> Ending {
    switch outcome.code {
    case MOSQ_ERR_EAI.code: Ending(cause: .unreachable(outcome.message), phase: .lookup)
    case MOSQ_ERR_ERRNO.code: Ending(cause: .unreachable(outcome.message), phase: .tcp)
    case MOSQ_ERR_TLS.code:
      if let fileProblem {
        Ending(cause: .configuration(fileProblem), phase: .lookup)
      } else {
        Ending(cause: .tls(tlsProblem ?? outcome.message), phase: .tls)
      }
    default: Ending(cause: .configuration(outcome.message), phase: .lookup)
    }
  }

  /// Returns the reason why a call of the library's loop failed.
  func ending(_ outcome: Client.Outcome, phase: MQTTDisconnection.Phase) -> Ending {
    if let violation = client.packets.violation {
      let reached = phase == .tls ? .connect : phase
      return Ending(cause: .protocolViolation(violation.description), phase: reached)
    }
    if configuration.tls != nil, let problem = tlsProblem {
      // OpenSSL reports "unexpected eof" if the broker closed the connection without a TLS alert.
      let isSilent = problem.contains(text: "unexpected eof")
      return Ending(cause: isSilent ? .closedByPeer : .tls(problem), phase: phase)
    }
    let cause: MQTTDisconnection.Cause =
      switch outcome.code {
      case MOSQ_ERR_SUCCESS.code, MOSQ_ERR_CONN_LOST.code, MOSQ_ERR_NO_CONN.code: .closedByPeer
      // With `errno` 0, the broker closed the connection within a packet.
      case MOSQ_ERR_ERRNO.code where [0, EPIPE, ECONNRESET].contains(outcome.errno): .closedByPeer
      // The library sets EPROTO if the connection ends and OpenSSL does not describe why.
      case MOSQ_ERR_ERRNO.code where configuration.tls != nil && outcome.errno == EPROTO: .closedByPeer
      case MOSQ_ERR_ERRNO.code: .networkError(outcome.message)
      case MOSQ_ERR_KEEPALIVE.code: .keepAliveExpired
      case MOSQ_ERR_TLS.code: .tls(outcome.message)
      default: .protocolViolation(outcome.message)
      }
    return Ending(cause: cause, phase: phase)
  }

  /// Description of the problem with a local file that the library has logged; nil if there was none.
  private var fileProblem: String? {
    guard let tls = configuration.tls else { return nil }
    func isSaid(_ text: String) -> Bool { client.events.complaints.contains { $0.contains(text: text) } }
    if let identity = tls.identity {
      // The library logs the same errors for an unreadable key and for a key that does not match the
      // certificate.
      if isSaid("load client key") || isSaid("are inconsistent") {
        return
          "the key \(identity.keyFile) cannot be read, or does not belong to the certificate \(identity.certificateFile)"
      }
      if isSaid("load client certificate") {
        return "\(identity.certificateFile) contains no valid certificate"
      }
    }
    guard case .file(let path) = tls.trust, isSaid("load CA certificates") else { return nil }
    return "\(path) contains no valid CA certificate"
  }

  /// OpenSSL's description of the problem, if available.
  private var tlsProblem: String? {
    let complaints = client.events.complaints
    if complaints.contains(where: { $0.contains(text: "host name verification failed") }) {
      return "the broker's certificate is not for the name \(broker.host)"
    }
    if let problem = client.certificateProblem { return "the broker's certificate was refused: \(problem)" }
    guard let complaint = complaints.first else { return nil }
    // "OpenSSL Error[0]: error:0A00010B:SSL routines::wrong version number": the last part is meant for
    // people.
    guard complaint.hasPrefix("OpenSSL Error"), let last = complaint.split(separator: ":").last else {
      return complaint
    }
    return String(last)
  }
}
