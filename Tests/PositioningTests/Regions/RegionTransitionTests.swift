import Positioning
import Spatial
import Testing

/// Transitions of every kind, with exact virtual time, at several locations on earth.
@Suite struct RegionTransitionTests {
  struct Case: Sendable, CustomTestStringConvertible {
    var name: String
    var regions: @Sendable (PlaneTrack) -> [Region]
    var lines: [Line]
    var expected: [String]
    var testDescription: String { name }
  }

  private static func square(
    _ identifier: String, _ east: ClosedRange<Double>, dwell: Double? = nil
  ) -> @Sendable (PlaneTrack) -> Region {
    { Region(identifier: identifier, rings: [$0.rectangle(east)], dwell: dwell) }
  }

  private static func circle(_ identifier: String, _ east: Double, _ radius: Double)
    -> @Sendable (PlaneTrack) -> Region
  {
    { Region(identifier: identifier, center: $0.place(east, 0), radius: radius) }
  }

  /// After a reset the regions remain, their states are unknown, and the next fixes determine them without an event.
  @Test func resetStatesAreDecidedAgain() {
    let track = PlaneTrack(origin: Coordinate(latitude: 48, longitude: 11))
    var monitor = RegionMonitor()
    monitor.replaceAll([Self.square("a", 100...500)(track), Self.square("b", 5000...5500)(track)])
    for line in drive(from: 0, to: 300, speed: 10) { _ = monitor.process(track.location(line)) }
    #expect(monitor.state(of: "a") == .inside && monitor.state(of: "b") == .outside)
    let revision = monitor.revision
    monitor.forgetStates()
    #expect(monitor.count == 2 && monitor.revision > revision && monitor.inside.isEmpty)
    #expect(monitor.state(of: "a") == .unknown && monitor.state(of: "b") == .unknown)
    var events: [RegionEvent] = []
    for line in parked(at: 300, 40...60) { events += monitor.process(track.location(line)) }
    #expect(events.isEmpty && monitor.state(of: "a") == .inside && monitor.state(of: "b") == .outside)
    for line in drive(from: 300, to: 0, speed: 10, at: 61) { events += monitor.process(track.location(line)) }
    #expect(events.map(\.kind) == [.exit] && events.first?.identifier == "a")
  }

