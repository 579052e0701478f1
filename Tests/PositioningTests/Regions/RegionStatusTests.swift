import Spatial
import TestSupport
import Testing

@testable import Positioning

/// Status of regions: inside, outside or unknown, and since when.
@Suite struct RegionStatusTests {
  private let plane = PlaneTrack()

  private func square(_ identifier: String, _ east: ClosedRange<Double>, accuracy: Double? = nil) -> Region {
    var region = Region(identifier: identifier, rings: [plane.rectangle(east)])
    region.desiredAccuracy = accuracy
    return region
  }

  private func since(_ monitor: RegionMonitor, _ identifier: String) -> Double? {
    monitor.status(of: identifier)?.since.map { ($0.seconds(since: PlaneTrack.start) * 10).rounded() / 10 }
  }

  @Test func stateIsDatedToItsCrossing() {
    var monitor = RegionMonitor()
    monitor.replaceAll([square("yard", 100...300), square("far", 5000...5100)])
    #expect(monitor.status(of: "yard")?.state == .unknown && since(monitor, "yard") == nil)
    _ = monitor.run(plane, drive(from: 0, to: 200, speed: 10))
    #expect(monitor.status(of: "yard")?.state == .inside && since(monitor, "yard") == 10)
    // Without a crossing, the state dates from the first fix.
    #expect(monitor.status(of: "far")?.state == .outside && since(monitor, "far") == 0)
    _ = monitor.run(plane, drive(from: 210, to: 400, speed: 10, at: 21))
    #expect(monitor.status(of: "yard")?.state == .outside && since(monitor, "yard") == 30)
    // In and out again between two fixes: outside since the exit.
    _ = monitor.run(plane, [Line(60, 50, speed: 100), Line(64, 450, speed: 100)])
    #expect(since(monitor, "yard").map { $0 > 61 && $0 < 64 } == true, "\(since(monitor, "yard") ?? -1)")
    #expect(monitor.status(of: "nobody") == nil)
    monitor.forgetStates()
    #expect(monitor.status(of: "yard")?.state == .unknown && since(monitor, "yard") == nil)
  }

  /// The current position determines the state of new, changed and reset regions, and of no others.
  @Test func currentPositionDecidesUndecidedRegions() {
    var monitor = RegionMonitor()
    monitor.replaceAll([square("yard", 100...300)])
    _ = monitor.run(plane, drive(from: 0, to: 200, speed: 10))
    var place = plane.location(Line(90, 200))
    monitor.replaceAll([square("yard", 100...300), square("near", 150...400), square("far", 5000...5100)])
    #expect(monitor.hasUndecided)
    #expect(monitor.evaluateUndecided(at: place).isEmpty && !monitor.hasUndecided)
    #expect(monitor.statuses(limit: 9).map(\.state) == [.inside, .inside, .outside])
    #expect(since(monitor, "yard") == 10 && since(monitor, "near") == 90)
    monitor.forgetStates()
    #expect(monitor.evaluateUndecided(at: place).isEmpty)
    #expect(monitor.statuses(limit: 9).map(\.state) == [.inside, .inside, .outside])
    // A moved boundary causes an event.
    monitor.replaceAll([square("yard", 1000...1300)])
    #expect(monitor.evaluateUndecided(at: place).map(\.kind) == [.exit])
    // An insufficient accuracy leaves the region unknown until a more accurate position.
    monitor.replaceAll([square("edge", 190...400)])
    place.horizontalAccuracy = 30
    #expect(monitor.evaluateUndecided(at: place).isEmpty && monitor.hasUndecided)
    place.horizontalAccuracy = 1
    #expect(monitor.evaluateUndecided(at: place).isEmpty && monitor.state(of: "edge") == .inside)
    // A withheld position determines no state.
    monitor.interrupt()
    monitor.forgetStates()
    #expect(monitor.evaluateUndecided(at: place).isEmpty && monitor.state(of: "edge") == .unknown)
  }

  @Test func stateSurvivesARestart() throws {
    var first = RegionMonitor()
    first.replaceAll([square("in", 100...900), square("left", 0...50), square("far", 5000...5100)])
    _ = first.run(plane, drive(from: 20, to: 200, speed: 10))
    var second = RegionMonitor()
    try second.restore(first.encoded)
    second.replaceAll([
      square("in", 100...900), square("left", 0...50), square("far", 5000...5100), square("new", 0...9),
    ])
    for identifier in ["in", "left", "far"] {
      #expect(second.status(of: identifier) == first.status(of: identifier), "\(identifier)")
    }
    #expect(second.status(of: "new")?.state == .unknown)
    // Replacing a region preserves the time, too.
    second.replaceAll([square("in", 100...950)])
    #expect(since(second, "in") == since(first, "in"))
  }

