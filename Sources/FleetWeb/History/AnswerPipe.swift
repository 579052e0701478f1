package import NIOCore
internal import Platform

/// A pipe that passes a response from a reader's thread to the task of its request, which sends the response
/// when it is complete. The thread never waits for a client; the memory of waiting responses is bounded by
/// `AnswerBudget`. Both ends can cancel the pipe.
package final class AnswerPipe: Sendable {
  private struct State: Sendable {
    var pieces: [ByteBuffer] = []
    /// The size of all pieces in bytes, including those already sent.
    var length = 0
    /// The entity tag of the complete response; nil while it is incomplete.
    var tag: String?
    var failure: WebError?
    /// True if the request was cancelled.
    var isCancelled = false
    /// The continuation of the request's task while it waits. Resumed once: when the response is complete,
    /// has failed or was cancelled, or when the task is cancelled.
    var waiter: CheckedContinuation<Void, Never>?
    var isWaitCancelled = false

    var isFinished: Bool { tag != nil }
    var hasNews: Bool { isFinished || failure != nil || isCancelled }

    /// Drops the pieces that were not sent.
    ///
    /// - Returns: the size of these pieces in bytes.
    mutating func drop() -> Int {
      defer { pieces = [] }
      return pieces.reduce(0) { $0 + $1.readableBytes }
    }
  }

  /// The name of the login that sent the request; nil if no login is configured.
  package let asker: String?
  private let budget: AnswerBudget
  private let state = Locked(State())

  package init(_ budget: AnswerBudget, asker: String? = nil) { (self.budget, self.asker) = (budget, asker) }

  // MARK: Reader's end

  var isCancelled: Bool { state.withLock { $0.isCancelled } }

  /// Appends a piece.
  /// - Throws: `CancellationError` if the request was cancelled, `WebError` if too many responses are
  ///   waiting.
  package func put(_ piece: [UInt8]) throws {
    guard budget.admit(self, piece.count) else {
      if isCancelled { throw CancellationError() }
      throw WebError.tooManyAnswers
    }
    let isWanted = state.withLock { state in
      guard !state.isCancelled else { return false }
      state.pieces.append(ByteBuffer(bytes: piece))
      state.length += piece.count
      return true
    }
    guard isWanted else {
      budget.release(self, piece.count)
      throw CancellationError()
    }
  }

  /// Completes the response.
  /// - Parameter tag: distinguishes this response from other ones to the same request.
  package func finish(tag: String) {
    change { state in
      state.tag = tag
      return 0
    }
  }

  /// Fails the response; earlier pieces are discarded.
  package func fail(_ error: WebError) {
    change { state in
      guard !state.isFinished else { return 0 }
      state.failure = error
      return state.drop()
    }
  }

  /// Changes the state and wakes the waiting task.
  ///
  /// - Parameter body: returns the number of dropped bytes.
  private func change(_ body: (inout State) -> Int) {
    let (waiter, gone) = state.withLock { state in
      let gone = body(&state)
      defer { state.waiter = nil }
      return (state.waiter, gone)
    }
    if gone > 0 { budget.release(self, gone) }
    waiter?.resume()
  }

  // MARK: Request's end

  /// Cancels the request, so that the reader stops.
  package func cancel() {
    change { state in
      state.isCancelled = true
      return state.drop()
    }
  }

  /// Waits for the complete response or a failure. Returns early if the task is cancelled.
  func waitForNews() async {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isOver = state.withLock { state -> Bool in
          if state.hasNews || state.isWaitCancelled {
            state.isWaitCancelled = false
            return true
          }
          state.waiter = continuation
          return false
        }
        if isOver { continuation.resume() }
      }
    } onCancel: {
      let waiter = state.withLock { state in
        defer { state.waiter = nil }
        if state.waiter == nil { state.isWaitCancelled = true }
        return state.waiter
      }
      waiter?.resume()
    }
  }

  /// Waits until the response is complete, has failed or was cancelled, but no longer than `time`. Returns
  /// false after this time.
  func hasNews(within time: Duration) async -> Bool {
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await self.waitForNews() }
      group.addTask { try? await Task.sleep(for: time) }
      await group.next()
      group.cancelAll()
    }
    return state.withLock { state in
      state.isWaitCancelled = false
      return state.hasNews
    }
  }

  private enum ReadResult {
    case whole(length: Int, tag: String)
    case failure(WebError)
    case gone
    case nothing
  }

  private var taken: ReadResult {
    state.withLock { state in
      if let failure = state.failure { return .failure(failure) }
      if state.isCancelled { return .gone }
      return state.tag.map { .whole(length: state.length, tag: $0) } ?? .nothing
    }
  }

  /// Waits until the response is complete.
  /// - Returns: the response's size in bytes, and its tag.
  /// - Throws: `WebError` for a failure of the reader, `CancellationError` if the task was cancelled.
  package func whole() async throws -> (length: Int, tag: String) {
    while true {
      switch taken {
      case .whole(let length, let tag): return (length, tag)
      case .failure(let failure): throw failure
      case .gone: throw CancellationError()
      case .nothing:
        try Task.checkCancellation()
        await waitForNews()
      }
    }
  }

  /// Returns the next piece; nil at the end.
  /// - Throws: `CancellationError` if the response was cancelled to give its space to another one, because
  ///   the client did not read it in time.
  package func next() throws -> ByteBuffer? {
    let piece = try state.withLock { state in
      if state.isCancelled { throw CancellationError() }
      return state.pieces.isEmpty ? nil : state.pieces.removeFirst()
    }
    if let piece { budget.release(self, piece.readableBytes) }
    return piece
  }
}

/// An owner that cancels a pipe when its request is gone.
final class PipeOwner: Sendable {
  let pipe: AnswerPipe

  init(_ pipe: AnswerPipe) { self.pipe = pipe }

  deinit { pipe.cancel() }
}
