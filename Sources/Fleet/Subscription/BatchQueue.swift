internal import Glibc
package import MQTT
internal import Platform

/// A queue between receiving messages and storing them. It contains the received batches that wait for the
/// consumer, and tracks the batches that the consumer has not stored yet.
///
/// Batches are numbered in order of arrival. `settled` is called with the number up to which all batches are
/// stored, in ascending order, even if the consumer stores them in another order. There can be one consumer
/// at a time.
package final class BatchQueue: Sendable {
  private struct Waiting {
    var number: UInt64
    var messages: [MQTTMessage]
  }

  private struct State {
    var lastNumber: UInt64 = 0
    var waiting: [Waiting] = []
    var messages = 0
    var receivedAt: Moment?
    /// The first and last numbers of the batches that the consumer has received but not acknowledged.
    var outstanding: [(first: UInt64, last: UInt64)] = []
    var isFinished = false
    var problem: FleetError?
    var consumer: CheckedContinuation<Void, Never>?
  }

  package enum Arrival: Sendable {
    /// The next batch.
    ///
    /// - Parameter isExhausted: true if no more messages arrived for a while before it was returned.
    case batch(FleetBatch, isExhausted: Bool)
    /// The time limit was over before a message arrived.
    case nothing
    case finished
  }

  private let state = Locked(State())
  private let arrived: EventDescriptor
  private let settled: @Sendable (UInt64) -> Void

  package init(settled: @escaping @Sendable (UInt64) -> Void) throws(FleetError) {
    self.settled = settled
    do throws(SystemError) { arrived = try EventDescriptor() } catch { throw FleetError(error) }
  }

  /// Appends a batch, which can be empty, and returns its number.
  package func push(_ messages: [MQTTMessage], at moment: Moment) -> UInt64 {
    let (number, consumer) = state.withLock { state in
      state.lastNumber += 1
      state.waiting.append(Waiting(number: state.lastNumber, messages: messages))
      state.messages += messages.count
      if state.receivedAt == nil { state.receivedAt = moment }
      return (state.lastNumber, take(&state.consumer))
    }
    arrived.signal()
    consumer?.resume()
    return number
  }

  /// Ends the queue; batches that wait are still delivered.
  /// - Parameter problem: the error for the consumer; nil for a normal end.
  package func finish(_ problem: FleetError? = nil) {
    let consumer = state.withLock { state in
      state.isFinished = true
      if state.problem == nil { state.problem = problem }
      return take(&state.consumer)
    }
    arrived.signal()
    consumer?.resume()
  }

  /// Drops the batches that wait for the consumer, because the broker sends their messages again. Messages
  /// that the consumer has already received, and not acknowledged, will arrive a second time.
  package func dropWaiting() {
    state.withLock { state in
      guard let first = state.waiting.first, let last = state.waiting.last else { return }
      // The numbers of dropped batches remain in the queue as empty batches, which count as stored when their
      // turn comes.
      state.waiting = [first.number, last.number].map { Waiting(number: $0, messages: []) }
      if first.number == last.number { state.waiting.removeLast() }
      (state.messages, state.receivedAt) = (0, nil)
    }
  }

  /// The number of messages that wait for the consumer.
  package var count: Int { state.withLock { $0.messages } }

  /// Blocks the calling thread until a batch is available; must not be called on the cooperative pool.
  /// - Parameters:
  ///   - enough: the number of messages from which the batch is returned immediately.
  ///   - linger: the maximum time in s to wait for more messages after the first one, so that one commit
  ///     stores many.
  ///   - pause: the time in s without new messages after which the batch is returned before `linger` is over.
  ///   - limit: the maximum time in s to wait for the first message.
  package func next(enough: Int, linger: Double, pause: Double, limit: Double) -> Arrival {
    let end = MonotonicTime.after(limit)
    while count == 0 {
      // A batch without messages is acknowledged here. Messages can have arrived since the count was checked;
      // such a batch is returned.
      if let batch = drain() {
        if !batch.messages.isEmpty { return .batch(batch, isExhausted: false) }
        batch.acknowledge()
      }
      if state.withLock({ $0.isFinished && $0.messages == 0 }) { return .finished }
      let left = end.secondsRemaining
      if left <= 0 { return .nothing }
      _ = arrived.wait(seconds: left)
    }
    let lingerEnd = MonotonicTime.after(linger)
    var isExhausted = false
    while !isExhausted, count < enough, !lingerEnd.hasPassed {
      isExhausted = !arrived.wait(seconds: pause)
    }
    return drain().map { .batch($0, isExhausted: isExhausted) } ?? .nothing
  }

  /// Returns the next batch; nil at the end of the queue, and if the task is cancelled.
  package func next() async throws(FleetError) -> FleetBatch? {
    while !Task.isCancelled {
      if let batch = drain() {
        if !batch.messages.isEmpty { return batch }
        batch.acknowledge()
        continue
      }
      let (isFinished, problem) = state.withLock { ($0.isFinished, $0.problem) }
      if let problem { throw problem }
      if isFinished { return nil }
      await withTaskCancellationHandler {
        await withCheckedContinuation { continuation in
          let isReady = state.withLock { state in
            guard state.waiting.isEmpty, !state.isFinished, !Task.isCancelled else { return true }
            state.consumer = continuation
            return false
          }
          if isReady { continuation.resume() }
        }
      } onCancel: {
        state.withLock { take(&$0.consumer) }?.resume()
      }
    }
    return nil
  }

  /// Returns all messages that wait as one batch, which can be empty; nil if no batch waits.
  private func drain() -> FleetBatch? {
    state.withLock { state in
      guard let first = state.waiting.first, let last = state.waiting.last else { return nil }
      var messages = first.messages
      if state.waiting.count > 1 {
        messages.reserveCapacity(state.messages)
        for waiting in state.waiting.dropFirst() { messages += waiting.messages }
      }
      let numbers = (first: first.number, last: last.number)
      let receivedAt = state.receivedAt ?? .now
      state.outstanding.append(numbers)
      state.waiting.removeAll(keepingCapacity: true)
      (state.messages, state.receivedAt) = (0, nil)
      return FleetBatch(messages: messages, receivedAt: receivedAt) { [self] in acknowledge(numbers.first) }
    }
  }

  /// Marks the batch that starts with this number as stored; repeated calls have no effect.
  private func acknowledge(_ first: UInt64) {
    let through: UInt64? = state.withLock { state in
      guard let index = state.outstanding.firstIndex(where: { $0.first == first }) else { return nil }
      let last = state.outstanding.remove(at: index).last
      guard let oldest = state.outstanding.first?.first else {
        return state.waiting.first.map { $0.number - 1 } ?? max(last, state.lastNumber)
      }
      return oldest - 1
    }
    if let through { settled(through) }
  }
}

private func take<Value>(_ value: inout Value?) -> Value? {
  defer { value = nil }
  return value
}
