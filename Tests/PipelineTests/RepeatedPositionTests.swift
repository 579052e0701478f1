import Sensors
import Spatial
import Testing

@testable import Pipeline

/// Receivers that repeat their last position.
@Suite struct RepeatedPositionTests {
  private func fix(_ second: Int, latitude: Double = 48) -> PositionFix {
    PositionFix(
      timestamp: Timestamp(seconds: Double(second)), mode: .threeDimensional,
      coordinate: Coordinate(latitude: latitude, longitude: 11))
  }

  @Test func aRepeatedPositionInMotionIsFrozen() {
    var repeated = RepeatedPosition()
    repeated.process(fix(0), speeds: [nil, 12])
    #expect(!repeated.isFrozen)
    repeated.process(fix(1), speeds: [nil, 12])
    #expect(repeated.isFrozen)
    repeated.process(fix(2, latitude: 48.001), speeds: [12])
    #expect(!repeated.isFrozen)
  }

  /// A parked receiver that holds its position is accepted, and after a minute at rest also one that was frozen.
  @Test func aRepeatedPositionAtRestIsAccepted() {
    var repeated = RepeatedPosition()
    for second in 0..<600 { repeated.process(fix(second), speeds: [0.3, nil]) }
    #expect(!repeated.isFrozen)
    repeated.process(fix(600), speeds: [9])
    #expect(repeated.isFrozen)
    for second in 601..<660 { repeated.process(fix(second), speeds: [0, .nan]) }
    #expect(repeated.isFrozen)
    repeated.process(fix(660), speeds: [0])
    #expect(!repeated.isFrozen)
  }
}
