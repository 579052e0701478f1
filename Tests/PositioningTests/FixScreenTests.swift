import Positioning
import Sensors
import Simulation
import Spatial
import TestSupport
import Testing

@Suite struct FixScreenTests {
  /// One fix a second: metres east at a speed; what is let pass with each, by its second.
  struct Row: Sendable, CustomTestStringConvertible {
    var testDescription: String
    /// Metres east of the start and metres per second, one a second.
    var fixes: [(east: Double, speed: Double?)]
    /// For each fix the seconds of the fixes that are let pass when it comes.
    var passed: [[Int]]
    var jumps = 0
    var overconfident = 0
    var confirmed = 0
    var refuted = 0
  }

  private static let rows: [Row] = [
    Row(
      testDescription: "a drive passes as it is",
      fixes: [(0, 20), (20, 20), (40, 20), (60, 20)], passed: [[0], [1], [2], [3]]),
    Row(
      testDescription: "a spike is held back and refuted",
      fixes: [(0, 20), (20, 20), (900, 20), (60, 20), (80, 20)], passed: [[0], [1], [], [3], [4]],
      jumps: 1, refuted: 1),
    Row(
      testDescription: "a jump that stays is confirmed with the third fix, in order",
      fixes: [(0, 20), (20, 20), (900, 20), (920, 20), (940, 20), (960, 20)],
      passed: [[0], [1], [], [], [2, 3, 4], [5]], jumps: 1, confirmed: 3),
    Row(
      testDescription: "a jump that returns after two fixes is refuted",
      fixes: [(0, 0), (0, 0), (900, 0), (900, 0), (0, 0)], passed: [[0], [1], [], [], [4]],
      jumps: 1, refuted: 2),
    Row(
      testDescription: "one wild fix after another: none is believed",
      fixes: [(0, 0), (500, 0), (-500, 0), (1000, 0), (1, 0)], passed: [[0], [], [], [], [4]],
      jumps: 3, refuted: 3),
    Row(
      testDescription: "a parked vehicle that claims 60 m in a second without any speed is overconfident",
      fixes: [(0, 0), (60, 0), (0, 0)], passed: [[0], [], [2]], overconfident: 1, refuted: 1),
    Row(
      testDescription: "without a speed only the impossible is doubted",
      fixes: [(0, nil), (60, nil), (0, nil)], passed: [[0], [1], [2]]),
    Row(
      testDescription: "a receiver that repeats a position and then catches up is believed",
      fixes: [(0, 18), (18, 18), (18, 0), (54, 36), (72, 18)], passed: [[0], [1], [2], [3], [4]]),
  ]

  @Test(arguments: rows) func holdsBackWhatCannotBe(row: Row) {
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

  @Test(arguments: [
    (ActivityType.pedestrian, 60.0, false), (.automotive, 60, true), (.automotive, 200, false),
    (.other, 200, true), (.other, 500, false),
  ])
  func theActivitySaysWhatIsPossible(activity: ActivityType, metres: Double, passes: Bool) {
    var screen = FixScreen(activity: activity)
    _ = screen.process(Place.fix(0, 0))
    #expect(screen.process(Place.fix(1, metres)).isEmpty != passes)
  }

  @Test func aSilenceMakesAWayPossible() {
    var screen = FixScreen()
    _ = screen.process(Place.fix(0, 0, speed: 0))
    #expect(screen.process(Place.fix(60, 3000, speed: 0)).count == 1)
  }

  @Test func anImpossibleSpeedIsNotTold() throws {
    var screen = FixScreen()
    let candidate = screen.process(Place.fix(0, 0, speed: 470, course: 3)).first
    let location = try #require(candidate)
    #expect(location.speed == nil && location.course == nil)
  }

  @Test func aReportWithoutPositionTellsNothing() {
    var screen = FixScreen()
    #expect(screen.process(PositionFix(timestamp: Timestamp(seconds: 0), mode: .noFix)).isEmpty)
    #expect(screen.counts.withoutPosition == 1)
  }

  @Test func aRepeatedReportIsToldOnce() {
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

  /// Munich holds one jump that stays; nothing of either drive is lost, and nothing is told out of order.
  @Test(.needs(.recordings("tracks")), arguments: Place.tracks.prefix(2)) func everyFixOfARealDriveIsTold(
    track: String
  ) throws {
    let fixes = try Place.recordedFixes(track)
    var screen = FixScreen()
    let told = fixes.flatMap { screen.process($0) }
    #expect(told.map(\.coordinate) == fixes.compactMap(\.coordinate))
    #expect(screen.counts.jumps == (track.hasPrefix("munich") ? 1 : 0))
    #expect(screen.counts.overconfident == 0 && screen.counts.refuted == 0)
  }

  /// Spikes planted into a real drive are never told, whatever their size and place, if nothing could make them.
  @Test(.needs(.recordings("tracks"))) func plantedSpikesAreNeverTold() throws {
    let fixes = try Place.recordedFixes(Place.tracks[0])
    var random = SeededGenerator.announced()
    var spiked = fixes
    var planted: Set<Int> = []
    while planted.count < 60 {
      let index = Int.random(in: 10..<(fixes.count - 10), using: &random)
      // Two spikes side by side could confirm each other; one alone never can.
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
