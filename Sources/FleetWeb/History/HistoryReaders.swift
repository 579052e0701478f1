package import Fleet
internal import FleetProgram
package import FleetStore
internal import Platform

/// A few threads that read a recording for all requests, each over its own read-only connection.
///
/// Database calls block, so they do not run on event loops. The queue is bounded; queries that take too long
/// or whose client is gone are interrupted.
package final class HistoryReaders: Sendable {
  package struct Limits: Hashable, Sendable {
    /// The number of threads, each with a connection to the recording; PostgreSQL uses a second connection
    /// per thread for tracks. SQLite reads from the page cache, so more threads than processors only use
    /// memory.
    package var threads = 2
    /// The maximum number of waiting requests, half of them from one login; further ones are rejected.
    package var waiting = 32
    /// The time limit of a request in seconds, including its wait.
    package var seconds = 20.0
    /// The maximum size in bytes of responses that wait for their clients, half of them for one login;
    /// further ones are rejected.
    package var bytes = 64 << 20
    /// The seconds after which a response that its client has not read can be dropped, if another response
    /// needs the space.
    package var readTimeout = 60.0

    package init() {}
  }

  /// The current load.
  package struct Load: Hashable, Sendable {
    package var waiting = 0
    package var running = 0
    /// The number of requests rejected because too many were waiting.
    package var refused = 0
    /// The number of requests abandoned because their client was gone or their time limit expired.
    package var interrupted = 0
    package var answered = 0
  }

  package typealias Work = @Sendable (HistoryReader, AnswerWriter) throws -> Void

  struct Job: Sendable {
    let pipe: AnswerPipe
    let deadline: MonotonicTime
    let work: Work

    var shouldContinue: Bool { !pipe.isCancelled && !deadline.hasPassed }
  }

  private struct State: Sendable {
    var jobs: [Job] = []
    var load = Load()
    var isStopping = false
    /// The last problem reported on standard error, which is not repeated; nil after a successful request.
    var complaint: String?
  }

  private let address: String
  private let limits: Limits
  private let budget: AnswerBudget
  private let state = Monitor(State())

  /// Starts the threads, which open the recording at their first request. A recording that is unavailable now,
  /// such as a database server that starts later, is not an error.
  ///
  /// - Parameter address: an SQLite file, or a `postgres://` URL.
  /// - Throws: `FleetError` for an invalid address, or if a thread cannot be created.
  package init(_ address: String, limits: Limits = Limits()) throws(FleetError) {
    self.address = address
    self.limits = limits
    budget = AnswerBudget(most: limits.bytes, timeout: limits.readTimeout)
    try HistoryReader.check(address)
    for _ in 0..<max(1, limits.threads) {
      do throws(SystemError) {
        try DedicatedThread.start(name: "history", stackSize: 2 << 20) { [self] in run() }.detach()
      } catch { throw FleetError(error) }
    }
  }

  package var load: Load { state.withLock { $0.load } }

  /// Interrupts running queries and stops the threads.
  package func stop() {
    let jobs = state.update { state in
      state.isStopping = true
      defer { state.jobs = [] }
      return state.jobs
    }
    for job in jobs { job.pipe.fail(.unreadable) }
  }

  /// Runs work for a request on a thread.
  /// - Parameter asker: the login; nil if there is none.
  /// - Throws: `WebError` if too many requests are waiting.
  package func begin(for asker: String?, _ work: @escaping Work) throws(WebError) -> AnswerPipe {
    let job = Job(
      pipe: AnswerPipe(budget, asker: asker), deadline: .after(limits.seconds),
      work: work)
    let isTaken = state.update { state in
      // Abandoned requests are removed first.
      state.jobs.removeAll { $0.pipe.isCancelled }
      let own = asker == nil ? 0 : state.jobs.count { $0.pipe.asker == asker }
      guard !state.isStopping, state.jobs.count < limits.waiting, own < max(1, limits.waiting / 2) else {
        state.load.refused += 1
        return false
      }
      state.jobs.append(job)
      state.load.waiting = state.jobs.count
      return true
    }
    guard isTaken else { throw .tooManyQuestions }
    return job.pipe
  }

  // MARK: Threads

  /// The current job of a connection.
  private final class Current {
    var job: Job?
    var readers: HistoryReaders?
  }

  private func run() {
    let current = Current()
    current.readers = self
    var reader: HistoryReader?
    while let job = next() {
      current.job = job
      if job.shouldContinue {
        let keepsReader = answer(job, &reader, current)
        if !keepsReader { reader = nil }
      } else {
        interrupted(job)
      }
      current.job = nil
      state.update { $0.load.running -= 1 }
    }
  }

  private func next() -> Job? {
    state.wait(until: nil) { state -> Job?? in
      if state.isStopping { return .some(nil) }
      guard !state.jobs.isEmpty else { return nil }
      state.load.running += 1
      state.load.waiting = state.jobs.count - 1
      return state.jobs.removeFirst()
    } ?? nil
  }

  /// Answers a request. Returns whether the connection is still usable.
  private func answer(_ job: Job, _ reader: inout HistoryReader?, _ current: Current) -> Bool {
    let writer = AnswerWriter(job.pipe, deadline: job.deadline)
    var isFresh = false
    while true {
      do {
        if reader?.isCurrent != true {
          isFresh = true
          reader = try HistoryReader(address) {
            !(current.readers?.isStopping ?? true) && current.job?.shouldContinue ?? false
          }
        }
        guard let reader else { return false }
        try job.work(reader, writer)
        try writer.finish()
        state.update { state in
          state.load.answered += 1
          state.complaint = nil
        }
        return true
      } catch let error as WebError {
        job.pipe.fail(error)
        return true
      } catch let error as FleetError {
        guard job.shouldContinue, !isStopping else {
          interrupted(job)
          return false
        }
        // An idle connection can have been lost since the last request, so the request is retried over a new
        // one.
        if !isFresh, !writer.hasBegun {
          reader = nil
          continue
        }
        complain("\(error)")
        job.pipe.fail(.unreadable)
        return false
      } catch {
        interrupted(job)
        return false
      }
    }
  }

  private var isStopping: Bool { state.withLock { $0.isStopping } }

  private func interrupted(_ job: Job) {
    job.pipe.fail(.tooSlow(limits.seconds))
    state.update { $0.load.interrupted += 1 }
  }

  private func complain(_ sentence: String) {
    let isNew = state.withLock { state in
      defer { state.complaint = sentence }
      return state.complaint != sentence
    }
    if isNew { StandardError.report(sentence) }
  }
}
