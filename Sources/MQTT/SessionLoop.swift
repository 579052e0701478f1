internal import Glibc
internal import Platform
internal import Spatial

/// The main loop of the session's thread: attempts and the waits between them. All state belongs to that
/// thread.
final class SessionLoop {
  private(set) var configuration: MQTTConfiguration
  let outflow: Outflow
  let handlers: MQTTSession.Handlers
  let mailbox: Mailbox
  let heartbeat: Heartbeat
  private var meter: LinkMeter
  /// Time up to which the measurements of the link are used up (`measureLink`).
  private var measuredUntil = MonotonicTime.start
  /// Time at which a postponed measurement is due; nil if there is none.
  private(set) var measurementDue: MonotonicTime?
  private var planner: ConnectionPlanner
  private var generator = SystemRandomNumberGenerator()
  private var lastReported: MQTTDisconnection.Cause?
  /// True if the next attempt was planned for outdated settings.
  private var hasNewBrokers = false
  /// True if there is a reason to open the link between bursts.
  private var isWanted = true
  /// Time of the current connection's start; nil between connections.
  private var connectedAt: MonotonicTime?
  /// Start of the last burst on the clock that includes suspend; nil before the first.
  private var burstBegan: Timestamp?
  /// Stamps of the credential files at the start of the connection.
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
      // These ends are caused by this side and contain no information about the broker.
      case .asleep, .renewing, .reconfiguring, .stopped: break
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

  /// Current stamps of the credential files.
  var credentialStamps: [CredentialWatch.Stamp?] { CredentialWatch.stamps(of: configuration.credentialFiles) }

  /// Reports the connection to the handler.
  func reportConnected(_ properties: MQTTServerProperties) {
    burstBegan = .now
    connectedAt = .now
    lastReported = nil
    mailbox.setConnected(true)
    handlers.connectionChanged(.connected(properties))
  }

  /// Time in s to the next burst, 0 if it is overdue; nil if only a wakeup of the session starts one.
  private var secondsToBurst: Double? {
    guard case .bursts(_, let interval?) = configuration.linkPolicy, let burstBegan else { return nil }
    return max(0, interval - Timestamp.now.seconds(since: burstBegan))
  }

  /// Ends the burst. Returns the messages to publish before the link is closed.
  func endBurst() -> [MQTTMessage] {
    isWanted = false
    return handlers.farewell(secondsToBurst)
  }

  /// Resets the meter for a new connection, because the kernel counts the bytes of each connection from zero.
  func beginMeter() {
    meter.begin()
    measurementDue = nil
  }

  /// Mean interval in s of measurements while messages stream. Each is a system call of about 1 µs.
  private static let measuringInterval = 1e-3
  /// Number of measurements without that interval after a pause.
  private static let measuringBurst = 8.0

  /// Adds the traffic of the connection since the last measurement. While messages stream, most measurements
  /// are postponed (`measurementDue`).
  /// - Parameter isLast: true to measure in any case.
  func measureLink(_ socket: Int32, isLast: Bool = false) {
    let now = MonotonicTime.now
    let due = measuredUntil.advanced(bySeconds: -Self.measuringBurst * Self.measuringInterval)
    guard isLast || now >= due else {
      measurementDue = due
      return
    }
    measurementDue = nil
    measuredUntil = max(measuredUntil, now).advanced(bySeconds: Self.measuringInterval)
    guard let carried = bytesCarried(by: socket), meter.observe(carried: carried, at: .now)
    else { return }
    let use = meter.use
    mailbox.count { $0.link = use }
  }

  private func connect(
    _ attempt: ConnectionPlanner.Attempt, to broker: MQTTConfiguration.Broker
  ) -> ConnectionPlanner.Ending {
    if configuration.tls != nil, UTCTime.now < configuration.earliestPlausibleTime {
      return ConnectionPlanner.Ending(cause: .clockNotSet, phase: .tls)
    }
    usedCredentials = credentialStamps
    do throws(OperationError) {
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
    if !configuration.reportsEachBroker, retryIn == 0, ending.phase != .established { return }
    guard ending.cause != lastReported else { return }
    lastReported = ending.cause
    let end = MQTTDisconnection(broker: broker, phase: ending.phase, cause: ending.cause)
    handlers.connectionChanged(.disconnected(end, willRetryIn: retryIn))
  }

  /// Waits for a time, and between bursts for a reason to connect. Returns false if the session must stop.
  private func wait(seconds: Double) -> Bool {
    let end = MonotonicTime.after(seconds)
    while true {
      heartbeat.beat()
      let requests = mailbox.drain().requests
      apply(requests)
      if requests.stop != nil { return false }
      let left = end.secondsRemaining
      let toBurst = secondsToBurst
      if toBurst == 0 { isWanted = true }
      let mayConnect = isWanted || configuration.linkPolicy == .standing
      if (left <= 0 || hasNewBrokers) && mayConnect { return true }
      _ = mailbox.wake.wait(seconds: left > 0 ? left : toBurst ?? 86_400)
    }
  }

  /// Applies changes of settings, link policy and subscriptions.
  func apply(_ requests: Mailbox.Requests) {
    if let new = requests.configuration?.settings {
      // A change of brokers always waits: two brokers may have retained documents that each select the other
      // one, so the session would alternate between them without a pause.
      let held = connectedAt?.secondsElapsed ?? 0
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
