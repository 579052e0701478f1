package import Fleet
internal import FleetConsole
internal import Glibc
internal import MQTT
internal import Platform

/// Records a fleet into a database, each message once.
///
/// The connection's thread receives, the recorder's thread stores; between them is a bounded queue. The broker hears
/// of a message only when the transaction with it is committed. What comes again, because a process or a broker ended
/// in between, is found in the store by its numbers and changes nothing.
package enum RecordCommand {
  /// Seconds that are left for an orderly end.
  private static let drain = 60.0

  /// Runs until the count is reached, the time is over or a signal comes.
  /// - Throws: `FleetError` for options that make no sense, a broker that cannot be reached and a store that cannot be
  ///   opened.
  package static func run(_ options: RecordOptions) throws(FleetError) -> ExitStatus {
    let broker = try options.broker.options()
    let filters = try options.topics.filters(options.broker, options.words)
    let timeout = try options.time.limit()
    try options.check()
    signal(SIGPIPE, SIG_IGN)
    let waiter = try CommandWaiter()
    let store = try openStore(options)
    let slot = options.clientID == nil ? try SessionSlot(for: identity(of: options, broker, filters)) : nil
    var session = SubscriberSession(clientID: options.clientID ?? slot?.clientID, share: options.share)
    session.expiry = options.sessionExpiry ?? (options.share == nil ? 86_400 : 300)
    session.qos = try options.quality.level()
    session.receiveMaximum = UInt16(clamping: max(1, 2 * options.commitCount))
    session.portion = options.commitCount
    session.bufferedMessages = options.bufferedMessages
    // The store knows best what it has.
    session.isOnceInOrder = false
    let subscriber = try FleetSubscriber(broker: broker, filters: filters, session: session) {
      waiter.note($0)
    }
    guard let queue = subscriber.queue else { return .done }
    let recorder = try Recorder(options) { waiter.end(.ended(.done)) }
    try recorder.start(store, queue)
    try subscriber.start()
    var progress = RecordProgress(options)
    let deadline = timeout.map { SystemClock.monotonic + Int64(max(0, min($0, 1e8)) * 1e9) }
    var ending: CommandWaiter.Ending = .timedOut
    while true {
      let left = deadline.map { Double($0 - SystemClock.monotonic) * 1e-9 } ?? .infinity
      ending = waiter.wait(seconds: min(left, progress.interval))
      progress.show(recorder.current)
      guard case .timedOut = ending, left > progress.interval else { break }
    }
    // With a store that is away, waiting for it would only delay the end.
    let isClean = subscriber.leaveBlocking(drain: recorder.current.isInterrupted ? 0 : drain)
    recorder.end(abandoning: !isClean)
    progress.finish(recorder.current)
    withExtendedLifetime(slot) {}
    switch ending {
    case .timedOut: return options.count == nil ? .done : .timedOut
    case .ended(let status): return status
    case .failed(let error): throw error
    }
  }

  private static func openStore(_ options: RecordOptions) throws(FleetError) -> any FleetStore {
    let store = FleetStoreAddress.store(for: options.store)
    do throws(FleetStoreError) { try store.open() } catch {
      throw FleetError(
        operation: error.operation, object: error.object, cause: error.cause, exit: .outputFailed)
    }
    return store
  }

  /// What has a session of its own at the broker. The store by its full path, so that the folder in which the command
  /// is started does not matter.
  private static func identity(
    of options: RecordOptions, _ broker: BrokerOptions, _ filters: [String]
  ) -> String {
    var store = options.store
    if !FleetStoreAddress.isPostgreSQL(store), let path = unsafe realpath(store, nil) {
      store = unsafe String(cString: path)
      unsafe free(path)
    }
    return ([store, broker.address.description, options.share ?? ""] + filters.sorted())
      .joined(separator: "\n")
  }
}
