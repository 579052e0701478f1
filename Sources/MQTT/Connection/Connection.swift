internal import CMosquitto
internal import Glibc
internal import Platform

/// One connection from its first packet to its end. Belongs to the session's thread.
final class Connection {
  typealias Ending = ConnectionPlanner.Ending

  let client: Client
  let broker: MQTTConfiguration.Broker
  let configuration: MQTTConfiguration
  let wake: EventDescriptor
  private var isThroughHandshake = false

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
    /// `interrupted` said so.
    case interrupted
  }

  /// Goes through name lookup, TCP, TLS and CONNACK; no step but the lookup blocks.
  /// - Parameter interrupted: asked whenever `wake` was signalled.
  func establish(onlyIPv4: Bool, interrupted: () -> Bool) -> Establishment {
    let outcome = client.connect(configuration, to: broker, onlyIPv4: onlyIPv4)
    guard outcome.isSuccess || outcome.code == MOSQ_ERR_CONN_PENDING.code else {
      return .failed(ending(connectCall: outcome))
    }
    let deadline = SystemClock.monotonic + Int64(configuration.connectTimeout * 1e9)
    if let end = waitForTCP(until: deadline, interrupted: interrupted) { return end }
    return waitForAnswer(until: deadline, interrupted: interrupted)
  }

  private func waitForTCP(until deadline: Int64, interrupted: () -> Bool) -> Establishment? {
    while true {
      let ready = wait(for: POLLOUT, until: deadline)
      if ready.woken && interrupted() { return .interrupted }
      if ready.socket != 0 { break }
      if SystemClock.monotonic >= deadline { return timedOut(.tcp) }
    }
    var code: Int32 = 0
    var size = socklen_t(MemoryLayout<Int32>.size)
    unsafe getsockopt(client.socket, SOL_SOCKET, SO_ERROR, &code, &size)
    guard code != 0 else { return nil }
    if code == ECONNRESET {
      // It did accept: the library's first TLS packet was on its way before this look.
      return .failed(Ending(cause: .closedByPeer, phase: configuration.tls == nil ? .connect : .tls))
    }
    let cause = MQTTDisconnection.Cause.unreachable(SystemError.message(for: code))
    return .failed(Ending(cause: cause, phase: .tcp, wasIPv6: usesIPv6))
  }

  private func waitForAnswer(until deadline: Int64, interrupted: () -> Bool) -> Establishment {
    let phase: MQTTDisconnection.Phase = configuration.tls == nil ? .connect : .tls
    while true {
      // During the TLS handshake reading also writes, and the library's wish to write is not to be trusted.
      if configuration.tls != nil || client.events.connectAnswer == nil {
        if isClosedByPeer { return .failed(Ending(cause: .closedByPeer, phase: phaseReached(phase))) }
      }
      // One after the other: writing after a failed read would throw away what tells why it failed.
      if let end = judge(client.loopRead(), phase) ?? judge(client.loopWrite(), phase) { return end }
      let soon = min(deadline, SystemClock.monotonic + 1_000_000_000)
      if wait(for: POLLIN, until: soon).woken && interrupted() { return .interrupted }
      if SystemClock.monotonic >= deadline { return timedOut(phaseReached(phase)) }
    }
  }

  /// nil while nothing is decided.
  private func judge(_ outcome: Client.Outcome, _ phase: MQTTDisconnection.Phase) -> Establishment? {
    if let answer = client.events.connectAnswer { return evaluate(answer, outcome) }
    if outcome.isSuccess && client.socket >= 0 {
      if configuration.tls != nil, client.isHandshakeComplete { isThroughHandshake = true }
      return nil
    }
    return .failed(ending(outcome, phase: phaseReached(phase)))
  }

  /// CONNECT leaves only after the TLS handshake.
  private func phaseReached(_ phase: MQTTDisconnection.Phase) -> MQTTDisconnection.Phase {
    phase == .tls && isThroughHandshake ? .connect : phase
  }

  private func evaluate(_ answer: ClientEvents.ConnectAnswer, _ outcome: Client.Outcome) -> Establishment {
    guard answer.reason == .success else {
      let cause = MQTTDisconnection.Cause.refused(answer.reason, answer.grants.reasonString)
      return .failed(Ending(cause: cause, phase: .connect))
    }
    guard outcome.isSuccess, client.socket >= 0 else {
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

  private func timedOut(_ phase: MQTTDisconnection.Phase) -> Establishment {
    let cause = MQTTDisconnection.Cause.timedOut(seconds: configuration.connectTimeout)
    return .failed(Ending(cause: cause, phase: phase, wasIPv6: phase == .tcp && usesIPv6))
  }
}

extension MQTTServerProperties {
  init(broker: MQTTConfiguration.Broker, version311: Bool, _ answer: ClientEvents.ConnectAnswer) {
    self.init(broker: broker, protocolLevel: version311 ? 4 : 5, sessionPresent: answer.flags & 1 != 0)
    let grants = answer.grants
    receiveMaximum = grants.receiveMaximum ?? .max
    maximumPacketSize = grants.maximumPacketSize
    maximumQoS = grants.maximumQoS.flatMap(QoS.init(rawValue:)) ?? .exactlyOnce
    retainAvailable = grants.retainAvailable != 0
    sharedSubscriptionsAvailable = grants.sharedSubscriptionsAvailable != 0
    keepAlive = grants.keepAlive
    assignedClientID = grants.assignedClientID
    reasonString = grants.reasonString
    serverReference = grants.serverReference
  }
}
