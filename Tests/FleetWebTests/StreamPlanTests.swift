import FleetWeb
import Platform
import Testing

/// Times of the updates of a stream, with a virtual clock.
struct StreamPlanTests {
  /// A client that changes from all vehicles to a part receives updates of the rest as often as others.
  @Test func sweepsAreFrequentAfterAViewOfAll() throws {
    var cursor = StreamCursor.resuming(1)
    var view = StreamView()
    var now = MonotonicTime.start.advanced(bySeconds: 100)
    for revision in 2..<242 {
      now = now.advanced(bySeconds: 0.25)
      cursor = StreamPlan(cursor, view, .all, revision: UInt64(revision), at: now).cursor
      #expect(cursor.outside == UInt64(revision))
    }
    view.bounds = try MapBounds(parsing: "11,48,12,49")
    var sweeps = 0
    for revision in 242..<322 {
      now = now.advanced(bySeconds: 0.25)
      cursor = StreamPlan(cursor, view, .all, revision: UInt64(revision), at: now).cursor
      #expect(cursor.sweepAt.seconds(since: now) <= 5)
      if cursor.outside == UInt64(revision) { sweeps += 1 }
    }
    // In 20 s.
    #expect((3...5).contains(sweeps))
  }
}
