import Motion
import Spatial
import TestSupport
import Testing

@Suite struct ShakeDetectorTests {
  /// Swings along x of the given signs, one every `period` seconds, each 40 ms long, sampled at 100 Hz.
  private func run(_ swings: [Double], period: Double = 0.15, peak: Double = 2, for seconds: Double = 6)
    -> [ShakeDetector.Event]
  {
    var detector = ShakeDetector()
    var events: [ShakeDetector.Event] = []
    for index in 0..<Int(seconds * 100) {
      let time = Double(index) / 100
      let swing = Int(time / period)
      let isSwinging = swing < swings.count && time - Double(swing) * period < 0.04
      let value = isSwinging ? swings[swing] * peak : 0.05
      events += detector.process(userAcceleration: Vector3(value, 0.1, 0), at: Timestamp(seconds: time))
    }
    return events
  }

  @Test func aShakeBeginsAndEnds() {
    let events = run([1, -1, 1, -1, 1, -1])
    #expect(events == [.began(Timestamp(seconds: 0.15)), .ended(Timestamp(seconds: 1.15), swings: 6)])
  }

  @Test func aBumpAndItsReboundAreCancelled() {
    #expect(
      run([1, -1])
        == [.began(Timestamp(seconds: 0.15)), .cancelled(Timestamp(seconds: 0.55), .tooFewSwings)])
  }

  @Test func whatLastsTooLongIsCancelledOnceAndNeedsQuiet() {
    let swings = (0..<30).map { $0.isMultiple(of: 2) ? 1.0 : -1.0 }
    let events = run(swings)
    #expect(events == [.began(Timestamp(seconds: 0.15)), .cancelled(Timestamp(seconds: 3.01), .tooLong)])
  }

  @Test(arguments: [[1.0], [1, 1, 1, 1, 1, 1], []])
  func pushesInOneDirectionAreNoShake(swings: [Double]) {
    #expect(run(swings).isEmpty)
  }

  @Test func gentleOrSlowSwingsAreNoShake() {
    #expect(run([1, -1, 1, -1, 1, -1], peak: 1.1).isEmpty)
    #expect(run([1, -1, 1, -1, 1, -1], period: 0.6).isEmpty)
  }

  @Test func twoShakesAreTwo() {
    let events = run([1, -1, 1, -1, 0, 0, 0, 0, 1, -1, 1, -1])
    #expect(events.count == 4)
    #expect(events.last == .ended(Timestamp(seconds: 2.05), swings: 4))
  }

  @Test func itEndsThoughSamplesStop() {
    var detector = ShakeDetector()
    for index in 0..<5 {
      _ = detector.process(
        userAcceleration: Vector3(0, index.isMultiple(of: 2) ? 2 : -2, 0),
        at: Timestamp(seconds: 0.1 * Double(index)))
    }
    #expect(detector.isShaking)
    #expect(detector.advance(to: Timestamp(seconds: 0.7)).isEmpty)
    #expect(detector.advance(to: Timestamp(seconds: 60)) == [.ended(Timestamp(seconds: 0.8), swings: 5)])
    #expect(!detector.isShaking)
  }

  /// Whatever comes in: began and its end alternate, times do not go back.
  @Test func everyBeginningHasOneEnd() {
    var generator = SplitMix.announced()
    for _ in 0..<200 {
      var detector = ShakeDetector()
      var (isOpen, last) = (false, Timestamp(nanoseconds: .min))
      var time = 0.0
      for _ in 0..<500 {
        time += generator.uniform(0...0.08)
        var value = Vector3(generator.normal(), generator.normal(), generator.normal()) * 1.5
        if generator.uniform(0...1) < 0.02 { value.x = .nan }
        for event in detector.process(userAcceleration: value, at: Timestamp(seconds: time)) {
          if case .began = event { #expect(!isOpen) } else { #expect(isOpen) }
          isOpen.toggle()
          #expect(event.timestamp >= last)
          last = event.timestamp
        }
        #expect(isOpen == detector.isShaking)
      }
    }
  }
}

