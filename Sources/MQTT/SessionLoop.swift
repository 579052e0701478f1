internal import Glibc
internal import Platform

/// The session's thread: attempt after attempt, with the waits between them. Everything in it belongs to
/// that thread alone.
final class SessionLoop {
  private(set) var configuration: MQTTConfiguration
  let outflow: Outflow
  let handlers: MQTTSession.Handlers
  let mailbox: Mailbox
  let heartbeat: Heartbeat
  private var meter: LinkMeter
  private var planner: ConnectionPlanner
  private var generator = SystemRandomNumberGenerator()
  private var lastReported: MQTTDisconnection.Cause?
  /// Whether the next attempt was planned for settings that do not hold any more.
  private var hasNewBrokers = false
  /// Between bursts: whether there is a reason to open the link.
  private var isWanted = true
  /// Monotonic nanoseconds at which the present connection was made; nil between connections.
  private var connectedAt: Int64?
  /// When the last burst began, on the clock that runs in the machine's sleep; nil before the first.
  private var burstBegan: Int64?
  /// What the files of the credentials looked like when the connection was made.
  private(set) var usedCredentials: [CredentialWatch.Stamp?] = []

  init(
    configuration: MQTTConfiguration, subscriptions: [MQTTSubscription], provider: (any OutboundProvider)?,
    handlers: MQTTSession.Handlers, mailbox: Mailbox, heartbeat: Heartbeat
  ) {
    self.configuration = configuration
    self.handlers = handlers
    self.mailbox = mailbox
    self.heartbeat = heartbeat
    outflow = Outflow(
      configuration: configuration, subscriptions: subscriptions, provider: provider, handlers: handlers,
      mailbox: mailbox)
    meter = LinkMeter(tail: configuration.radioTail)
    planner = ConnectionPlanner(
      brokerCount: configuration.brokers.count, protocolVersion: configuration.protocolVersion,
      backoffBase: configuration.backoffBase, backoffLimit: configuration.backoffLimit)
  }

  func run() {
    var attempt = planner.next(using: &generator)
    while wait(seconds: attempt.wait) {
      if hasNewBrokers {
        hasNewBrokers = false
        attempt = planner.next(using: &generator)
        if attempt.wait > 0 { continue }
      }
      let broker = configuration.brokers[attempt.broker]
      let ending = connect(attempt, to: broker)
      if ending.phase == .established {
        mailbox.setConnected(false)
        outflow.end(ending.cause)
      }
      connectedAt = nil
      guard !mailbox.stopRequested else { break }
      switch ending.cause {
      // These ends are of our own making and teach nothing about the broker.
      case .asleep, .renewing, .stopped: break
      default: planner.ended(ending)
      }
      hasNewBrokers = false
      attempt = planner.next(using: &generator)
      report(ending, at: broker, retryIn: ending.cause == .asleep ? nil : attempt.wait)
    }
    if lastReported == nil, let broker = configuration.brokers.first {
      let end = MQTTDisconnection(broker: broker, phase: .established, cause: .stopped)
      handlers.connectionChanged(.disconnected(end, willRetryIn: nil))
    }
  }

  /// What the files of the credentials look like now.
  var credentialStamps: [CredentialWatch.Stamp?] { CredentialWatch.stamps(of: configuration.credentialFiles) }

  /// Tells the handler that the connection stands.
  func reportConnected(_ properties: MQTTServerProperties) {
    burstBegan = SystemClock.boottime
    connectedAt = SystemClock.monotonic
    lastReported = nil
    mailbox.setConnected(true)
    handlers.connectionChanged(.connected(properties))
  }

  /// Seconds to the next burst, 0 for one that is overdue; nil when only a call brings one.
  private var secondsToBurst: Double? {
    guard case .bursts(_, let interval?) = configuration.linkPolicy, let burstBegan else { return nil }
    return max(0, interval - Double(SystemClock.boottime - burstBegan) * 1e-9)
  }

