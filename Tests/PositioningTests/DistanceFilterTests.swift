import Positioning
import Sensors
import Spatial
import Testing

@Suite struct DistanceFilterTests {
  private let origin = Coordinate(latitude: 48, longitude: 11)

  private func fix(at seconds: Double, east: Double) -> PositionFix {
    PositionFix(
      timestamp: Timestamp(seconds: seconds), mode: .threeDimensional,
      coordinate: origin.destination(distance: east, bearing: 90))
  }

  @Test func tellsTheFirstAndThenWhatHasMovedFarEnough() {
    var manager = LocationManager(distanceFilter: 10)
    let told = [0.0, 4, 9.9, 10.1, 15, 20.0, 20.2].enumerated().filter { step, east in
      manager.process(fix(at: Double(step), east: east)) != nil
    }.map(\.element)
    #expect(told == [0, 10.1, 20.2])
    #expect(manager.filteredCount == 4)
  }

  @Test func withoutAFilterTellsEveryPosition() {
    var manager = LocationManager()
    // The receiver's time moves on while the vehicle stands.
    #expect(
      (0..<5).allSatisfy { second in
        var fix = fix(at: Double(second), east: 0)
        fix.time = UTCTime(secondsSince1970: Double(second))
        return manager.process(fix) != nil
      })
  }

  @Test func aReportWithoutPositionTellsNothing() {
    var manager = LocationManager()
    #expect(manager.process(PositionFix(timestamp: Timestamp(seconds: 0), mode: .noFix)) == nil)
    #expect(manager.reportsWithoutPosition == 1)
  }

  @Test func aRepeatedReportIsToldOnce() {
    var manager = LocationManager()
    var untimed = fix(at: 0, east: 0)
    untimed.time = nil
    var timed = fix(at: 0.1, east: 0)
    timed.time = UTCTime(secondsSince1970: 5)
    var later = timed
    later.time = UTCTime(secondsSince1970: 6)
    #expect(manager.process(untimed) != nil)
    #expect(manager.process(timed) == nil)
    #expect(manager.process(timed) == nil)
    #expect(manager.process(later) != nil)
    #expect(manager.duplicateCount == 2)
  }
}