@Suite struct ImpactDetectorTests {
  private func run(_ samples: [(Double, Vector3)]) -> [Impact] {
    var detector = ImpactDetector()
    return samples.compactMap {
      detector.process(userAcceleration: $0.1, at: Timestamp(seconds: $0.0))
    }
  }

  /// A half sine of 60 ms, then a rebound of the other sign, at 200 Hz; quiet until 2 s.
  private func blow(_ direction: Vector3, peak: Double, rebound: Double, at start: Double = 0.1)
    -> [(Double, Vector3)]
  {
    (0..<400).map { index in
      let time = Double(index) / 200
      let phase = (time - start) / 0.06
      let shape: Double =
        switch phase {
        case 0..<1: peak * 4 * phase * (1 - phase)
        case 1..<2: -rebound * 4 * (phase - 1) * (2 - phase)
        default: 0
        }
      return (time, direction * shape)
    }
  }

  @Test(arguments: [
    (Vector3(0, 1, 0), Impact.Side.front), (Vector3(0, -1, 0), .rear), (Vector3(-1, 0, 0), .left),
    (Vector3(1, 0, 0), .right), (Vector3(0, 0, 1), .top), (Vector3(0, 0, -1), .bottom),
    (Vector3(0.6, 0.8, 0), .front), (Vector3(-0.8, 0.6, 0), .left),
  ])
  func theStruckSideAndThePeak(direction: Vector3, side: Impact.Side) throws {
    // The rebound is larger than the blow: it must not decide.
    let impacts = run(blow(direction, peak: 5, rebound: 7))
    #expect(impacts.count == 1)
    let impact = try #require(impacts.first)
    #expect(impact.side == side)
    #expect(abs(impact.peak - 5) < 0.1)
    #expect((impact.direction - direction).length < 1e-9)
    #expect(abs(impact.timestamp.seconds - 0.11) < 0.006)
  }

  @Test func ringingIsOneEvent() {
    let samples = (0..<400).map { index -> (Double, Vector3) in
      let time = Double(index) / 200
      let sign = index.isMultiple(of: 4) ? 1.0 : -1.0
      return (time, Vector3(0, time < 1 ? sign * (6 - 5 * time) : 0, 0))
    }
    #expect(run(samples).count == 1)
  }

  @Test func twoBlowsAreTwo() {
    let second = blow(Vector3(1, 0, 0), peak: 4, rebound: 1).map { ($0.0 + 2, $0.1) }
    #expect(run(blow(Vector3(0, 1, 0), peak: 5, rebound: 3) + second).map(\.side) == [.front, .right])
  }

  @Test func brakingIsNone() {
    #expect(run(blow(Vector3(0, 1, 0), peak: 1.2, rebound: 0.5)).isEmpty)
  }

  @Test func aBlowIsReportedThoughSamplesStop() {
    var detector = ImpactDetector()
    #expect(detector.process(userAcceleration: Vector3(0, 0, -8), at: Timestamp(seconds: 1)) == nil)
    #expect(detector.advance(to: Timestamp(seconds: 1.1)) == nil)
    let impact = detector.advance(to: Timestamp(seconds: 1.2))
    #expect(impact?.side == .bottom && impact?.peak == 8)
    #expect(detector.advance(to: Timestamp(seconds: 9)) == nil)
  }

  @Test func whateverComesInPeaksAreAboveTheThreshold() {
    var generator = SplitMix.announced()
    var detector = ImpactDetector()
    var last: Timestamp?
    for index in 0..<20_000 {
      var value = Vector3(generator.normal(), generator.normal(), generator.normal()) * 0.9
      if generator.uniform(0...1) < 0.01 { value.y = .infinity }
      guard let impact = detector.process(userAcceleration: value, at: Timestamp(seconds: Double(index) / 50))
      else { continue }
      #expect(impact.peak >= 2.5 && impact.peak.isFinite && abs(impact.direction.length - 1) < 1e-9)
      if let last { #expect(impact.timestamp.seconds(since: last) > 0.3) }
      last = impact.timestamp
    }
    #expect(last != nil)
  }
}
