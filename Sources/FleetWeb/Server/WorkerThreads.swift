package import Platform

/// A few threads for blocking or slow work, which must run neither on the cooperative pool nor on an event
/// loop. If the queue is full, work is rejected immediately.
package final class WorkerThreads: Sendable {
  private struct State {
    var waiting: [@Sendable () -> Void] = []
    var isStopped = false
  }

  private let name: String
  private let capacity: Int
  private let state = Monitor(State())
  private let threads = Locked<[DedicatedThread]>([])

  /// Starts the threads.
  ///
  /// - Parameters:
  ///   - name: the name of the threads, as `top -H` shows it.
  ///   - count: the number of threads.
  ///   - capacity: the maximum number of waiting tasks.
  /// - Throws: `SystemError` if the kernel cannot create them.
  package init(name: String, count: Int, capacity: Int) throws(SystemError) {
    (self.name, self.capacity) = (name, capacity)
    for _ in 0..<max(1, count) {
      let state = state
      let thread = try DedicatedThread.start(name: name) {
        while let work = state.wait(
          until: nil,
          for: { state -> (@Sendable () -> Void)?? in
            if !state.waiting.isEmpty { return .some(state.waiting.removeFirst()) }
            return state.isStopped ? .some(nil) : nil
          }) ?? nil
        { work() }
      }
      threads.withLock { $0.append(thread) }
    }
  }

  deinit { state.update { $0.isStopped = true } }

  /// Runs `body` on one of the threads.
  /// - Throws: 503 if the queue is full, and errors of `body`.
  package func run<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
      let isTaken = state.update { state in
        guard !state.isStopped, state.waiting.count < capacity else { return false }
        state.waiting.append { continuation.resume(with: Result(catching: body)) }
        return true
      }
      if !isTaken {
        continuation.resume(throwing: WebError.busy("The server has too much to do (\(name))."))
      }
    }
  }

  /// Stops accepting work, completes the queue, and stops the threads. Call it once.
  package func stop() {
    state.update { $0.isStopped = true }
    for thread in threads.withLock({ $0 }) { thread.join() }
  }
}
