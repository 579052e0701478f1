import Positioning
import Sensors
import Spatial
import Testing

/// Sets of regions that are replaced, rejected, and restored after a restart.
@Suite struct RegionReplacementTests {
  private let plane = PlaneTrack()

  private func square(_ identifier: String, _ east: ClosedRange<Double>, dwell: Double? = nil) -> Region {
    Region(identifier: identifier, rings: [plane.rectangle(east)], dwell: dwell)
  }

  @Test func replacedRegionKeepsItsState() throws {
    var monitor = RegionMonitor()
    try monitor.add(square("a", 100...500, dwell: 100))
    #expect(monitor.run(plane, drive(from: 0, to: 300, speed: 10)) == ["enter a 10.0"])
    // The same shape again: its state is unchanged.
    try monitor.add(square("a", 100...500, dwell: 60))
    #expect(monitor.count == 1 && monitor.state(of: "a") == .inside)
    #expect(monitor.run(plane, parked(at: 300, 31...80)) == ["dwell a 70.0"])
    // Another shape around the vehicle: no new entry.
    try monitor.add(square("a", 200...400))
    #expect(monitor.run(plane, parked(at: 300, 81...90)) == [])
    // A shape elsewhere: an exit without a crossing, and an entry at its boundary.
    try monitor.add(square("a", 1000...1400))
    #expect(monitor.run(plane, parked(at: 300, 91...95)) == ["exit a 91.0"])
    #expect(monitor.run(plane, drive(from: 300, to: 1200, speed: 10, at: 100)) == ["enter a 170.0"])
    monitor.remove("a")
    monitor.remove("never was")
    #expect(monitor.count == 0 && monitor.state(of: "a") == nil)
    #expect(monitor.run(plane, drive(from: 1200, to: 0, speed: 10, at: 300)) == [])
  }

  @Test func movedShapeOverTheVehicleIsAnEntry() throws {
    var monitor = RegionMonitor()
    try monitor.add(square("a", 100...500))
    #expect(monitor.run(plane, drive(from: 0, to: 50, speed: 10)) == [])
    try monitor.add(square("a", 0...500))
    #expect(monitor.run(plane, drive(from: 60, to: 90, speed: 10, at: 6)) == ["enter a 6.0"])
    // A new region around the vehicle causes no entry, as no boundary was crossed.
    try monitor.add(square("b", 0...500))
    #expect(monitor.run(plane, drive(from: 100, to: 120, speed: 10, at: 10)) == [])
    #expect(monitor.state(of: "b") == .inside)
  }

