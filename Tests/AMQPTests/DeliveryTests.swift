import AMQP
import Platform
import Simulation
import TestSupport
import Testing

struct DeliveryTests {
  @Test(arguments: [
    ("odograph/v1/+/+/#", "odograph.v1.*.*.#"), ("#", "#"), ("+", "*"), ("a//b", "a..b"), ("/a", ".a"),
    ("odograph/v1/acme/van-1/location", "odograph.v1.acme.van-1.location"),
  ])
  func makesPatterns(_ filter: String, _ pattern: String) throws {
    #expect(try RoutingKey.pattern(for: filter) == pattern)
  }

  @Test(arguments: [
    ("", "1 to 255"), ("a/#/b", "at the end"), ("a/b.c", "two levels"), ("a/b*", "wildcard"),
    ("a+/b", "whole level"),
    ("a/b#", "whole level"), (String(repeating: "a/", count: 128) + "b", "1 to 255"),
  ])
  func refusesUnsupportedFilters(_ filter: String, _ cause: String) {
    let error = #expect(throws: OperationError.self) { try RoutingKey.pattern(for: filter) }
    #expect(error?.description.contains(cause) == true, "\(error?.description ?? "")")
  }

  @Test func makesTopics() {
    #expect(
      RoutingKey.topic(of: "odograph.v1.acme.van-1.location.event") == "odograph/v1/acme/van-1/location/event"
    )
    #expect(RoutingKey.topic(of: "") == "" && RoutingKey.topic(of: "é..b") == "é//b")
    // The plugin accepts characters that MQTT forbids and that no database stores as text.
    #expect(RoutingKey.topic(of: "a.b\0.c") == "a/b\u{FFFD}/c")
  }

  @Test func growsWithTheCommit() {
    var window = PrefetchWindow(most: 4000, bound: 10_000)
    #expect(window.size == 250)
    var sizes: [Int] = []
    while window.acknowledged(window.size, bytes: 300 * window.size, rest: 0) { sizes.append(window.size) }
    #expect(sizes == [500, 1000, 2000, 4000])
    let few = window.acknowledged(1, bytes: 300, rest: 0)
    #expect(!few && window.size == 4000)
    var small = PrefetchWindow(most: 10, bound: 10)
    let grew = small.acknowledged(10, bytes: 3000, rest: 0)
    #expect(small.size == 10 && !grew)
    var idle = PrefetchWindow(most: 4000, bound: 10_000)
    let grewIdle = idle.acknowledged(124, bytes: 0, rest: 126)
    #expect(!grewIdle && idle.size == 250)
    #expect(
      PrefetchWindow(most: .max, bound: 1).most == 65_535 && PrefetchWindow(most: -1, bound: 1).size == 1)
  }

  /// Large messages reduce the window, and small ones restore it.
  @Test func windowsDependOnBytesToo() {
    var window = PrefetchWindow(most: 4000, bound: 10_000)
    let isSmaller = window.acknowledged(100, bytes: 100 << 20, rest: 0)
    #expect(isSmaller && window.size == 16)
    let isSame = window.acknowledged(16, bytes: 16 << 20, rest: 0)
    #expect(!isSame && window.size == 16)
    var sizes: [Int] = []
    while window.acknowledged(window.size, bytes: 1000 * window.size, rest: 0) { sizes.append(window.size) }
    #expect(sizes.first == 32 && window.size == 4000)
    let isLarger = window.acknowledged(4000, bytes: 4000 * 4096, rest: 0)
    #expect(!isLarger && window.size == 4000)
  }

  /// Model of a broker that always sends as many messages as it may. Each larger window belongs to another consumer, and the messages
  /// that were sent to former consumers are added.
  @Test(arguments: [1, 250, 500, 600, 4000, 10_000, 100_000])
  func neverExceedsTheBuffer(bound: Int) {
    var generator = SeededGenerator.announced()
    var largest = 0
    for _ in 0..<50 {
      var window = PrefetchWindow(most: min(4000, bound), bound: bound)
      // Unacknowledged messages of former consumers and of this one, and the number of read messages of all.
      var (former, own, read) = (0, window.size, 0)
      for _ in 0..<200 {
        read = Int.random(in: read...former + own, using: &generator)
        let count = Int.random(in: 0...read, using: &generator)
        guard count > 0 else { continue }
        read -= count
        let ofFormer = min(former, count)
        (former, own) = (former - ofFormer, own - (count - ofFormer))
        own = window.size
        if window.acknowledged(count, bytes: 0, rest: read) { (former, own) = (former + own, window.size) }
        largest = max(largest, former + own)
      }
    }
    #expect(largest <= max(bound, 1), "\(largest)")
  }

  /// Comparison with a simple model: batches settled in random order, channels that close, and the acknowledgements.
  @Test func acknowledgesOnlyWhatIsSettled() {
    var generator = SeededGenerator.announced()
    for _ in 0..<200 {
      var ledger = DeliveryLedger()
      var model: [(number: UInt64, tag: UInt64, count: Int)] = []
      var (number, tag, settled) = (UInt64(0), UInt64(0), UInt64(0))
      for _ in 0..<100 {
        switch Int.random(in: 0..<10, using: &generator) {
        case 0..<5:
          let count = Int.random(in: 1...500, using: &generator)
          (number, tag) = (number + UInt64.random(in: 1...3, using: &generator), tag + UInt64(count))
          ledger.held(number, tag: tag, count: count, bytes: 2 * count)
          model.append((number, tag, count))
        case 5..<8:
          let through = UInt64.random(in: 0...number + 1, using: &generator)
          settled = max(settled, through)
          ledger.settle(through: through)
        case 8:
          // Another channel: the number of an old batch settles none of its messages.
          (ledger, model, tag) = (DeliveryLedger(), [], 0)
          ledger.settle(through: settled)
        default: break
        }
        let done = model.prefix { $0.number <= settled }
        let due = ledger.due()
        #expect(due.map { $0.bytes == 2 * $0.count } ?? true)
        #expect(due?.tag == done.last?.tag && due?.count ?? 0 == done.reduce(0) { $0 + $1.count })
        model.removeFirst(done.count)
        #expect(ledger.unacknowledged == model.reduce(0) { $0 + $1.count })
      }
    }
  }
}
