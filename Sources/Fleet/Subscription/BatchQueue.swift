internal import Glibc
package import MQTT
internal import Platform

/// What was received and waits to be consumed, and what was consumed and is not yet stored.
///
/// Batches are numbered as they come. `settled` is told, in order, up to which number everything is stored, whatever
/// the order in which a consumer stores them. One consumer at a time.
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
    /// First and last numbers of what consumers hold.
    var outstanding: [(first: UInt64, last: UInt64)] = []
    var isFinished = false
    var problem: FleetError?
    var consumer: CheckedContinuation<Void, Never>?
  }

  package enum Arrival: Sendable {
    /// - Parameter isExhausted: no more came for a while.
    case batch(FleetBatch, isExhausted: Bool)
    /// Nothing within the time.
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

  /// Takes in a batch, which may be empty; returns its number.
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

  /// Nothing more will come. What waits is still handed out.
  package func finish(_ problem: FleetError? = nil) {
    let consumer = state.withLock { state in
      state.isFinished = true
      if state.problem == nil { state.problem = problem }
      return take(&state.consumer)
    }
    arrived.signal()
    consumer?.resume()
  }

  /// Leaves out what waits, as its broker sends it again. What consumers hold is theirs, and comes a second time.
  package func dropWaiting() {
    state.withLock { state in
      guard let first = state.waiting.first, let last = state.waiting.last else { return }
      // The numbers are settled as those of batches of nothing are.
      state.waiting = [first.number, last.number].map { Waiting(number: $0, messages: []) }
      if first.number == last.number { state.waiting.removeLast() }
      (state.messages, state.receivedAt) = (0, nil)
    }
  }

  /// How many messages wait.
  package var count: Int { state.withLock { $0.messages } }

  /// Waits on the calling thread, which must not be one of the cooperative pool.
  /// - Parameters:
  ///   - enough: this many messages are not waited beyond.
  ///   - linger: seconds to wait for more, from the first on, so that one commit takes many.
  ///   - pause: seconds without an arrival after which waiting for more is pointless.
  package func next(enough: Int, linger: Double, pause: Double, limit: Double) -> Arrival {
    let end = SystemClock.monotonic + Int64(limit * 1e9)
    while count == 0 {
      // Something may have come since the look; only a batch of nothing settles itself.
      if let batch = drain() {
        if !batch.messages.isEmpty { return .batch(batch, isExhausted: false) }
        batch.acknowledge()
      }
      if state.withLock({ $0.isFinished && $0.messages == 0 }) { return .finished }
      let left = Double(end - SystemClock.monotonic) * 1e-9
      if left <= 0 { return .nothing }
      _ = arrived.wait(seconds: left)
    }
    let lingerEnd = SystemClock.monotonic + Int64(linger * 1e9)
    var isExhausted = false
    while !isExhausted, count < enough, SystemClock.monotonic < lingerEnd {
      isExhausted = !arrived.wait(seconds: pause)
    }
    return drain().map { .batch($0, isExhausted: isExhausted) } ?? .nothing
  }

  /// The next batch; nil when there will be none.
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

  /// All that waits as one batch; it may be empty of messages. nil when nothing waits.
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

  /// The batch that begins with this number is stored. A second time changes nothing.
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
