package import Fleet
internal import FleetConsole
internal import FleetStore
internal import Platform

/// A few threads that read a recording, each over a read-only connection of its own, for all who ask.
///
/// Databases block; so nothing here runs on the event loops. What waits is bounded, what takes too long is interrupted, and so is
/// what nobody waits for any more.
package final class HistoryReaders: Sendable {
  package struct Limits: Hashable, Sendable {
    /// Connections, and in PostgreSQL as many again for tracks. SQLite reads out of the page cache, so that more than there
    /// are processors only take memory.
    package var threads = 2
    /// Questions that wait at most, half of them from one login; those beyond are refused.
    package var waiting = 32
    /// Seconds that a question may take, with the time that it waits.
    package var seconds = 20.0
    /// Bytes of answers that wait for their clients at most, of all together and half of them of one login; what goes beyond
    /// is refused.
    package var bytes = 64 << 20
    /// Seconds after which a client that has not taken its answer loses it, when others want the room.
    package var patience = 60.0

    package init() {}
  }

  /// How much there is to do.
  package struct Load: Hashable, Sendable {
    package var waiting = 0
    package var running = 0
    /// Questions refused since the start, as too many waited.
    package var refused = 0
    /// Questions given up since the start, as their client left or their time was over.
    package var interrupted = 0
    package var answered = 0
  }

  typealias Work = @Sendable (HistoryReader, AnswerWriter) throws -> Void

  struct Job: Sendable {
    let pipe: AnswerPipe
    let deadline: Int64
    let work: Work

    var goesOn: Bool { !pipe.isCancelled && SystemClock.monotonic < deadline }
  }

  private struct State: Sendable {
    var jobs: [Job] = []
    var load = Load()
    var isStopping = false
    /// What was last said of the recording on stderr: the same is not said again and again.
    var complaint: String?
  }

  private let address: String
  private let limits: Limits
  private let budget: AnswerBudget
  private let state = Monitor(State())

  /// - Parameter address: an SQLite file, or a `postgres://` URL.
  /// - Throws: `FleetError` when it is not there or no recording, and where no thread can be started.
  package init(_ address: String, limits: Limits = Limits()) throws(FleetError) {
    self.address = address
    self.limits = limits
    budget = AnswerBudget(most: limits.bytes, patience: limits.patience)
    // A mistake in an option is to be told now, and not with the first question.
    _ = try HistoryReader(address)
    for _ in 0..<max(1, limits.threads) {
      do throws(SystemError) {
        try DedicatedThread.start(name: "history", stackSize: 2 << 20) { [self] in run() }.detach()
      } catch { throw FleetError(error) }
    }
  }

  package var load: Load { state.withLock { $0.load } }

  /// Ends what runs, and the threads.
  package func stop() {
    let jobs = state.update { state in
      state.isStopping = true
      defer { state.jobs = [] }
      return state.jobs
    }
    for job in jobs { job.pipe.fail(.unreadable) }
  }

  /// Lets a thread work for a request.
  /// - Parameter asker: the login; nil where there is none.
  /// - Throws: `WebError` where too many wait.
  func begin(for asker: String?, _ work: @escaping Work) throws(WebError) -> AnswerPipe {
    let job = Job(
      pipe: AnswerPipe(budget, asker: asker), deadline: SystemClock.monotonic + Int64(limits.seconds * 1e9),
      work: work)
    let isTaken = state.update { state in
      // Those who have left do not keep others out.
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

  // MARK: A thread

  /// Which question a connection works for.
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
      if job.goesOn {
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

  /// Returns whether the connection can be used again.
  private func answer(_ job: Job, _ reader: inout HistoryReader?, _ current: Current) -> Bool {
    let writer = AnswerWriter(job.pipe, deadline: job.deadline)
    var isFresh = false
    while true {
      do {
        if reader?.isCurrent != true {
          isFresh = true
          reader = try HistoryReader(address) {
            !(current.readers?.isStopping ?? true) && current.job?.goesOn ?? false
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
        guard job.goesOn, !isStopping else {
          interrupted(job)
          return false
        }
        // A connection that stood for long may have been lost in between.
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
    if isNew { StandardError.say(sentence) }
  }
}