  static let cases: [Case] = [
    Case(
      name: "enter", regions: { [square("a", 100...500)($0)] }, lines: drive(from: 0, to: 300, speed: 10),
      expected: ["enter a 10.0"]),
    Case(
      name: "enter and exit of a circle", regions: { [circle("a", 250, 100)($0)] },
      lines: drive(from: 0, to: 500, speed: 10), expected: ["enter a 15.0", "exit a 35.0"]),
    Case(
      name: "the first decision is no crossing", regions: { [square("a", -100...100)($0)] },
      lines: drive(from: 0, to: 300, speed: 10), expected: ["exit a 10.0"]),
    Case(
      name: "dwell", regions: { [square("a", 100...500, dwell: 60)($0)] },
      lines: drive(from: 0, to: 300, speed: 10) + parked(at: 300, 31...200),
      expected: ["enter a 10.0", "dwell a 70.0"]),
    Case(
      name: "dwell is reported once per visit",
      regions: { [square("a", 100...500, dwell: 20)($0)] },
      lines: drive(from: 0, to: 300, speed: 10) + parked(at: 300, 31...90)
        + drive(from: 300, to: 0, speed: 10, at: 91) + drive(from: 0, to: 300, speed: 10, at: 122)
        + parked(at: 300, 153...190),
      expected: ["enter a 10.0", "dwell a 30.0", "exit a 111.0", "enter a 132.0", "dwell a 152.0"]),
    Case(
      name: "no dwell for a short visit", regions: { [square("a", 100...500, dwell: 60)($0)] },
      lines: drive(from: 0, to: 700, speed: 10), expected: ["enter a 10.0", "exit a 50.0"]),
    Case(
      name: "no dwell, exit between two fixes", regions: { [square("a", 100...500, dwell: 60)($0)] },
      lines: drive(from: 0, to: 300, speed: 10) + [Line(150, 1500, speed: 10)],
      // It left at 50 s: after 200 m of 1200 m, and 20 s of 120 s, since the last fix inside.
      expected: ["enter a 10.0", "exit a 50.0"]),
    Case(
      name: "dwell reached between two fixes",
      regions: { [square("a", 100...500, dwell: 60)($0)] },
      lines: drive(from: 0, to: 300, speed: 10) + [Line(630, 1500, speed: 10)],
      expected: ["enter a 10.0", "dwell a 70.0", "exit a 130.0"]),
    Case(
      name: "a crossing between two distant fixes", regions: { [square("a", 1000...5000)($0)] },
      lines: [Line(0, 0), Line(60, 3000)], expected: ["enter a 20.0"]),
    Case(
      name: "a passage between two fixes",
      regions: { [square("a", 140...160)($0), circle("b", 200, 10)($0)] },
      lines: [Line(0, 0), Line(10, 300)],
      expected: ["enter a 4.7", "exit a 5.3", "enter b 6.3", "exit b 7.0"]),
    Case(
      name: "exit before enter at a common edge",
      regions: { [square("b", 100...200)($0), square("a", -100...100)($0)] },
      lines: drive(from: 0, to: 150, speed: 10), expected: ["exit a 10.0", "enter b 10.0"]),
    Case(
      name: "exit before enter in one step",
      regions: { [square("b", 300...900)($0), square("a", -100...100)($0)] },
      lines: [Line(0, 0), Line(10, 600)], expected: ["exit a 1.7", "enter b 5.0"]),
    Case(
      name: "exit before enter in one step where they overlap",
      regions: { [square("b", 300...900)($0), square("a", -100...450)($0)] },
      lines: [Line(0, 0), Line(10, 600)], expected: ["exit a 7.5", "enter b 5.0"]),
    Case(
      name: "exit, passage and enter in one step",
      regions: { [square("c", 600...900)($0), square("b", 300...400)($0), square("a", -100...100)($0)] },
      lines: [Line(0, 0), Line(10, 800)],
      expected: ["exit a 1.3", "enter b 3.8", "exit b 5.0", "enter c 7.5"]),
    Case(
      name: "a hole is outside",
      regions: {
        [Region(identifier: "a", rings: [$0.rectangle(100...900), $0.rectangle(300...600, -100...100)])]
      },
      lines: drive(from: 0, to: 1000, speed: 20),
      expected: ["enter a 5.0", "exit a 15.0", "enter a 30.0", "exit a 45.0"]),
    Case(
      name: "two parts are one region",
      regions: {
        [
          Region(
            identifier: "a", shape: .polygon([[$0.rectangle(100...300)], [$0.rectangle(500...700)]]))
        ]
      },
      lines: drive(from: 0, to: 800, speed: 20),
      expected: ["enter a 5.0", "exit a 15.0", "enter a 25.0", "exit a 35.0"]),
    Case(
      name: "only entries",
      regions: {
        var region = square("a", 100...200)($0)
        region.notifyOnExit = false
        return [region]
      }, lines: drive(from: 0, to: 400, speed: 10), expected: ["enter a 10.0"]),
    Case(
      name: "only exits",
      regions: {
        var region = square("a", 100...200)($0)
        region.notifyOnEntry = false
        return [region]
      }, lines: drive(from: 0, to: 400, speed: 10), expected: ["exit a 20.0"]),
    Case(
      name: "accuracy too poor to decide", regions: { [circle("a", 250, 50)($0)] },
      lines: drive(from: 0, to: 500, speed: 10, accuracy: 100), expected: []),
    Case(
      name: "a poor fix delays, the next good one decides", regions: { [square("a", 100...2000)($0)] },
      lines: drive(from: -500, to: 150, speed: 10, accuracy: 80) + [Line(66, 160, speed: 10)],
      expected: ["enter a 60.0"]),
    Case(
      name: "a single inaccurate outlier", regions: { [square("a", 100...500)($0)] },
      lines: parked(at: 0, 0...10, accuracy: 30) + [Line(11, 130, accuracy: 30, speed: 0)]
        + parked(at: 0, 12...20, accuracy: 30), expected: []),
    Case(
      name: "undecided on the boundary", regions: { [square("a", 0...500)($0)] },
      lines: parked(at: -300, 0...1) + parked(at: 0, 100...400), expected: []),
  ]

  private static let origins = [
    Coordinate(latitude: 48, longitude: 11), Coordinate(latitude: -17, longitude: 179.9995),
    Coordinate(latitude: 71, longitude: -179.998), Coordinate(latitude: 0, longitude: 0),
  ]

