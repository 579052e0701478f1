import Testing

@testable import FleetWeb

/// When a stream is told what, in exact time.
struct StreamPlanTests {
  private let second: Int64 = 1_000_000_000

  /// Whoever looks at all and then at a part is told of what is outside as often as others.
  @Test func aSweepIsNeverFarAwayAfterLookingAtAll() throws {
    var cursor = StreamCursor.resuming(1)
    var view = StreamView()
    var now = 100 * second
    for revision in 2..<242 {
      now += second / 4
      cursor = StreamPlan(cursor, view, .all, revision: UInt64(revision), at: now).cursor
      #expect(cursor.outside == UInt64(revision))
    }
    view.bounds = try MapBounds(parsing: "11,48,12,49")
    var sweeps = 0
    for revision in 242..<322 {
      now += second / 4
      cursor = StreamPlan(cursor, view, .all, revision: UInt64(revision), at: now).cursor
      #expect(cursor.sweepAt - now <= 5 * second)
      if cursor.outside == UInt64(revision) { sweeps += 1 }
    }
    // In twenty seconds.
    #expect((3...5).contains(sweeps))
  }
}
