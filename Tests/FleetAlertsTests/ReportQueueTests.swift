import Fleet
import FleetAlerts
import FleetFixtures
import Platform
import Spatial
import Testing

/// Reports that arrive faster than the alerts' thread handles them.
@Suite struct ReportQueueTests {
  private func key(_ number: Int) -> VehicleKey { VehicleKey(fleet: "demo", vehicle: "van-\(number)") }

  /// Returns a full queue with `stateLimit` states of one vehicle.
  private func full() -> ReportQueue {
    var queue = ReportQueue()
    for index in 0..<ReportQueue.stateLimit { queue.add(battery(0.5, at: Double(index) * 0.001)) }
    return queue
  }

  @Test func theNewestStateOfEachVehicleIsStored() {
    var queue = full()
    for index in 0..<50_000 {
      queue.add(battery(Double(index), at: 100 + Double(index) * 0.001, of: key(index % 100)))
    }
    let reports = queue.inOrder
    #expect(reports.count == ReportQueue.stateLimit + 100)
    #expect(queue.dropped == 50_000 - 100)
    #expect(reports.suffix(100).map(\.battery) == (49_900..<50_000).map { Double($0) })
    #expect(zip(reports, reports.dropFirst()).allSatisfy { $0.at.timestamp <= $1.at.timestamp })
  }

  /// A position does not replace a status.
  @Test func topicsAreSeparate() {
    var queue = full()
    queue.add(battery(0.1, at: 100))
    queue.add(facts(.position, at: 101) { $0.speed = 30 })
    queue.add(facts(.position, at: 102) { $0.speed = 31 })
    #expect(queue.inOrder.suffix(2).map(\.topic) == [.status, .position])
    #expect(queue.inOrder.last?.speed == 31 && queue.dropped == 1)
  }

  @Test func eventsAndRemovalsAreNotReplaced() {
    var queue = full()
    queue.add(battery(0.1, at: 100, of: key(1)))
    for index in 0..<10 { queue.add(facts(.event, at: 101 + Double(index), of: key(1))) }
    queue.add(facts(.removal, at: 120, of: key(1)))
    // A state from before a removal does not add the vehicle again.
    #expect(
      queue.inOrder.dropFirst(ReportQueue.stateLimit).map(\.topic) == Array(repeating: .event, count: 10) + [
        .removal
      ])
    #expect(queue.dropped == 0)
  }

  @Test func theSizeIsBounded() {
    var queue = ReportQueue()
    let count = ReportQueue.eventLimit + 10
    for index in 0..<count { queue.add(facts(.event, at: Double(index))) }
    for index in 0..<ReportQueue.stateLimit + 5 { queue.add(battery(0.5, at: 0, of: key(index))) }
    #expect(queue.inOrder.count == ReportQueue.eventLimit + ReportQueue.stateLimit && queue.dropped == 15)
    #expect(!queue.isEmpty)
  }

  /// The service accepts reports on the thread of the connection. Its own thread, which empties the queue, is not started here.
  @Test func aBusyServiceAcceptsReportsWithoutWaiting() {
    var settings = AlertSettings(store: "unused")
    settings.rules = [rule(.battery(below: 0.2, until: 0.3))]
    let service = AlertService(settings) { _ in }
    for index in 0..<ReportQueue.stateLimit + 100 { service.observe(battery(0.5, at: Double(index))) }
    let reports = service.inbox.withLock { $0.reports }
    #expect(reports.inOrder.count == ReportQueue.stateLimit + 1 && reports.dropped == 99)
  }
}