  /// The burst is over; returns what to say before the link is closed.
  func endBurst() -> [MQTTMessage] {
    isWanted = false
    return handlers.farewell(secondsToBurst)
  }

  /// The kernel counts the bytes of each connection from zero.
  func beginMeter() { meter.begin() }

  /// Books what the connection has carried since the last look.
  func measureLink(_ socket: Int32) {
    guard let carried = bytesCarried(by: socket), meter.observe(carried: carried, at: SystemClock.boottime)
    else { return }
    let use = meter.use
    mailbox.count { $0.link = use }
  }

  private func connect(
    _ attempt: ConnectionPlanner.Attempt, to broker: MQTTConfiguration.Broker
  ) -> ConnectionPlanner.Ending {
    if configuration.tls != nil, SystemClock.realtime / 1_000_000_000 < configuration.earliestPlausibleTime {
      return ConnectionPlanner.Ending(cause: .clockNotSet, phase: .tls)
    }
    usedCredentials = credentialStamps
    do throws(MQTTError) {
      let client = try Client.make(
        configuration, will: handlers.will?() ?? configuration.will, version311: attempt.version311)
      let connection = Connection(
        client: client, broker: broker, configuration: configuration, wake: mailbox.wake)
      // A name lookup cannot be interrupted.
      heartbeat.expectPause(seconds: 120)
      let establishment = connection.establish(onlyIPv4: attempt.onlyIPv4, isTrial: attempt.isTrial) {
        heartbeat.beat()
        return mailbox.stopRequested
      }
      switch establishment {
      case .established(let properties):
        return EstablishedConnection(connection, properties, loop: self).run()
      case .failed(let ending): return ending
      case .interrupted: return ConnectionPlanner.Ending(cause: .stopped, phase: .connect)
      }
    } catch {
      return ConnectionPlanner.Ending(cause: .configuration(error.sentence), phase: .lookup)
    }
  }

  private func report(
    _ ending: ConnectionPlanner.Ending, at broker: MQTTConfiguration.Broker, retryIn: Double?
  ) {
    if !configuration.tellsEachBroker, retryIn == 0, ending.phase != .established { return }
    guard ending.cause != lastReported else { return }
    lastReported = ending.cause
    let end = MQTTDisconnection(broker: broker, phase: ending.phase, cause: ending.cause)
    handlers.connectionChanged(.disconnected(end, willRetryIn: retryIn))
  }

  /// Waits out the time, and between bursts for a reason to connect. Returns false when the session is to
  /// stop.
  private func wait(seconds: Double) -> Bool {
    let end = SystemClock.monotonic + Int64(seconds * 1e9)
    while true {
      heartbeat.beat()
      let requests = mailbox.drain().requests
      apply(requests)
      if requests.stop != nil { return false }
      let left = Double(end - SystemClock.monotonic) * 1e-9
      let toBurst = secondsToBurst
      if toBurst == 0 { isWanted = true }
      let mayConnect = isWanted || configuration.linkPolicy == .standing
      if (left <= 0 || hasNewBrokers) && mayConnect { return true }
      _ = mailbox.wake.wait(seconds: left > 0 ? left : toBurst ?? 86_400)
    }
  }

  /// Takes over changes of the settings, of the link and of subscriptions.
  func apply(_ requests: Mailbox.Requests) {
    if let new = requests.configuration?.settings {
      // Documents of two brokers may refer to each other: another broker is not tried without a pause.
      let held = connectedAt.map { Double(SystemClock.monotonic - $0) * 1e-9 } ?? 0
      planner.restart(
        with: new, waits: new.brokers != configuration.brokers,
        isStable: held >= ConnectionPlanner.stableAfter)
      configuration = new
      hasNewBrokers = true
      isWanted = true
    }
    if let policy = requests.linkPolicy { configuration.linkPolicy = policy }
    if let keepAlive = requests.keepAlive { configuration.keepAlive = keepAlive }
    if requests.providerHasMore { isWanted = true }
    for change in requests.subscriptionChanges { outflow.apply(change) }
  }
}