  @Test(arguments: cases)
  func transitionsMatchTheTable(_ testCase: Case) {
    for origin in Self.origins {
      let plane = PlaneTrack(origin: origin)
      var monitor = RegionMonitor()
      let acceptance = monitor.replaceAll(testCase.regions(plane))
      #expect(acceptance.refused.isEmpty)
      #expect(monitor.run(plane, testCase.lines) == testCase.expected, "\(origin)")
    }
  }

  /// The pole has no east: the track follows one meridian to it and the opposite one away from it.
  @Test(arguments: [1.0, -1.0])
  func regionsAtThePolesWork(sign: Double) throws {
    func place(_ metres: Double) -> Coordinate {
      Coordinate(
        latitude: sign * (90 - abs(metres) / 111_694), longitude: metres < 0 ? 30 : -150)
    }
    var monitor = RegionMonitor()
    let ring = stride(from: 0.0, to: 360, by: 30).map {
      Coordinate(latitude: sign * 89.99, longitude: signedDegrees(from: 0, to: $0))
    }
    monitor.replaceAll([
      Region(identifier: "cap", rings: [ring]),
      Region(identifier: "pole", center: Coordinate(latitude: 90 * sign, longitude: 77), radius: 200),
    ])
    var told: [String] = []
    for second in 0...300 {
      var location = Location(
        timestamp: Timestamp(seconds: Double(second)), coordinate: place(Double(second) * 10 - 1500))
      location.horizontalAccuracy = 3
      told += monitor.process(location).map {
        "\($0.kind) \($0.identifier) \(Int($0.timestamp.seconds.rounded()))"
      }
    }
    // The edges of the cap, between vertices 30° apart, cross the meridian of a vertex at 0.01°, 1117 m from the pole.
    #expect(told == ["enter cap 38", "enter pole 130", "exit pole 170", "exit cap 262"])
  }

  @Test func crossingHasPositionAccuracyAndConfidence() throws {
    let plane = PlaneTrack()
    var monitor = RegionMonitor()
    monitor.replaceAll([Region(identifier: "a", rings: [plane.rectangle(95...500)])])
    var events = monitor.process(plane.location(Line(10, 0, 40, accuracy: 2)))
    events += monitor.process(plane.location(Line(20, 200, 40, accuracy: 8)))
    let event = try #require(events.first)
    #expect(events.count == 1 && event.kind == .enter && !event.isLate)
    #expect(event.coordinate.distance(to: plane.place(95, 40)) < 0.1)
    #expect(abs(event.timestamp.seconds - 14.75) < 0.001)
    #expect(event.time.map { abs($0.seconds(since: PlaneTrack.start) - 14.75) < 0.001 } == true)
    #expect(event.horizontalAccuracy == 8)
    #expect(event.confidence > 0.999_999 && event.confidence <= 1)
    #expect(monitor.state(of: "a") == .inside && monitor.inside == ["a"])
    #expect(monitor.state(of: "b") == nil)
  }

  @Test func dwellIsReportedWithoutAFix() {
    let plane = PlaneTrack()
    var monitor = RegionMonitor()
    monitor.replaceAll([Region(identifier: "a", rings: [plane.rectangle(100...500)], dwell: 60)])
    _ = monitor.run(plane, drive(from: 0, to: 300, speed: 10))
    #expect(monitor.nextDeadline.map { abs($0.seconds - 70) < 0.01 } == true)
    #expect(monitor.advance(to: Timestamp(seconds: 69)).isEmpty)
    let events = monitor.advance(to: Timestamp(seconds: 71))
    #expect(events.map { Entry($0).text } == ["dwell a 70.0"])
    #expect(events[0].time.map { abs($0.seconds(since: PlaneTrack.start) - 70) < 0.01 } == true)
    #expect(monitor.nextDeadline == nil && monitor.advance(to: Timestamp(seconds: 500)).isEmpty)
  }

  /// A vehicle that leaves the straight line in a gap does not pass a region on the line. Detours of 2700 m in 180 s and of
  /// 675 m in 45 s, along three sides of a rectangle.
  @Test(arguments: [1.0, 0.25])
  func detourInAGapIsNoPassage(scale: Double) {
    let plane = PlaneTrack()
    var monitor = RegionMonitor()
    monitor.replaceAll([
      Region(identifier: "mid", center: plane.place(750 * scale, 0), radius: 200 * scale, dwell: 5)
    ])
    let drive = drive(from: -300, to: 0, speed: 15, at: 0)
    #expect(monitor.run(plane, drive) == [])
    let end = 20 + 180 * scale
    #expect(monitor.run(plane, [Line(end, 1500 * scale, speed: 15)]) == [])
    #expect(monitor.state(of: "mid") == .outside)
    #expect(monitor.run(plane, [Line(end + 1, 1500 * scale + 15, speed: 15)]) == [])
  }

