import Platform
import Testing

@Suite struct BoundedQueueTests {
  @Test func keepsOrderAndDropsTheOldestWhenFull() {
    let queue = BoundedQueue<Int>(capacity: 3)
    for value in 1...5 { queue.push(value) }
    queue.close()
    var seen: [Int] = []
    while case .element(let value) = queue.pop(until: nil) { seen.append(value) }
    #expect(seen == [3, 4, 5])
    #expect(queue.overflowCount == 2)
  }

  @Test func handsOverBetweenThreads() throws {
    let queue = BoundedQueue<Int>(capacity: 10_000)
    let producer = try DedicatedThread.start(name: "producer") {
      for value in 0..<10_000 { queue.push(value) }
      queue.close()
    }
    var expected = 0
    while case .element(let value) = queue.pop(until: nil) {
      #expect(value == expected)
      expected += 1
    }
    producer.join()
    #expect(expected == 10_000)
    #expect(queue.overflowCount == 0)
  }

  @Test func aWaitEndsAtItsDeadlineOrWithTheQueue() {
    let queue = BoundedQueue<Int>(capacity: 1)
    guard case .timedOut = queue.pop(until: .after(0.001)) else {
      Issue.record("an empty queue must time out")
      return
    }
    queue.close()
    queue.push(1)
    guard case .closed = queue.pop(until: nil) else {
      Issue.record("a closed queue must refuse values")
      return
    }
  }
}
