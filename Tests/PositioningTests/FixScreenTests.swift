import Glibc
import Positioning
import Sensors
import Simulation
import Spatial
import TestSupport
import Testing

@Suite struct FixScreenTests {
  /// A series of fixes, one per second, and the fixes that are accepted after each of them.
  struct Row: Sendable, CustomTestStringConvertible {
    var testDescription: String
    /// Metres east of the start, and m/s, one pair per second.
    var fixes: [(east: Double, speed: Double?)]
    /// For each fix, the seconds of the fixes that are accepted when it arrives.
    var passed: [[Int]]
    var jumps = 0
    var overconfident = 0
    var confirmed = 0
    var refuted = 0
  }

  private static let rows: [Row] = [
    Row(
      testDescription: "a drive passes unchanged",
      fixes: [(0, 20), (20, 20), (40, 20), (60, 20)], passed: [[0], [1], [2], [3]]),
    Row(
      testDescription: "a spike is held back and refuted",
      fixes: [(0, 20), (20, 20), (900, 20), (60, 20), (80, 20)], passed: [[0], [1], [], [3], [4]],
      jumps: 1, refuted: 1),
    Row(
      testDescription: "a lasting jump is confirmed after five seconds, in order",
      fixes: [
        (0, 20), (20, 20), (900, 20), (920, 20), (940, 20), (960, 20), (980, 20), (1000, 20), (1020, 20),
      ],
      passed: [[0], [1], [], [], [], [], [], [2, 3, 4, 5, 6, 7], [8]], jumps: 1, confirmed: 6),
    Row(
      testDescription: "a lasting contradiction of velocities is confirmed after two seconds",
      fixes: [(0, 0), (0, 0), (60, 0), (60, 0), (60, 0), (60, 0)],
      passed: [[0], [1], [], [], [2, 3, 4], [5]], overconfident: 1, confirmed: 3),
    Row(
      testDescription: "a speed that is always zero delays the first fixes only",
      fixes: (0..<8).map { (30 * Double($0), 0) },
      passed: [[0], [], [], [1, 2, 3], [4], [5], [6], [7]], overconfident: 1, confirmed: 3),
    Row(
      testDescription: "a jump that returns after two fixes is refuted",
      fixes: [(0, 0), (0, 0), (900, 0), (900, 0), (0, 0)], passed: [[0], [1], [], [], [4]],
      jumps: 1, refuted: 2),
    Row(
      testDescription: "successive outliers are all rejected",
      fixes: [(0, 0), (500, 0), (-500, 0), (1000, 0), (1, 0)], passed: [[0], [], [], [], [4]],
      jumps: 3, refuted: 3),
    Row(
      testDescription: "a jump of 60 m in a second at zero speed is overconfident",
      fixes: [(0, 0), (60, 0), (0, 0)], passed: [[0], [], [2]], overconfident: 1, refuted: 1),
    Row(
      testDescription: "without a speed only impossible fixes are held back",
      fixes: [(0, nil), (60, nil), (0, nil)], passed: [[0], [1], [2]]),
    Row(
      testDescription: "a receiver that repeats a position and then catches up is accepted",
      fixes: [(0, 18), (18, 18), (18, 0), (54, 36), (72, 18)], passed: [[0], [1], [2], [3], [4]]),
  ]

