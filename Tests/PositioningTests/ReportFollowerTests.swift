import Positioning
import Spatial
import Testing

@Suite struct ReportFollowerTests {
  private func report(_ moment: Double, east: Double, delay: Double = 5) -> ReportPredictor {
    ReportPredictor(
      moment: Timestamp(seconds: moment), coordinate: Coordinate(latitude: 0, longitude: 179.9999),
      velocity: SIMD2(east, 0), bound: 10, delay: delay)
  }

  @Test func predictionCrossesTheAntimeridian() {
    let shown = report(0, east: 20).coordinate(at: Timestamp(seconds: 10))
    #expect(abs(shown.longitude - (-179.9983)) < 0.0001)
    #expect(abs(shown.distance(to: Coordinate(latitude: 0, longitude: 179.9999)) - 200) < 0.1)
  }

  @Test func reportTakesEffectAtItsTime() {
    var follower = ReportFollower()
    #expect(follower.position(now: Timestamp(seconds: 0)) == nil)
    follower.receive(report(20, east: 2))
    follower.receive(report(10, east: 1))
    follower.receive(report(20, east: 3))
    #expect(follower.position(now: Timestamp(seconds: 14.9)) == nil)
    #expect(follower.report(for: Timestamp(seconds: 19.9))?.velocity.x == 1)
    #expect(follower.report(for: Timestamp(seconds: 20))?.velocity.x == 3)
    #expect(follower.position(now: Timestamp(seconds: 25))?.moment == Timestamp(seconds: 20))
    follower.forget(before: Timestamp(seconds: 19))
    #expect(follower.report(for: Timestamp(seconds: 19))?.velocity.x == 1)
    follower.forget(before: Timestamp(seconds: 20))
    #expect(follower.report(for: Timestamp(seconds: 19)) == nil)
  }
}
