import Fleet
import FleetFixtures
import MQTT
import Platform
import Testing

@Suite struct BatchQueueTests {
  private final class Settled: Sendable {
    private let numbers = Locked<[UInt64]>([])
    var all: [UInt64] { numbers.withLock { $0 } }
    func note(_ number: UInt64) { numbers.withLock { $0.append(number) } }
  }

  private func messages(_ count: Int) -> [MQTTMessage] {
    (0..<count).map { MQTTMessage(topic: "t", text: "\($0)", qos: .atLeastOnce) }
  }

  private func next(_ queue: BatchQueue) -> FleetBatch? {
    if case .batch(let batch, _) = queue.next(enough: 1, linger: 0, pause: 0, limit: 0) { batch } else { nil }
  }

  @Test func waitingMessagesAreReturnedTogether() throws {
    let settled = Settled()
    let queue = try BatchQueue { settled.note($0) }
    #expect(queue.push(messages(2), at: moment(0)) == 1)
    #expect(queue.push(messages(3), at: moment(1)) == 2)
    let batch = try #require(next(queue))
    #expect(batch.messages == messages(2) + messages(3) && batch.receivedAt == moment(0))
    #expect(settled.all.isEmpty)
    batch.acknowledge()
    batch.acknowledge()
    #expect(settled.all == [2])
    #expect(next(queue) == nil)
  }

  /// The broker sends all messages again after a disconnection. Batches that a consumer has are still settled by it.
  @Test func droppedBatchesAreRemoved() throws {
    let settled = Settled()
    let queue = try BatchQueue { settled.note($0) }
    _ = queue.push(messages(1), at: moment(0))
    let held = try #require(next(queue))
    for _ in 0..<5 { _ = queue.push(messages(7), at: moment(0)) }
    queue.dropWaiting()
    queue.dropWaiting()
    #expect(queue.count == 0 && next(queue) == nil)
    _ = queue.push(messages(2), at: moment(1))
    let again = try #require(next(queue))
    #expect(again.messages == messages(2) && again.receivedAt == moment(1))
    held.acknowledge()
    again.acknowledge()
    #expect(settled.all.last == 7)
  }

  @Test func aBatchIsSettledAfterAllBeforeIt() throws {
    let settled = Settled()
    let queue = try BatchQueue { settled.note($0) }
    var batches: [FleetBatch] = []
    for _ in 0..<3 {
      _ = queue.push(messages(1), at: moment(0))
      batches.append(try #require(next(queue)))
    }
    batches[1].acknowledge()
    #expect(settled.all == [0])
    batches[0].acknowledge()
    #expect(settled.all == [0, 2])
    _ = queue.push(messages(1), at: moment(0))
    batches[2].acknowledge()
    #expect(settled.all == [0, 2, 3])
  }

  /// A batch of duplicates only is acknowledged after the original messages, without the consumer.
  @Test func emptyBatchesAreSettledInTurn() async throws {
    let settled = Settled()
    let queue = try BatchQueue { settled.note($0) }
    _ = queue.push(messages(1), at: moment(0))
    let first = try #require(try await queue.next())
    _ = queue.push([], at: moment(0))
    queue.finish()
    #expect(try await queue.next() == nil)
    #expect(settled.all == [0])
    first.acknowledge()
    #expect(settled.all == [0, 2])
  }

  @Test(.timeLimit(.minutes(2))) func waitsForABatchAndEnds() async throws {
    let queue = try BatchQueue { _ in }
    async let received = queue.next()?.messages.count
    await Task.yield()
    _ = queue.push(messages(4), at: moment(0))
    #expect(try await received == 4)
    async let end = queue.next()
    await Task.yield()
    queue.finish()
    #expect(try await end == nil)
    await #expect(throws: FleetError.self) {
      let broken = try BatchQueue { _ in }
      broken.finish(.refused(filter: "a", reason: "no"))
      _ = try await broken.next()
    }
  }

  @Test(.timeLimit(.minutes(2))) func aCancelledConsumerReturns() async throws {
    let queue = try BatchQueue { _ in }
    let task = Task { try await queue.next() == nil }
    await Task.yield()
    task.cancel()
    #expect(try await task.value)
  }
}
