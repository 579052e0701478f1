internal import DequeModule
internal import Fleet
internal import Platform
internal import Spatial

/// The threads that send messages to one receiver. They store nothing, and report the result of every
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
    /// The deadline of transfers in progress (`SystemClock.monotonic`).
    var stopDeadline = Int64.max
  }

  private let receiver: Receiver
  private let state = Monitor(State())
  private let threads = Locked<[DedicatedThread]>([])
  private let report: @Sendable (Result) -> Void

  /// Creates the threads' state.
  ///
  /// - Parameter report: called on the threads.
  init(_ receiver: Receiver, report: @escaping @Sendable (Result) -> Void) {
    (self.receiver, self.report) = (receiver, report)
  }

  /// The maximum number of messages to hold: one in progress and one waiting for each thread.
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

  /// Stops the threads. Drops waiting messages; transfers in progress have `timeout` seconds left.
  /// - Returns: the numbers of messages without a reported result.
  func stop(timeout: Double) -> [Int64] {
    let left = state.update { state in
      state.isStopping = true
      state.stopDeadline = SystemClock.monotonic + Int64(timeout * 1e9)
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
    let shouldContinue: () -> Bool = { [state] in state.withLock { SystemClock.monotonic < $0.stopDeadline } }
    let client = ReceiverClient(receiver, shouldContinue: shouldContinue)
    while true {
      let job: AlertMessage?? = state.wait(until: nil) { state in
        if state.isStopping { return .some(nil) }
        return state.jobs.popFirst().map { .some($0) }
      }
      guard let message = job ?? nil else { return }
      let outcome =
        client?.deliver(
          message, attempt: message.attempts + 1, at: UTCTime(nanoseconds: SystemClock.realtime))
        ?? .failed("libcurl cannot be used", after: nil)
      report(Result(receiver: receiver.name, number: message.number, outcome: outcome))
    }
  }
}
