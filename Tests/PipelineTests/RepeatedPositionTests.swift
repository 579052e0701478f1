import Pipeline
import Positioning
import Sensors
import Spatial
import Telemetry
import Testing

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

  /// A parked receiver that holds its position is accepted. After one minute at rest, a frozen one is accepted, too.
  @Test func aRepeatedPositionAtRestIsAccepted() {
    var repeated = RepeatedPosition()
    for second in 0..<600 { repeated.process(fix(second), speeds: [0.3, nil]) }
    #expect(!repeated.isFrozen)
    for second in 600...601 { repeated.process(fix(second), speeds: [9]) }
    #expect(repeated.isFrozen)
    for second in 602..<661 { repeated.process(fix(second), speeds: [0, .nan]) }
    #expect(repeated.isFrozen)
    repeated.process(fix(661), speeds: [0])
    #expect(!repeated.isFrozen)
  }

  /// An unknown speed does not prove rest.
  @Test func unknownSpeedIsNoRest() {
    var repeated = RepeatedPosition()
    for second in 0...1 { repeated.process(fix(second), speeds: [12]) }
    for second in 2...600 { repeated.process(fix(second), speeds: [nil, .nan]) }
    #expect(repeated.isFrozen)
  }

  /// A speed between the limits of its error is neither motion nor rest.
  @Test func uncertainSpeedIsNoRest() {
    var repeated = RepeatedPosition()
    for second in 0...1 { repeated.process(fix(second), speeds: [12], fastest: 12) }
    for second in 2...600 { repeated.process(fix(second), speeds: [-2], fastest: 4) }
    #expect(repeated.isFrozen)
    for second in 601...661 { repeated.process(fix(second), speeds: [-0.1], fastest: 0.1) }
    #expect(!repeated.isFrozen)
  }

  /// Rest after a long distance confirms no position: the vehicle is at rest elsewhere.
  @Test func restAfterALongDistanceIsStillFrozen() {
    var repeated = RepeatedPosition()
    for second in 0...25 { repeated.process(fix(second), speeds: [12]) }
    for second in 26...600 { repeated.process(fix(second), speeds: [0]) }
    #expect(repeated.isFrozen)
    repeated.process(fix(601, latitude: 48.001), speeds: [0])
    #expect(!repeated.isFrozen)
  }

  /// The first speed after a sleep does not apply to the sleep.
  @Test func speedAfterASleepDoesNotApplyToTheSleep() {
    var repeated = RepeatedPosition()
    for second in 0...60 { repeated.process(fix(second), speeds: [0]) }
    repeated.process(fix(3660), speeds: [2])
    #expect(!repeated.isFrozen)
  }

  @Test func frozenPositionIsDetectedAfterReconfiguration() throws {
    let configuration = PipelineConfiguration([{ $0.location.policy = .distance(nil) }])
    var pipeline = AgentPipeline(
      configuration: configuration, start: Timestamp(seconds: 0), time: UTCTime(nanoseconds: 0), version: "1")
    var radii: [Double?] = []
    func process(_ second: Int, _ pipeline: inout AgentPipeline) {
      var moving = fix(second)
      (moving.speed, moving.horizontalError) = (12, 3)
      pipeline.process(.position([moving])) {
        if case .location(let message) = $0 { radii.append(message.location.horizontalAccuracy) }
      }
    }
    for second in 0...1 { process(second, &pipeline) }
    var other = configuration
    other.location.policy = .distance(1)
    pipeline.reconfigure(other) { _ in }
    radii = []
    process(2, &pipeline)
    #expect(radii.compactMap(\.self).contains { $0 >= 24 }, "\(radii)")
  }
}
