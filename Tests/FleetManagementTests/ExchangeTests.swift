import Fleet
import FleetManagement
import Testing

@Suite struct ExchangeTests {
  /// A command never continues with incomplete data.
  @Test func anOverflowFailsTheNextRead() throws {
    var queue = EventQueue<Int>(capacity: 2)
    queue.append(1)
    #expect(try queue.next() == 1 && queue.next() == nil)
    queue.append(2)
    queue.append(3)
    queue.putBack([0])
    #expect(try queue.next() == 0)
    queue.append(4)
    let error = try #require(throws: FleetError.self) { try queue.next() }
    #expect(error.kind == .unavailable && error.cause.contains("1 messages exceeded the queue limit"))
  }

  /// A given timeout applies unchanged, even a short one.
  @Test func timeoutsApplyUnchanged() {
    for seconds in [0.1, 1, 14.9, 15, 60, 86_400] {
      #expect(VehicleRequests.timeLimit(timeout: seconds) == seconds)
    }
    #expect(VehicleRequests.timeLimit(timeout: 0) == 15)
  }
}
