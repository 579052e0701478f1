package import ArgumentParser
package import Fleet
package import FleetCommand
internal import Glibc
internal import MQTT
internal import Platform

/// The options of `odograph tail`.
package struct TailOptions: BrokerOptions {
  @OptionGroup package var topics: TopicArguments

  @Option(
    help: ArgumentHelp(
      "Join a shared subscription. Retained messages are not delivered to shared subscribers.",
      valueName: "group"))
  package var share: String?

  @Option(
    parsing: .unconditional, help: ArgumentHelp("Stop after this number of messages.", valueName: "messages"))
  package var count: Int?

  @OptionGroup package var time: TimeLimitArguments

  @Flag(
    inversion: .prefixedNo,
    help: "Print only, or no, retained messages (default: all messages).")
  package var retained: Bool?

  @OptionGroup package var quality: QualityArguments

  @Flag(help: "No effect; the lines are always JSON.")
  package var json = false

  @OptionGroup(title: "Broker") package var broker: BrokerArguments

  @OptionGroup(title: "Broker") package var words: MessageProfileArguments

  package init() {}
}

/// The `odograph tail` command: prints messages as JSON lines.
///
/// All work is done on the connection's thread: a batch is received, its lines are written immediately, and
/// then the batch is acknowledged. A slow output therefore slows down the broker, and no messages are
/// buffered in between.
package enum TailCommand {
  /// Runs until the count, the time limit, a closed output or a signal.
  /// - Throws: `FleetError` for invalid options and an unreachable broker.
  package static func run(_ options: TailOptions) throws(FleetError) -> ExitStatus {
    if let count = options.count, count < 1 {
      throw .usage("print", "\(count) messages", "--count must be 1 or more")
    }
    let filters = try options.topics.filters(options.broker, options.words)
    let qos = try options.quality.level()
    let timeout = try options.time.limit()
    signal(SIGPIPE, SIG_IGN)
    let waiter = try CommandWaiter()
    let printer = Locked(TailPrinter(options))
    let subscriber = try FleetSubscriber(
      broker: options.broker.configuration(), filters: filters, qos: qos, share: options.share,
      handlers: .init(
        received: { batch in
          if let end = printer.withLock({ $0.print(batch.messages) }) { waiter.end(end) }
          return .kept
        },
        connection: { waiter.observe($0) }))
    try subscriber.start()
    defer { subscriber.stop(drain: options.share == nil ? 2 : 30) }
    let ending = waiter.wait(seconds: timeout)
    switch ending {
    case .timedOut:
      try waiter.requireAnswer(within: timeout)
      guard let count = options.count else { return .done }
      StandardError.sayMissed(count, came: count - (printer.withLock { $0.left } ?? 0))
      return .timedOut
    case .ended(let status): return status
    case .failed(let error): throw error
    }
  }
}

/// A printer that selects and writes messages.
struct TailPrinter {
  /// True for only retained messages, false for only live ones; nil for both.
  private let retained: Bool?
  /// The number of messages to print; nil for all.
  private(set) var left: Int?
  private var lines = MessageLines()
  private var hasEnded = false
  /// True for a member of a shared subscription. Messages that it receives after the requested count are
  /// delivered to no other member, so they are printed, too.
  private let isMember: Bool

  init(_ options: TailOptions) {
    retained = options.retained
    left = options.count
    isMember = options.share != nil
  }

  /// Writes a batch. Returns the ending if no further batch is required; nil otherwise.
  mutating func print(_ messages: [MQTTMessage], to descriptor: Int32 = STDOUT_FILENO) -> CommandWaiter
    .Ending?
  {
    guard !hasEnded else { return nil }
    lines.removeAll()
    for message in messages where isWanted(message) && (left != 0 || isMember) {
      lines.append(message)
      if let left { self.left = max(0, left - 1) }
    }
    if let problem = OutputStream.write(lines.bytes, to: descriptor) {
      hasEnded = true
      // A closed output as in `odograph tail | head` is not a failure.
      if problem.rawValue == EPIPE { return .ended(.done) }
      return .failed(
        FleetError(
          operation: "write", object: "the output", cause: SystemError.message(for: problem.rawValue),
          kind: .outputFailed))
    }
    hasEnded = left == 0 && !isMember
    return left == 0 ? .ended(.done) : nil
  }

  private func isWanted(_ message: MQTTMessage) -> Bool { retained.map { $0 == message.retain } ?? true }
}
