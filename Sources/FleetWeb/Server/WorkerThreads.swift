package import Platform

/// A few threads for what blocks or takes long, so that it holds up neither the cooperative pool nor an event loop. What
/// finds no room in the queue is refused at once.
package final class WorkerThreads: Sendable {
  private struct State {
    var waiting: [@Sendable () -> Void] = []
    var isStopped = false
  }

  private let name: String
  private let capacity: Int
  private let state = Monitor(State())
  private let threads = Locked<[DedicatedThread]>([])

  /// - Parameters:
  ///   - name: of the threads, as `top -H` shows them.
  ///   - count: of threads.
  ///   - capacity: work that waits at most.
  /// - Throws: `SystemError` when the kernel has no room for them.
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
  /// - Throws: 503 when too much waits already, and what `body` throws.
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

  /// Takes no more work, does what waits, and ends the threads. Call it once.
  package func stop() {
    state.update { $0.isStopped = true }
    for thread in threads.withLock({ $0 }) { thread.join() }
  }
}
