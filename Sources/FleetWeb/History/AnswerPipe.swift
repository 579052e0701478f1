internal import NIOCore
internal import Platform

/// What a reader's thread writes and a request takes when it is whole. The thread waits for no client; what waits for clients is
/// bounded by `AnswerBudget`. It is given up from either end.
final class AnswerPipe: Sendable {
  private struct State: Sendable {
    var pieces: [ByteBuffer] = []
    /// Bytes of all pieces, also of those that were taken.
    var length = 0
    /// Of the whole, once it is.
    var tag: String?
    var failure: WebError?
    /// The request is gone.
    var isCancelled = false
    /// Resumed once when something has come, or the task that waits is cancelled.
    var waiter: CheckedContinuation<Void, Never>?
    var isWaitCancelled = false

    var isFinished: Bool { tag != nil }
    var hasNews: Bool { isFinished || failure != nil || isCancelled }

    /// - Returns: bytes that nobody will take.
    mutating func drop() -> Int {
      defer { pieces = [] }
      return pieces.reduce(0) { $0 + $1.readableBytes }
    }
  }

  /// The login that it is for; nil where there is none.
  let asker: String?
  private let budget: AnswerBudget
  private let state = Locked(State())

  init(_ budget: AnswerBudget, asker: String? = nil) { (self.budget, self.asker) = (budget, asker) }

  // MARK: The reader's end

  var isCancelled: Bool { state.withLock { $0.isCancelled } }

  /// Hands a piece over.
  /// - Throws: `CancellationError` when nobody wants more, `WebError` when too much waits for clients.
  func put(_ piece: [UInt8]) throws {
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

  /// Nothing follows.
  /// - Parameter tag: tells this answer from another to the same question.
  func finish(tag: String) {
    change { state in
      state.tag = tag
      return 0
    }
  }

  /// What was handed over before is of no use.
  func fail(_ error: WebError) {
    change { state in
      guard !state.isFinished else { return 0 }
      state.failure = error
      return state.drop()
    }
  }

  /// - Parameter body: returns bytes that go.
  private func change(_ body: (inout State) -> Int) {
    let (waiter, gone) = state.withLock { state in
      let gone = body(&state)
      defer { state.waiter = nil }
      return (state.waiter, gone)
    }
    if gone > 0 { budget.release(self, gone) }
    waiter?.resume()
  }

  // MARK: The request's end

  /// The request is gone: the reader is to stop.
  func cancel() {
    change { state in
      state.isCancelled = true
      return state.drop()
    }
  }

  /// Waits for the whole, or a failure. Returns early when the task is cancelled.
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

  /// Whether that has come within a time.
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

  private enum Taken {
    case whole(length: Int, tag: String)
    case failure(WebError)
    case gone
    case nothing
  }

  private var taken: Taken {
    state.withLock { state in
      if let failure = state.failure { return .failure(failure) }
      if state.isCancelled { return .gone }
      return state.tag.map { .whole(length: state.length, tag: $0) } ?? .nothing
    }
  }

  /// Waits until all is there.
  /// - Returns: its bytes, and what tells it from another answer.
  /// - Throws: `WebError` for a failure of the reader, `CancellationError` when the task was cancelled.
  func whole() async throws -> (length: Int, tag: String) {
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

  /// The next piece of the whole; nil at the end.
  /// - Throws: `CancellationError` where others were given the room, as it was not taken for long.
  func next() throws -> ByteBuffer? {
    let piece = try state.withLock { state in
      if state.isCancelled { throw CancellationError() }
      return state.pieces.isEmpty ? nil : state.pieces.removeFirst()
    }
    if let piece { budget.release(self, piece.readableBytes) }
    return piece
  }
}

/// Cancels a pipe when whoever was to take from it is gone.
final class PipeOwner: Sendable {
  let pipe: AnswerPipe

  init(_ pipe: AnswerPipe) { self.pipe = pipe }

  deinit { pipe.cancel() }
}