  @Test func replacedSetKeepsUnchangedRegions() throws {
    var monitor = RegionMonitor()
    monitor.replaceAll([square("a", 100...500), square("b", 200...500), square("c", 600...700)])
    #expect(monitor.run(plane, drive(from: 0, to: 300, speed: 10)) == ["enter a 10.0", "enter b 20.0"])
    let acceptance = monitor.replaceAll([
      square("c", 600...700), square("d", 800...900), square("b", 200...500),
    ])
    #expect(acceptance.accepted == ["c", "d", "b"] && acceptance.refused.isEmpty)
    #expect(monitor.state(of: "a") == nil && monitor.state(of: "b") == .inside)
    #expect(
      monitor.run(plane, drive(from: 310, to: 1000, speed: 10, at: 31)) == [
        "exit b 50.0", "enter c 60.0", "exit c 70.0", "enter d 80.0", "exit d 90.0",
      ])
  }

  @Test func invalidRegionsAreReportedAndOthersMonitored() {
    let bowTie = [plane.place(0, 0), plane.place(100, 100), plane.place(100, 0), plane.place(0, 100)]
    let regions = [
      square("good", 600...700), square("good", 100...500), Region(identifier: "", rings: [bowTie]),
      Region(identifier: "bow tie", rings: [bowTie]),
      Region(identifier: "line", rings: [[plane.place(0, 0), plane.place(50, 0), plane.place(100, 0)]]),
      Region(identifier: "two", rings: [[plane.place(0, 0), plane.place(50, 0)]]),
      Region(identifier: "none", shape: .polygon([])),
      Region(
        identifier: "infinite",
        rings: [[plane.place(0, 0), plane.place(50, 0), Coordinate(latitude: .infinity, longitude: 0)]]),
      Region(identifier: "zero", center: plane.origin, radius: 0),
      Region(identifier: "negative", center: plane.origin, radius: -5),
      Region(identifier: "nan", center: plane.origin, radius: .nan),
      Region(identifier: "huge", center: plane.origin, radius: 1.2e7),
      Region(identifier: "nowhere", center: Coordinate(latitude: 91, longitude: 0), radius: 5),
      square("impatient", 0...10, dwell: 0), square("endless", 0...10, dwell: .infinity),
      Region(identifier: "disc", center: plane.place(300, 0), radius: 50),
    ]
    var monitor = RegionMonitor()
    let acceptance = monitor.replaceAll(regions)
    #expect(acceptance.accepted == ["good", "disc"])
    #expect(acceptance.refused.map(\.index) == [0] + Array(2...14))
    let reasons = acceptance.refused.map(\.reason)
    #expect(reasons[0] == .duplicateIdentifier && reasons[1] == .emptyIdentifier)
    if case .polygon(.selfCrossing) = reasons[2] {} else { Issue.record("\(reasons[2])") }
    #expect(reasons[3] == .polygon(.zeroArea(ring: 0)) && reasons[4] == .polygon(.tooFewVertices(ring: 0)))
    #expect(reasons[5] == .polygon(.noRing))
    #expect(reasons[6] == .polygon(.invalidCoordinate(ring: 0, vertex: 2)))
    #expect(reasons[7] == .invalidRadius(0) && reasons[8] == .invalidRadius(-5))
    #expect(reasons[10] == .invalidRadius(1.2e7) && reasons[11] == .invalidCenter)
    #expect(reasons[12] == .invalidDwell(0) && reasons[13] == .invalidDwell(.infinity))
    for refusal in acceptance.refused { #expect("\(refusal.reason)".count > 20) }
    #expect(
      monitor.run(plane, drive(from: 0, to: 600, speed: 10)) == [
        "enter good 10.0", "enter disc 25.0", "exit disc 35.0", "exit good 50.0",
      ])
    #expect(throws: RegionError.emptyIdentifier) { try monitor.add(Region(identifier: "", rings: [])) }
    #expect(monitor.count == 2)
  }

  // MARK: Restart

  /// Events of the first fixes after a restart, given the regions before and after it and the vehicle's position.
  @Test(arguments: [
    ("nothing happened", 300.0, ["inner", "outer"], [String]()),
    ("left both", 2000, ["inner", "outer"], ["exit inner 5000.0 late", "exit outer 5000.0 late"]),
    ("left one", 700, ["inner", "outer"], ["exit inner 5000.0 late"]),
    (
      "entered another", 5000, ["far", "inner", "outer"],
      ["exit inner 5000.0 late", "exit outer 5000.0 late", "enter far 5000.0 late"]
    ),
    ("one was removed meanwhile", 2000, ["outer"], ["exit outer 5000.0 late"]),
    ("a new one was added around it meanwhile", 300, ["inner", "outer", "new"], []),
  ])
  func transitionDuringDowntimeIsReportedOnceAsLate(
    name: String, east: Double, regions: [String], expected: [String]
  ) throws {
    let all = [
      "inner": square("inner", 100...500), "outer": square("outer", 50...1000),
      "far": square("far", 4500...6000), "new": square("new", 200...400),
    ]
    var before = RegionMonitor()
    before.replaceAll(["inner", "outer", "far"].compactMap { all[$0] })
    #expect(before.run(plane, drive(from: 0, to: 300, speed: 10)).count == 2)
    let kept = before.encoded

    // The order of restoring states and setting regions has no effect.
    for restoresFirst in [true, false] {
      var monitor = RegionMonitor()
      if restoresFirst { try monitor.restore(kept) }
      monitor.replaceAll(regions.compactMap { all[$0] })
      if !restoresFirst { try monitor.restore(kept) }
      let told = monitor.run(plane, (5000...5100).map { Line(Double($0), east, speed: 0) })
      #expect(told == expected, "\(name)")
      var again = RegionMonitor()
      again.replaceAll(regions.compactMap { all[$0] })
      try again.restore(monitor.encoded)
      #expect(again.run(plane, [Line(9000, east), Line(9001, east)]) == [], "\(name), restarted again")
    }
  }

  @Test func crossingAfterTheRestartIsNotLate() throws {
    var before = RegionMonitor()
    before.replaceAll([square("a", 100...500)])
    _ = before.run(plane, drive(from: 0, to: 50, speed: 10))
    var monitor = RegionMonitor()
    try monitor.restore(before.encoded)
    monitor.replaceAll([square("a", 100...500)])
    #expect(monitor.run(plane, drive(from: 90, to: 200, speed: 10, at: 50)) == ["enter a 51.0"])
  }

  @Test func dwellContinuesAcrossARestart() throws {
    var before = RegionMonitor()
    before.replaceAll([square("a", 100...500, dwell: 600), square("b", 100...500, dwell: 6000)])
    _ = before.run(plane, drive(from: 0, to: 300, speed: 10))
    var monitor = RegionMonitor()
    try monitor.restore(before.encoded)
    monitor.replaceAll([square("a", 100...500, dwell: 600), square("b", 100...500, dwell: 6000)])
    // The monotonic clock has restarted; only UTC contains the duration.
    let later = PlaneTrack()
    var told: [String] = []
    for second in 0...20 {
      var location = later.location(Line(Double(second), 300, speed: 0))
      location.time = PlaneTrack.start.advanced(bySeconds: 6000 + Double(second))
      told += monitor.process(location).map {
        Entry($0).text + " \($0.time?.seconds(since: PlaneTrack.start).rounded() ?? -1)"
      }
    }
    #expect(told == ["dwell a -5390.0 late 610.0", "dwell b 10.0 6010.0"])
  }

  @Test func invalidStatesAreRejected() throws {
    var monitor = RegionMonitor()
    monitor.replaceAll([square("a", -100...100), square("b", 100...500)])
    _ = monitor.run(plane, [Line(0, 0), Line(1, 0)])
    let good = monitor.encoded
    for length in 0..<good.count {
      #expect(throws: StoredStateError.self) { try monitor.restore(Array(good[..<length])) }
    }
    for place in good.indices {
      var bad = good
      bad[place] ^= 0x41
      #expect(throws: StoredStateError.self) { try monitor.restore(bad) }
    }
    #expect(throws: Never.self) { try monitor.restore(good) }
    #expect(throws: Never.self) { try monitor.restore(RegionMonitor().encoded) }
  }

  @Test func nearestBoundaryIsWithinTheReportedDistance() throws {
    var monitor = RegionMonitor()
    #expect(monitor.distanceToNearestBoundary(from: plane.origin) == nil)
    monitor.replaceAll([
      square("a", 100...500), Region(identifier: "b", center: plane.place(-20_000, 0), radius: 500),
      Region(identifier: "around", rings: [plane.rectangle(-50_000...60_000, -50_000...50_000)]),
    ])
    for (east, expected) in [
      (0.0, 100.0), (150, 50), (499, 1), (-10_000, 9500), (90_000, 30_000), (-19_900, 400),
    ] {
      let found = try #require(monitor.distanceToNearestBoundary(from: plane.place(east, 0)))
      #expect(abs(found - expected) < 0.01 * expected, "\(east): \(found)")
    }
    #expect(monitor.distanceToNearestBoundary(from: plane.place(900_000, 0), limit: 5000) == 5000)
  }
}
