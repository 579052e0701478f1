import Positioning
import Sensors
import Simulation
import Spatial
import TestSupport
import Testing

@Suite struct CoarseTrackerTests {
  private func position(_ seconds: Double, _ east: Double, _ north: Double = 0, accuracy: Double = 60)
    -> CoarsePosition
  {
    CoarsePosition(
      timestamp: Timestamp(seconds: seconds), coordinate: Place.coordinate(east, north),
      horizontalAccuracy: accuracy, radius95: 1.7 * accuracy, beacons: 5)
  }

  /// Averages over 30 stops: in a single stop, the mean of all positions may itself be off by half the error of a position.
  @Test func positionsAtRestAreAveraged() {
    var random = SeededGenerator.announced()
    var errors = (raw: 0.0, smooth: 0.0)
    for _ in 0..<30 {
      var tracker = CoarseTracker()
      var last = position(0, 0)
      for step in 0..<100 {
        let raw = position(300 * Double(step), 40 * random.nextNormal(), 40 * random.nextNormal())
        last = tracker.process(raw, isAtRest: step > 0)
        if step >= 20 {
          errors.raw += raw.coordinate.distance(to: Place.origin)
          errors.smooth += last.coordinate.distance(to: Place.origin)
        }
      }
      // The common error of all scans at one position remains.
      #expect(last.horizontalAccuracy > 40 && last.horizontalAccuracy < 60)
    }
    #expect(errors.smooth < 0.5 * errors.raw, "seed \(random.seed): \(errors)")
  }

  @Test func pastPositionsHaveLittleWeightWhileMoving() {
    var tracker = CoarseTracker()
    _ = tracker.process(position(0, 0), isAtRest: false)
    let next = tracker.process(position(60, 800), isAtRest: false)
    #expect(next.coordinate.distance(to: Place.coordinate(800)) < 20 && next.horizontalAccuracy <= 60)
  }

  @Test func unreachablePositionIsNotAcceptedImmediately() {
    var tracker = CoarseTracker()
    _ = tracker.process(position(0, 0), isAtRest: false)
    let doubted = tracker.process(position(30, 50_000), isAtRest: false)
    // The previous position, with a radius increased by the distance that is possible since.
    #expect(doubted.coordinate.distance(to: Place.origin) < 1 && doubted.radius95 > 1800)
    let borneOut = tracker.process(position(60, 50_300), isAtRest: false)
    #expect(borneOut.coordinate.distance(to: Place.coordinate(50_300)) < 1)
    // After hours, any distance is possible.
    var late = CoarseTracker()
    _ = late.process(position(0, 0), isAtRest: false)
    let far = late.process(position(7200, 500_000), isAtRest: false)
    #expect(far.coordinate.distance(to: Place.coordinate(500_000)) < 1)
  }
}
