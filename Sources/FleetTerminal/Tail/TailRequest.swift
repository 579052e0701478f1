package import Fleet
package import FleetProgram
internal import Glibc
package import MQTT
internal import Platform

/// A request to print messages as JSON lines (`odograph tail`).
///
/// All work is done on the connection's thread: a batch is received, its lines are written immediately, and
/// then the batch is acknowledged. A slow output therefore slows down the broker, and no messages are
/// buffered in between.
package struct TailRequest: Sendable {
  package var broker: MQTTConfiguration
  package var filters: [String]
  package var qos = QoS.atLeastOnce
  /// The group of a shared subscription; nil for a subscription that is not shared.
  package var share: String?
  /// The number of messages to print; nil for all.
  package var count: Int?
  /// True for only retained messages, false for only live ones; nil for both.
  package var retained: Bool?
  /// The time limit in seconds; nil for none.
  package var timeout: Double?

  package init(broker: MQTTConfiguration, filters: [String]) {
    (self.broker, self.filters) = (broker, filters)
  }

  /// Prints messages until the count, the time limit, a closed output or a signal.
  /// - Throws: `FleetError` for an invalid topic filter and an unreachable broker.
  package func run() throws(FleetError) -> ExitStatus {
    signal(SIGPIPE, SIG_IGN)
    let waiter = try CommandWaiter()
    let printer = Locked(TailPrinter(self))
    let subscriber = try FleetSubscriber(
      broker: broker, filters: filters, qos: qos, share: share,
      handlers: .init(
        received: { batch in
          if let end = printer.withLock({ $0.print(batch.messages) }) { waiter.end(end) }
          return .kept
        },
        connection: { waiter.observe($0) }))
    try subscriber.start()
    defer { subscriber.stop(drain: share == nil ? 2 : 30) }
    switch waiter.wait(seconds: timeout) {
    case .timedOut:
      try waiter.requireAnswer(within: timeout)
      guard let count else { return .done }
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

  init(_ request: TailRequest) {
    retained = request.retained
    left = request.count
    isMember = request.share != nil
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
