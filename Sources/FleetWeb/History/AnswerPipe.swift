internal import NIOCore
internal import Platform

/// What a reader's thread writes and a request takes: bounded, so that a slow client makes the reader wait and memory does
/// not grow; and given up from either end.
final class AnswerPipe: Sendable {
  private struct State: Sendable {
    var pieces: [ByteBuffer] = []
    var isFinished = false
    var failure: WebError?
    /// The request is gone.
    var isCancelled = false
    /// Resumed once when something has come, or the task that waits is cancelled.
    var waiter: CheckedContinuation<Void, Never>?
    var isWaitCancelled = false

    var hasNews: Bool { !pieces.isEmpty || isFinished || failure != nil || isCancelled }
  }

  /// Pieces that wait at most.
  private static let capacity = 4

  private let state = Monitor(State())

  // MARK: The reader's end

  var isCancelled: Bool { state.withLock { $0.isCancelled } }

  /// Hands a piece over, and waits for room.
  /// - Parameters:
  ///   - isLast: whether nothing follows.
  ///   - deadline: on `SystemClock.monotonic`, ns, after which nobody waits any more.
  /// - Returns: whether anybody wants more.
  func put(_ piece: [UInt8], isLast: Bool = false, until deadline: Int64) -> Bool {
    let hasRoom = state.wait(until: deadline) { state -> Bool? in
      state.isCancelled ? false : state.pieces.count < Self.capacity ? true : nil
    }
    guard hasRoom == true else { return false }
    change { state in
      state.pieces.append(ByteBuffer(bytes: piece))
      state.isFinished = isLast
    }
    return true
  }

  func finish() { change { $0.isFinished = true } }

  /// What was handed over before is still taken.
  func fail(_ error: WebError) {
    change { state in if !state.isFinished { state.failure = error } }
  }

  private func change(_ body: (inout State) -> Void) {
    let waiter = state.update { state in
      body(&state)
      defer { state.waiter = nil }
      return state.waiter
    }
    waiter?.resume()
  }

  // MARK: The request's end

  /// The request is gone: the reader is to stop.
  func cancel() {
    change { state in
      state.isCancelled = true
      state.pieces = []
    }
  }

  /// Waits for the first that comes. Returns early when the task is cancelled.
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

  /// Whether something has come within a time.
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
    case piece(ByteBuffer, isLast: Bool)
    case failure(WebError)
    case end
    case gone
    case nothing
  }

  private func take() -> Taken {
    state.update { state in
      if !state.pieces.isEmpty {
        let piece = state.pieces.removeFirst()
        return .piece(piece, isLast: state.pieces.isEmpty && state.isFinished)
      }
      if let failure = state.failure { return .failure(failure) }
      return state.isFinished ? .end : state.isCancelled ? .gone : .nothing
    }
  }

  /// The next piece, and whether it is known to be the last; nil at the end.
  /// - Throws: `WebError` for a failure of the reader, `CancellationError` when the task was cancelled.
  func next() async throws -> (piece: ByteBuffer, isLast: Bool)? {
    while true {
      switch take() {
      case .piece(let piece, let isLast): return (piece, isLast)
      case .failure(let failure): throw failure
      case .end: return nil
      case .gone: throw CancellationError()
      case .nothing:
        try Task.checkCancellation()
        await waitForNews()
      }
    }
  }
}

/// Cancels a pipe when whoever was to take from it is gone.
final class PipeOwner: Sendable {
  let pipe: AnswerPipe

  init(_ pipe: AnswerPipe) { self.pipe = pipe }

  deinit { pipe.cancel() }
}
