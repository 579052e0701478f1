import Fleet
import FleetFixtures
import FleetWeb
import JSON
import TestSupport
import Testing

/// Removed vehicles disappear from the table, the interface and every stream.
@Suite struct RemovalTests {
  private func changes(_ table: SummaryTable, since revision: UInt64) -> [String] {
    var found: [String] = []
    table.forEachChange(since: revision) {
      let entry = table.entries[$0]
      found.append((entry.isRemoved ? "-" : "+") + entry.key.vehicle)
    }
    return found.sorted()
  }

  @Test func theTableReportsRemovals() throws {
    var roster = Roster()
    var table = SummaryTable()
    for vehicle in ["a", "b", "c"] {
      roster.receive("location", locationJSON(48, at: 1), at: 1, vehicle: vehicle)
      roster.receive("status", statusJSON("offline", at: 1), at: 1, vehicle: vehicle)
    }
    table.update(from: roster, at: moment(2))
    let before = table.revision
    roster.receive("status", "", at: 3, vehicle: "a")
    roster.receive("location", "", at: 3, vehicle: "a")
    roster.receive("location", locationJSON(49, at: 3), at: 3, vehicle: "c")
    table.update(from: roster, at: moment(4))
    #expect(changes(table, since: before) == ["+c", "-a"])
    let gone = try #require(table.entries.first { $0.isRemoved })
    let json = try JSONValue(parsing: gone.json)
    #expect(json["removed"]?.bool == true && json["vehicle"]?.string == "a" && json["state"] == nil)
    let a = VehicleKey(fleet: "demo", vehicle: "a")
    #expect(table.place(of: a) == nil && table.purges == 0)
    // The vehicle returns: at the same index, and its absence is not reported.
    roster.receive("location", locationJSON(50, at: 5), at: 5, vehicle: "a")
    let away = table.revision
    table.update(from: roster, at: moment(6))
    #expect(changes(table, since: away) == ["+a"] && changes(table, since: 0) == ["+a", "+b", "+c"])
    #expect(table.place(of: a) != nil && table.entries.count == 3)
    // After a long absence its index is reused.
    roster.receive("status", statusJSON("offline", at: 7), at: 7, vehicle: "a")
    roster.receive("status", "", at: 8, vehicle: "a")
    roster.receive("location", "", at: 8, vehicle: "a")
    table.update(from: roster, at: moment(9))
    table.update(from: roster, at: moment(10 + SummaryTable.farewell))
    #expect(table.purges == 1 && changes(table, since: 0) == ["+b", "+c"])
    roster.receive("location", locationJSON(48, at: 9), at: 9, vehicle: "d")
    table.update(from: roster, at: moment(11 + SummaryTable.farewell))
    #expect(table.entries.count == 3 && changes(table, since: 0) == ["+b", "+c", "+d"])
  }

  /// A vehicle that returns while its removal expires has an entry of its own.
  @Test func aVehicleThatReturnsLateSharesNoEntry() {
    var roster = Roster()
    var table = SummaryTable()
    func send(_ vehicle: String, isThere: Bool, at time: Double) {
      roster.receive("location", isThere ? locationJSON(48, at: time) : "", at: time, vehicle: vehicle)
      roster.receive("status", isThere ? statusJSON("offline", at: time) : "", at: time, vehicle: vehicle)
    }
    for vehicle in ["a", "b"] { send(vehicle, isThere: true, at: 1) }
    table.update(from: roster, at: moment(1))
    send("a", isThere: false, at: 2)
    table.update(from: roster, at: moment(2))
    let late = 3 + SummaryTable.farewell
    send("a", isThere: true, at: late)
    send("b", isThere: false, at: late)
    table.update(from: roster, at: moment(late))
    send("c", isThere: true, at: late + 1)
    table.update(from: roster, at: moment(late + 1))
    #expect(changes(table, since: 0) == ["+a", "+c", "-b"])
  }

  /// Random additions and removals: a reader of all changes has the vehicles of the roster.
  @Test func aReaderOfAllChangesHasAllVehicles() {
    var random = SplitMix.announced()
    var roster = Roster()
    var table = SummaryTable()
    var known: Set<String> = []
    var revision: UInt64 = 0
    var time = 0.0
    for turn in 0..<1500 {
      time += Int.random(in: 0..<300, using: &random) == 0 ? 700 : 0.5
      let name = "v\(Int.random(in: 0..<40, using: &random))"
      if Int.random(in: 0..<3, using: &random) == 0 {
        roster.receive("status", "", at: time, vehicle: name)
        roster.receive("location", "", at: time, vehicle: name)
      } else {
        roster.receive("location", locationJSON(48, at: time), at: time, vehicle: name)
        roster.receive("status", statusJSON("offline", at: time), at: time, vehicle: name)
      }
      guard turn % 3 == 0 else { continue }
      table.update(from: roster, at: moment(time))
      table.forEachChange(since: revision) {
        let entry = table.entries[$0]
        if entry.isRemoved { known.remove(entry.key.vehicle) } else { known.insert(entry.key.vehicle) }
      }
      revision = table.revision
      #expect(known == Set(roster.vehicles.map(\.key.vehicle)))
      #expect(table.entries.count <= 41)
    }
  }

  @Test(.timeLimit(.minutes(2))) func streamsAndTheInterfaceReportRemovals() async throws {
    let web = try WebFixture()
    for vehicle in ["a", "b"] {
      web.locate(48, vehicle: vehicle)
      web.receive("status", statusJSON("offline", at: 0), vehicle: vehicle)
    }
    try await onThread {
      let stream = try EventReader(port: web.port, "?interval=0.1&selected=demo/a")
      _ = try stream.next("vehicles") { $0.json.vehicleNames.count == 2 }
      let narrow = try EventReader(port: web.port, "?interval=0.1&bounds=11,47,12,49")
      _ = try narrow.next("vehicles") { $0.json.vehicleNames.count == 2 }
      web.receive("status", "", vehicle: "a")
      web.receive("location", "", vehicle: "a")
      for reader in [stream, narrow] {
        let told = try reader.next("vehicles") { $0.json.vehicleNames == ["a"] }
        #expect(told?.json["vehicles"]?.array?.first?["removed"]?.bool == true)
      }
      // A client that reconnects after a short absence receives the removal, too.
      let again = try EventReader(port: web.port, "?interval=0.1")
      let told = try again.next("vehicles") { event in
        event.json["vehicles"]?.array?.contains { $0["removed"]?.bool == true } == true
      }
      #expect(told?.json.vehicleNames.contains("a") == true)
    }
    #expect(try await web.json("/api/v1/vehicles").vehicleNames == ["b"])
    #expect(try await web.json("/api/v1/positions")["features"]?.array?.count == 1)
    #expect(try await web.ask("GET", "/api/v1/vehicles/demo/a").status == 404)
    #expect(try await web.json("/api/v1/statistics")["vehicles"]?["offline"]?.integer == 1)
    // A late message adds the vehicle again.
    web.locate(50, vehicle: "a")
    #expect(try await web.json("/api/v1/vehicles").vehicleNames.sorted() == ["a", "b"])
  }
}