  /// States stored by the first version have no time for regions outside.
  @Test func firstVersionStatesAreRead() throws {
    var bytes = Array("ODRM".utf8) + [1]
    bytes += [0, 0, 0, 0, 1, 0, 0, 0]
    func append(_ number: UInt32) {
      for shift in stride(from: 0, to: 32, by: 8) {
        bytes.append(UInt8(truncatingIfNeeded: number >> UInt32(shift)))
      }
    }
    append(RegionMemory.hash("far"))
    append(bytes.reduce(0x811C_9DC5) { ($0 ^ UInt32($1)) &* 0x0100_0193 })
    var monitor = RegionMonitor()
    monitor.replaceAll([square("far", 5000...5100)])
    try monitor.restore(bytes)
    #expect(monitor.status(of: "far") == RegionStatus(identifier: "far", state: .outside))
  }

  /// If there are more regions than the limit, those that contain the vehicle are listed first, the latest entered first, then the nearest
  /// ones.
  @Test func mostImportantRegionsAreListed() {
    var regions = (1...400).map { square("r\($0)", Double($0) * 100...Double($0) * 100 + 50) }.shuffled()
    regions += [square("early", -1000...3000), square("late", 500...3000)]
    var monitor = RegionMonitor()
    monitor.replaceAll(regions)
    #expect(monitor.statuses(limit: 500).map(\.identifier) == regions.map(\.identifier))
    #expect(monitor.statuses(limit: 10).count == 10)
    _ = monitor.run(plane, drive(from: 0, to: 980, speed: 10))
    // At 980 m, the boundary of r9 is 30 m and that of r10 20 m away.
    let listed = monitor.statuses(limit: 7)
    #expect(listed.map(\.identifier) == ["late", "early", "r10", "r9", "r11", "r8", "r12"])
    #expect(listed.map(\.state) == [.inside, .inside] + Array(repeating: .outside, count: 5))
    #expect(monitor.statuses(limit: 401).count == 401)
    #expect(Set(monitor.statuses(limit: 401).map(\.identifier)).count == 401)
  }

  @Test func regionAccuracyAppliesNearItsBoundary() {
    var monitor = RegionMonitor()
    monitor.replaceAll([
      square("plain", 0...50), square("gate", 1000...1100, accuracy: 10),
      square("door", 1000...1050, accuracy: 25),
    ])
    #expect(monitor.desiredAccuracy(near: plane.place(700, 0), within: 200) == nil)
    #expect(monitor.desiredAccuracy(near: plane.place(850, 0), within: 200) == 10)
    // The distance to the boundary counts inside the region, too.
    #expect(monitor.desiredAccuracy(near: plane.place(1075, 0), within: 30) == 10)
    #expect(monitor.desiredAccuracy(near: plane.place(1020, 0), within: 25) == 10)
    monitor.remove("gate")
    #expect(monitor.desiredAccuracy(near: plane.place(1020, 0), within: 25) == 25)
    let acceptance = monitor.replaceAll([
      square("none", 0...50, accuracy: 0), square("nan", 0...50, accuracy: .nan),
    ])
    #expect(acceptance.accepted.isEmpty && acceptance.refused[0].reason == .invalidAccuracy(0))
  }

  @Test func speedLimitsApplyInside() throws {
    let plane = Coordinate(latitude: 48, longitude: 11)
    func circle(_ name: String, _ radius: Double, limit: Double?) -> Region {
      var region = Region(identifier: name, center: plane, radius: radius)
      region.speedLimit = limit
      return region
    }
    var monitor = RegionMonitor()
    monitor.replaceAll([
      circle("town", 5000, limit: 14), circle("school", 200, limit: 8), circle("a", 900, limit: nil),
    ])
    #expect(monitor.speedLimits.isEmpty)
    func go(_ metres: Double, at second: Double) {
      let place = plane.destination(distance: metres, bearing: 90)
      var location = Location(timestamp: Timestamp(seconds: second), coordinate: place)
      location.horizontalAccuracy = 3
      _ = monitor.process(location)
    }
    go(0, at: 1)
    #expect(
      monitor.speedLimits.map(\.region) == ["school", "town"] && monitor.speedLimits.map(\.speed) == [8, 14])
    let revision = monitor.revision
    go(2000, at: 200)
    #expect(monitor.speedLimits.map(\.region) == ["town"] && monitor.revision > revision)
    for limit in [0, -1, .nan, .infinity] {
      let refused = monitor.replaceAll([circle("school", 200, limit: limit)]).refused
      guard case .invalidSpeedLimit? = refused.first?.reason else {
        Issue.record("\(limit) must be refused")
        continue
      }
    }
  }
}
