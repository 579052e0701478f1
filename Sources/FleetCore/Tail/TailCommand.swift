internal import Glibc
public import MQTT
internal import Platform

/// What `odograph tail` is asked for.
public struct TailOptions: Sendable {
  public enum Retained: Hashable, Sendable {
    case included
    case only
    case excluded
  }

  public var broker = BrokerOptions()
  /// MQTT topic filters.
  public var filters: [String]
  public var qos: QoS = .atLeastOnce
  /// Messages that the broker had kept from before.
  public var retained: Retained = .included
  /// A group whose members split the messages among them.
  public var share: String?
  /// Ends after so many messages; nil goes on. A member of a group prints also what the broker had handed to it by then.
  public var count: Int?
  /// Seconds, from the start; nil goes on.
  public var timeout: Double?

  public init(filters: [String]) { self.filters = filters }
}

/// Prints messages as JSON lines.
///
/// All of the work is done on the connection's thread: a batch comes in, its lines go out in one write, and only then
/// is it acknowledged. An output that is slow slows the broker down, and nothing piles up in between.
public enum TailCommand {
  /// Runs until the count is reached, the time is over, the reader has left or a signal comes.
  /// - Throws: `FleetError` for options that make no sense and a broker that cannot be reached.
  public static func run(_ options: TailOptions) throws(FleetError) -> ExitStatus {
    if let count = options.count, count < 1 {
      throw FleetError(
        operation: "print", object: "\(count) messages", cause: "--count is 1 or more", exit: .usage)
    }
    signal(SIGPIPE, SIG_IGN)
    let waiter = try CommandWaiter()
    let printer = Locked(TailPrinter(options))
    let subscriber = try FleetSubscriber(
      broker: options.broker, filters: options.filters, qos: options.qos, share: options.share,
      handlers: .init(
        received: { batch in
          if let end = printer.withLock({ $0.print(batch.messages) }) { waiter.end(end) }
          return .kept
        },
        connection: { waiter.note($0) }))
    try subscriber.start()
    defer { subscriber.stop(drain: options.share == nil ? 2 : 30) }
    let ending = waiter.wait(seconds: options.timeout)
    switch ending {
    case .timedOut: return options.count == nil ? .done : .timedOut
    case .ended(let status): return status
    case .failed(let error): throw error
    }
  }
}

/// Chooses the messages to print and writes them.
struct TailPrinter {
  private let retained: TailOptions.Retained
  private var left: Int?
  private var lines = MessageLines()
  private var hasEnded = false
  /// What comes after the last of the count is nobody else's: it is printed too.
  private let isMember: Bool

  init(_ options: TailOptions) {
    retained = options.retained
    left = options.count
    isMember = options.share != nil
  }

  /// Writes a batch. Returns how the command ends when that was the last of it.
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
      // `odograph tail | head` is no failure: the reader has what it wanted.
      if problem.rawValue == EPIPE { return .ended(.done) }
      return .failed(
        FleetError(
          operation: "write", object: "the output", cause: SystemError.message(for: problem.rawValue),
          exit: .outputFailed))
    }
    hasEnded = left == 0 && !isMember
    return left == 0 ? .ended(.done) : nil
  }

  private func isWanted(_ message: MQTTMessage) -> Bool {
    switch retained {
    case .included: true
    case .only: message.retain
    case .excluded: !message.retain
    }
  }
}
