internal import DequeModule
internal import Fleet
internal import Platform
internal import Spatial

/// The threads that send messages to one receiver. They store nothing, and report the outcome of each
/// message.
final class ReceiverThreads: Sendable {
  struct Result: Sendable {
    var receiver: String
    var number: Int64
    var outcome: ReceiverClient.Outcome
  }

  private struct State: Sendable {
    var jobs = Deque<AlertMessage>()
    var isStopping = false
    /// The time at which transfers in progress are aborted, in ns.
    var stopDeadline = MonotonicTime.distantFuture
  }

  private let receiver: Receiver
  private let state = Monitor(State())
  private let threads = Locked<[DedicatedThread]>([])
  private let report: @Sendable (Result) -> Void

  /// Creates the state of the threads, without starting them.
  ///
  /// - Parameters:
  ///   - receiver: the receiver.
  ///   - report: called with the outcome of each message, on the thread that sent it.
  init(_ receiver: Receiver, report: @escaping @Sendable (Result) -> Void) {
    (self.receiver, self.report) = (receiver, report)
  }

  /// The maximum number of messages that the threads accept: for each thread, one in transfer and one
  /// waiting.
  var capacity: Int { receiver.connections * 2 }

  /// Starts the threads.
  ///
  /// - Throws: `SystemError` if the kernel cannot create a thread.
  func start() throws(SystemError) {
    for _ in 0..<receiver.connections {
      let thread = try DedicatedThread.start(name: "to \(receiver.name)") { self.run() }
      threads.withLock { $0.append(thread) }
    }
  }

  func give(_ message: AlertMessage) { state.update { $0.jobs.append(message) } }

  /// Stops the threads. Waiting messages are dropped; transfers in progress are aborted after `timeout`
  /// seconds.
  /// - Returns: the numbers of the dropped messages, for which no outcome is reported.
  func stop(timeout: Double) -> [Int64] {
    let left = state.update { state in
      state.isStopping = true
      state.stopDeadline = .after(timeout)
      defer { state.jobs = [] }
      return state.jobs.map(\.number)
    }
    let started = threads.withLock { threads in
      defer { threads = [] }
      return threads
    }
    for thread in started { thread.join() }
    return left
  }

  private func run() {
    let shouldContinue: () -> Bool = { [state] in state.withLock { !$0.stopDeadline.hasPassed } }
    let client = ReceiverClient(receiver, shouldContinue: shouldContinue)
    while true {
      let job: AlertMessage?? = state.wait(until: nil) { state in
        if state.isStopping { return .some(nil) }
        return state.jobs.popFirst().map { .some($0) }
      }
      guard let message = job ?? nil else { return }
      let outcome =
        client?.deliver(
          message, attempt: message.attempts + 1, at: .now)
        ?? .failed("libcurl cannot be used", after: nil)
      report(Result(receiver: receiver.name, number: message.number, outcome: outcome))
    }
  }
}