  @Test(arguments: rows) func implausibleFixesAreHeldBack(row: Row) {
    var screen = FixScreen()
    for (second, fix) in row.fixes.enumerated() {
      let passed = screen.process(
        Place.fix(Double(second), fix.east, speed: fix.speed, course: fix.speed.map { _ in 90 }))
      #expect(passed.map { Int($0.timestamp.seconds) } == row.passed[second], "fix \(second)")
    }
    let counts = screen.counts
    #expect(
      [counts.jumps, counts.overconfident, counts.confirmed, counts.refuted]
        == [row.jumps, row.overconfident, row.confirmed, row.refuted])
  }

  @Test func nullIslandIsNoFirstPosition() {
    var screen = FixScreen()
    var empty = Place.fix(0, 0)
    empty.coordinate = Coordinate(latitude: 0, longitude: 0)
    #expect(screen.process(empty).isEmpty && screen.counts.withoutPosition == 1)
    #expect(screen.withoutNullIsland(empty).mode == .noFix)
    #expect(screen.process(Place.fix(1, 0)).count == 1)
    empty.timestamp = Timestamp(seconds: 2)
    #expect(screen.process(empty).isEmpty && screen.counts.withoutPosition == 2)
    // A ship can cross Null Island.
    var ship = FixScreen()
    var near = Place.fix(0, 0)
    near.coordinate = Coordinate(latitude: 0.0001, longitude: 0)
    #expect(ship.process(near).count == 1)
    #expect(ship.process(empty).count == 1)
  }

  /// A single distant fix between fixes at rest is never accepted, at any interval and phase, with and without a speed.
  @Test(arguments: [0.1, 0.2, 1, 2, 5, 10, 20, 60, 120], [false, true])
  func outlierAtRestIsNeverReported(interval: Double, hasSpeed: Bool) {
    var random = SeededGenerator.announced()
    for _ in 0..<40 {
      var screen = FixScreen()
      // Rest requires five seconds and two fixes.
      let outlier = max(3, 1 + Int((6 / interval).rounded(.up))) + Int(20 * random.nextUniform())
      for index in 0..<(outlier + 20) {
        let isOutlier = index == outlier
        let distance =
          isOutlier ? 60 + 3000 * random.nextUniform() * random.nextUniform() : 1.5 * random.nextNormal()
        let angle = 2 * Double.pi * random.nextUniform()
        let passed = screen.process(
          Place.fix(
            Double(index) * interval, distance * sin(angle), distance * cos(angle),
            speed: hasSpeed ? 0.1 * random.nextUniform() : nil, course: hasSpeed ? 90 : nil, dilution: 0.9))
        #expect(passed.map { Int(($0.timestamp.seconds / interval).rounded()) } == (isOutlier ? [] : [index]))
      }
    }
  }

  /// Fixes 5 to 111 km away that contradict their own velocity are held back for a few seconds and then accepted as suspect; after 30 s
  /// they are no longer suspect.
  @Test(arguments: [5500.0, 20_000, 111_000], [0.2, 1, 4])
  func distantJumpIsSuspectForHalfAMinute(distance: Double, interval: Double) throws {
    var screen = FixScreen()
    var (firstSuspect, accepted): (Double?, Double?) = (nil, nil)
    for index in 0..<Int(80 / interval) {
      let time = Double(index) * interval
      let away = time >= 20 ? distance : 0
      for location in screen.process(Place.fix(time, 10 * time, away, speed: 10, course: 90)) {
        let isAway =
          location.coordinate.distance(to: Place.coordinate(10 * location.timestamp.seconds, 0)) > 1000
        #expect(isAway == (location.timestamp.seconds >= 20 - 1e-6))
        if isAway, location.suspicion != nil { firstSuspect = firstSuspect ?? time }
        if isAway, location.suspicion == nil { accepted = accepted ?? time }
        if let suspicion = location.suspicion {
          #expect(suspicion.reason == .jump && abs((suspicion.distance ?? 0) - distance) < 500)
        }
      }
    }
    let (suspect, known) = (try #require(firstSuspect), try #require(accepted))
    print(
      "jump of \(distance) m at \(interval) s: suspect after \(suspect - 20) s, accepted after \(known - 20) s"
    )
    #expect((FixScreen.jumpConfirmation - 0.2...FixScreen.jumpConfirmation + interval).contains(suspect - 20))
    #expect((FixScreen.acceptance - 0.2...FixScreen.acceptance + interval).contains(known - 20))
  }

  /// A distant jump that returns within 30 s leaves the other fixes plausible.
  @Test func distantJumpThatReturnsLeavesThePositionPlausible() {
    var screen = FixScreen()
    for second in 0..<60 {
      let isAway = (20..<45).contains(second)
      let passed = screen.process(
        Place.fix(Double(second), 10 * Double(second), isAway ? 30_000 : 0, speed: 10, course: 90))
      if !isAway { #expect(passed.map(\.suspicion) == [nil]) }
      if isAway { #expect(passed.allSatisfy { $0.suspicion?.reason == .jump }) }
    }
  }

  @Test(arguments: [
    (ActivityType.pedestrian, 60.0, false), (.automotive, 60, true), (.automotive, 200, false),
    (.other, 200, true), (.other, 500, false),
  ])
  func activityLimitsTheSpeed(activity: ActivityType, metres: Double, passes: Bool) {
    var screen = FixScreen(activity: activity)
    _ = screen.process(Place.fix(0, 0))
    #expect(screen.process(Place.fix(1, metres)).isEmpty != passes)
  }

  /// A second receiver with its antenna 18 m beside that of the first one, in motion and at rest: the accuracy and the plausibility learned
  /// for one receiver do not affect fixes of the other.
  @Test(arguments: [0.0, 15]) func changedReceiverResetsLearnedAccuracy(speed: Double) throws {
    func fix(_ second: Int, _ receiver: String, beside: Double) -> PositionFix {
      var fix = Place.fix(
        Double(second), speed * Double(second), beside, speed: speed, course: 90, dilution: 0.9)
      fix.receiver = receiver
      return fix
    }
    var screen = FixScreen()
    // The error of the first receiver exceeds its stated accuracy.
    for second in 0..<60 { _ = screen.process(fix(second, "a", beside: second.isMultiple(of: 2) ? 5 : -5)) }
    let accuracies = try (60..<120).map { second in
      let passed = screen.process(fix(second, "b", beside: 18))
      #expect(passed.count == 1 && passed.first?.suspicion == nil, "\(second)")
      return try #require(passed.first?.horizontalAccuracy)
    }
    let alone = try #require(AccuracyModel().location(from: fix(60, "b", beside: 18))?.horizontalAccuracy)
    #expect(accuracies.allSatisfy { abs($0 - alone) < 1e-9 }, "\(accuracies) \(alone)")
  }

  /// The largest possible distance does not depend on the receiver.
  @Test func changedReceiverHasTheSameSpeedLimit() {
    var screen = FixScreen()
    for second in 0..<10 { _ = screen.process(Place.fix(Double(second), 0, speed: 0)) }
    var fix = Place.fix(10, 5000, speed: 0)
    fix.receiver = "b"
    #expect(screen.process(fix).isEmpty && screen.counts.jumps == 1)
  }

  @Test func silenceAllowsALongerDistance() {
    var screen = FixScreen()
    _ = screen.process(Place.fix(0, 0, speed: 0))
    #expect(screen.process(Place.fix(60, 3000, speed: 0)).count == 1)
  }

  @Test func impossibleSpeedIsNotReported() throws {
    var screen = FixScreen()
    let candidate = screen.process(Place.fix(0, 0, speed: 470, course: 3)).first
    let location = try #require(candidate)
    #expect(location.speed == nil && location.course == nil)
  }

  @Test func reportWithoutPositionIsIgnored() {
    var screen = FixScreen()
    #expect(screen.process(PositionFix(timestamp: Timestamp(seconds: 0), mode: .noFix)).isEmpty)
    #expect(screen.counts.withoutPosition == 1)
  }

  @Test func repeatedFixIsReportedOnce() {
    var screen = FixScreen()
    var untimed = Place.fix(0, 0)
    untimed.time = nil
    let timed = Place.fix(0.1, 0)
    var later = timed
    later.time = timed.time?.advanced(bySeconds: 1)
    #expect(screen.process(untimed).count == 1)
    #expect(screen.process(timed).isEmpty)
    #expect(screen.process(timed).isEmpty)
    #expect(screen.process(later).count == 1)
    #expect(screen.counts.duplicates == 2)
  }

  /// The Munich drive has one lasting jump. All fixes of both drives are reported, in order.
  @Test(.needs(.recordings("tracks")), arguments: Place.tracks.prefix(2))
  func everyFixOfARecordedDriveIsReported(
    track: String
  ) throws {
    let fixes = try Place.recordedFixes(track)
    var screen = FixScreen()
    let told = fixes.flatMap { screen.process($0) }
    #expect(told.map(\.coordinate) == fixes.compactMap(\.coordinate))
    #expect(screen.counts.jumps == (track.hasPrefix("munich") ? 1 : 0))
    #expect(screen.counts.overconfident == 0 && screen.counts.refuted == 0)
  }

  /// Outliers of any size inserted into a recorded drive are never reported.
  @Test(.needs(.recordings("tracks"))) func insertedSpikesAreNeverReported() throws {
    let fixes = try Place.recordedFixes(Place.tracks[0])
    var random = SeededGenerator.announced()
    var spiked = fixes
    var planted: Set<Int> = []
    while planted.count < 60 {
      let index = Int.random(in: 10..<(fixes.count - 10), using: &random)
      // Two adjacent outliers could confirm each other; a single one cannot.
      guard planted.allSatisfy({ abs($0 - index) > 3 }), let coordinate = fixes[index].coordinate else {
        continue
      }
      planted.insert(index)
      spiked[index].coordinate = coordinate.destination(
        distance: .random(in: 5000...50_000, using: &random), bearing: .random(in: 0...360, using: &random))
    }
    var screen = FixScreen()
    let told = spiked.flatMap { screen.process($0) }
    let honest = fixes.indices.filter { !planted.contains($0) }.compactMap { fixes[$0].coordinate }
    #expect(told.map(\.coordinate) == honest)
    #expect(screen.counts.jumps == planted.count && screen.counts.refuted == planted.count)
  }
}
