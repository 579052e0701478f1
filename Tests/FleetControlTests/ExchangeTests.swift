import Fleet
import Testing

@testable import FleetControl

@Suite struct ExchangeTests {
  /// A part is never taken for the whole.
  @Test func whatFindsNoRoomEndsTheCommand() throws {
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

  /// Table: a time that somebody gives holds, however short.
  @Test func timeoutsHold() {
    for seconds in [0.1, 1, 14.9, 15, 60, 86_400] {
      #expect(VehicleRequests.timeLimit(timeout: seconds) == seconds)
    }
    #expect(VehicleRequests.timeLimit(timeout: 0) == 15)
  }

  @Test func everybodyIsMeantOnlyWhenItIsSaid() throws {
    var targets = VehicleTargets(root: "odograph/v1", fleets: [], vehicles: [])
    let error = try #require(throws: FleetError.self) { try targets.requireChoice() }
    #expect(error.kind == .invalidInput)
    for remedy in ["--fleet", "--vehicle", "--every-vehicle"] { #expect(error.cause.contains(remedy)) }
    targets.meansEveryVehicle = true
    #expect(throws: Never.self) { try targets.requireChoice() }
    for (fleets, vehicles) in [(["f"], []), ([], ["v"]), (["f"], ["v"])] {
      let named = VehicleTargets(root: "odograph/v1", fleets: fleets, vehicles: vehicles)
      #expect(throws: Never.self) { try named.requireChoice() }
    }
  }
}