  /// The confidence of a passage falls with the duration of the gap, and the accuracy includes the possible bends.
  @Test func longerGapsHaveLessConfidence() throws {
    let plane = PlaneTrack()
    func passage(_ seconds: Double) throws -> RegionEvent? {
      var monitor = RegionMonitor()
      monitor.replaceAll([Region(identifier: "a", center: plane.place(1000, 0), radius: 400)])
      var events = monitor.process(plane.location(Line(0, 0)))
      events += monitor.process(plane.location(Line(seconds, 2000)))
      #expect(events.map(\.kind) == [.enter, .exit] || events.isEmpty)
      return events.first
    }
    let events = try [20.0, 30, 40, 60].map(passage)
    for (a, b) in zip(events, events.dropFirst()) {
      guard let b else { continue }
      let a = try #require(a)
      #expect(b.confidence < a.confidence || a.confidence > 1 - 1e-9)
      #expect(try #require(b.horizontalAccuracy) > #require(a.horizontalAccuracy))
    }
    // The bend of 20 s is 20 m at the middle and 16.8 m at the boundary, at 600 m of 2000 m.
    let first = try #require(events.first??.horizontalAccuracy)
    #expect(abs(first - 1.51 * 16.9) < 1, "\(first)")
    #expect(try passage(61) == nil)
  }

  /// The position of a dwell event is that of its time, not of the fix after the gap.
  @Test func dwellInAGapIsInterpolated() throws {
    let plane = PlaneTrack()
    var monitor = RegionMonitor()
    monitor.replaceAll([
      Region(identifier: "left", rings: [plane.rectangle(100...500)], dwell: 60),
      Region(identifier: "passed", rings: [plane.rectangle(700...1200, -2000...2000)], dwell: 5),
      Region(identifier: "entered", rings: [plane.rectangle(1250...9000)], dwell: 1),
    ])
    _ = monitor.run(plane, drive(from: 0, to: 300, speed: 10))
    let events = monitor.process(plane.location(Line(50, 1500, speed: 60)))
    let dwells = events.filter { $0.kind == .dwell }
    // 60 m/s from 300 m at 30 s on.
    let expected = ["passed": 1000.0, "entered": 1310]
    #expect(Set(dwells.map(\.identifier)) == Set(expected.keys))
    for event in dwells {
      let east = try #require(expected[event.identifier])
      #expect(event.coordinate.distance(to: plane.place(east, 0)) < 1, "\(event.identifier)")
      #expect(abs(event.timestamp.seconds - (30 + (east - 300) / 60)) < 0.1)
      #expect(try #require(event.horizontalAccuracy) > 10)
    }
    var parked = RegionMonitor()
    parked.replaceAll([Region(identifier: "left", rings: [plane.rectangle(100...500)], dwell: 60)])
    _ = parked.run(plane, drive(from: 0, to: 300, speed: 10))
    let left = parked.process(plane.location(Line(630, 1500, speed: 10)))
    let dwell = try #require(left.first { $0.kind == .dwell })
    // At 70 s, a fifteenth of the way from 300 m to 1500 m.
    #expect(dwell.coordinate.distance(to: plane.place(380, 0)) < 1)
    #expect(dwell.time.map { abs($0.seconds(since: PlaneTrack.start) - 70) < 0.1 } == true)
  }

  @Test func nonIncreasingTimesAreIgnored() {
    let plane = PlaneTrack()
    var monitor = RegionMonitor()
    monitor.replaceAll([Region(identifier: "a", rings: [plane.rectangle(100...500)])])
    #expect(monitor.run(plane, [Line(10, 0), Line(10, 300), Line(5, 300)]) == [])
    #expect(monitor.unorderedCount == 2)
    #expect(
      monitor.process(
        Location(timestamp: Timestamp(seconds: 20), coordinate: Coordinate(latitude: .nan, longitude: 0))
      ).isEmpty)
  }
}
