internal import Platform

/// A value to wait for, with a time limit and without blocking a thread.
final class TimedReply<Value: Sendable>: Sendable {
  private enum State {
    case open
    case awaited(CheckedContinuation<Value?, Never>)
    case over(Value?)
  }

  private let state = Locked(State.open)

  /// Ends the wait with a value, or without one (nil); only the first call has an effect.
  func resolve(_ value: Value?) {
    let waiting = state.withLock { state -> CheckedContinuation<Value?, Never>? in
      switch state {
      case .open: state = .over(value)
      case .awaited(let continuation):
        state = .over(value)
        return continuation
      case .over: break
      }
      return nil
    }
    waiting?.resume(returning: value)
  }

  /// Returns the value; nil after the time limit or a cancellation. Call it once.
  func value(within seconds: Double) async -> Value? {
    let timer = Task {
      try? await Task.sleep(for: .seconds(seconds))
      if !Task.isCancelled { resolve(nil) }
    }
    defer { timer.cancel() }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isOver = state.withLock { state -> Bool in
          if case .over = state { return true }
          state = .awaited(continuation)
          return false
        }
        guard isOver else { return }
        continuation.resume(
          returning: state.withLock { if case .over(let value) = $0 { value } else { nil } })
      }
    } onCancel: {
      resolve(nil)
    }
  }
}
