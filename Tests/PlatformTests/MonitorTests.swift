import Platform
import Testing

@Suite struct MonitorTests {
  @Test func handsOverBetweenThreads() throws {
    let monitor = Monitor<[Int]>([])
    let producer = try DedicatedThread.start(name: "producer") {
      for value in 0..<10_000 { monitor.update { $0.append(value) } }
    }
    var seen: [Int] = []
    while seen.count < 10_000 {
      seen +=
        monitor.wait(until: nil) { values in
          defer { values = [] }
          return values.isEmpty ? nil : values
        } ?? []
    }
    producer.join()
    #expect(seen == Array(0..<10_000))
  }

  @Test func aWaitEndsAtItsDeadline() {
    let monitor = Monitor(0)
    let deadline = MonotonicTime.after(0.001)
    #expect(monitor.wait(until: deadline) { $0 == 1 ? $0 : nil } == nil)
    #expect(deadline.hasPassed)
    // An existing value is found although the deadline has passed.
    monitor.update { $0 = 1 }
    #expect(monitor.wait(until: .start) { $0 == 1 ? $0 : nil } == 1)
    #expect(monitor.withLock { $0 } == 1)
  }
}
