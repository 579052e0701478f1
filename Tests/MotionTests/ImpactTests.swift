import Foundation
import Spatial
import TestSupport
import Testing

@testable import Motion

@Suite struct ImpactDetectorTests {
  private func run(_ samples: [(Double, Vector3)], _ settings: ImpactDetector.Settings = .init()) -> [Impact]
  {
    var detector = ImpactDetector(settings: settings)
    return samples.compactMap {
      detector.process(userAcceleration: $0.1, at: Timestamp(seconds: $0.0))
    }
  }

  /// A half sine of 60 ms, then a rebound of the opposite sign, at 200 Hz; quiet until 2 s.
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
  func sideAndPeakAreReported(direction: Vector3, side: Impact.Side) throws {
    // The rebound is larger than the impact, but does not determine its side.
    let impacts = run(blow(direction, peak: 5, rebound: 7))
    #expect(impacts.count == 1)
    let impact = try #require(impacts.first)
    #expect(impact.side == side)
    #expect(abs(impact.peak - 5) < 0.1)
    #expect((impact.direction - direction).length < 1e-9)
    #expect(abs(impact.timestamp.seconds - 0.11) < 0.006)
  }

  @Test func ringingIsOneImpact() {
    let samples = (0..<400).map { index -> (Double, Vector3) in
      let time = Double(index) / 200
      let sign = index.isMultiple(of: 4) ? 1.0 : -1.0
      return (time, Vector3(0, time < 1 ? sign * (6 - 5 * time) : 0, 0))
    }
    #expect(run(samples).count == 1)
  }

  @Test func twoImpactsAreSeparate() {
    let second = blow(Vector3(1, 0, 0), peak: 4, rebound: 1).map { ($0.0 + 2, $0.1) }
    #expect(run(blow(Vector3(0, 1, 0), peak: 5, rebound: 3) + second).map(\.side) == [.front, .right])
  }

  @Test func brakingIsNoImpact() {
    #expect(run(blow(Vector3(0, 1, 0), peak: 1.2, rebound: 0.5)).isEmpty)
  }

  @Test func impactIsReportedWithoutFurtherSamples() {
    var detector = ImpactDetector()
    #expect(detector.process(userAcceleration: Vector3(0, 0, -8), at: Timestamp(seconds: 1)) == nil)
    #expect(detector.advance(to: Timestamp(seconds: 1.1)) == nil)
    let impact = detector.advance(to: Timestamp(seconds: 1.2))
    #expect(impact?.side == .bottom && impact?.peak == 8)
    #expect(detector.advance(to: Timestamp(seconds: 9)) == nil)
  }

  @Test func reportedPeaksExceedTheThreshold() {
    var generator = SplitMix.announced()
    var detector = ImpactDetector()
    var last: Impact?
    for index in 0..<20_000 {
      var value = Vector3(generator.normal(), generator.normal(), generator.normal()) * 0.9
      if generator.uniform(0...1) < 0.01 { value.y = .infinity }
      guard let impact = detector.process(userAcceleration: value, at: Timestamp(seconds: Double(index) / 50))
      else { continue }
      #expect(impact.peak >= 2.5 && impact.peak.isFinite && abs(impact.direction.length - 1) < 1e-9)
      // A stronger impact across the last one can follow immediately; along the same line, only one that is too strong for a rebound.
      if let last {
        let isAcross = abs(impact.direction.dot(last.direction)) < 0.75 && impact.peak > last.peak
        let isOwn = isAcross || impact.peak > 1.5 * last.peak
        #expect(impact.timestamp.seconds(since: last.timestamp) > (isOwn ? 0 : 0.3))
      }
      last = impact
    }
    #expect(last != nil)
  }

  /// A slap on one side, a half sine of 40 ms, during or after a forward acceleration of 2.7 g, which itself reads as an impact on the
  /// rear.
  private func startOff(
    for duration: Double, slap side: Vector3, of peak: Double, at time: Double, hertz: Double
  ) -> [(Double, Vector3)] {
    (0..<Int(3 * hertz)).map { index in
      let now = Double(index) / hertz
      var reading = Vector3.zero
      if (1..<1 + duration).contains(now) { reading += Vector3(0, -2.7, 0) }
      if (time..<time + 0.04).contains(now) { reading += peak * sin(.pi * (now - time) / 0.04) * side }
      return (now, reading)
    }
  }

  @Test(
    arguments: [0.02, 0.06, 0.1, 0.2, 0.5, 1.0],
    [Impact.Side.left, .right, .top])
  func impactSideIsRightAfterStrongAcceleration(duration: Double, side: Impact.Side) throws {
    let line = side == .top ? Vector3(0, 0, 1) : Vector3(side == .left ? -1 : 1, 0, 0)
    for hertz in [100.0, 200, 1000] {
      // During the acceleration, near its end, and shortly after it.
      for time in [1 + duration / 2, 1 + duration - 0.02, 1 + duration, 1 + duration + 0.1] where time > 1.015
      {
        let impacts = run(startOff(for: duration, slap: line, of: 4, at: time, hertz: hertz))
        let last = try #require(impacts.last)
        let what = "\(hertz) Hz, slap at \(time): \(impacts)"
        #expect(last.side == side, "\(what)")
        #expect(abs(last.peak - 4) < 0.7 && last.direction.dot(line) > 0.9, "\(what)")
        // The only other impact is the acceleration itself, which exceeds the threshold.
        #expect(impacts.dropLast().allSatisfy { $0.side == .rear }, "\(what)")
      }
    }
  }

  @Test func strongerOppositeImpactDeterminesTheSide() {
    var samples = blow(Vector3(0, 1, 0), peak: 2.7, rebound: 0)
    for index in samples.indices where (0.12..<0.16).contains(samples[index].0) { samples[index].1.x = -4 }
    #expect(run(samples).map(\.side) == [.left])
  }

  @Test func lightImpactIsReportedWithLowerThreshold() throws {
    var settings = ImpactDetector.Settings()
    for hertz in [100.0, 200, 1000] {
      let slap = startOff(for: 0, slap: Vector3(-1, 0, 0), of: 1.2, at: 1, hertz: hertz)
      settings.threshold = 1.0
      let impact = try #require(run(slap, settings).first)
      #expect(impact.side == .left && abs(impact.peak - 1.2) < 0.06)
      settings.threshold = 1.3
      #expect(run(slap, settings).isEmpty && run(slap).isEmpty)
    }
  }

  /// Shapes of an impact over its duration of 60 ms.
  enum Shape: CaseIterable {
    case halfSine, haversine
    /// Modelled on a device in a bracket: jagged, with a rebound and decaying oscillation.
    case recorded

    func value(_ phase: Double) -> Double {
      switch self {
      case .halfSine: (0..<1).contains(phase) ? sin(.pi * phase) : 0
      case .haversine: (0..<1).contains(phase) ? 0.5 - 0.5 * cos(2 * .pi * phase) : 0
      case .recorded:
        switch phase {
        case 0..<1: min(1, sin(.pi * phase) + 0.08 * sin(23 * phase))
        case 1..<8: -0.45 * exp(-(phase - 1) / 2) * sin(.pi * (phase - 1) * 1.3)
        default: 0
        }
      }
    }
  }

  /// An acceleration with a reading `push` from 1 s on for `duration`, then an impact with a reading `impact`, at 200 Hz.
  private func startOff(
    _ push: Vector3, for duration: Double, then impact: Vector3, _ shape: Shape, gap: Double
  )
    -> [(Double, Vector3)]
  {
    (0..<600).map { index in
      let time = Double(index) / 200
      let pushed = (1..<1 + duration).contains(time) ? push : .zero
      return (time, pushed + shape.value((time - 1 - duration - gap) / 0.06) * impact)
    }
  }

  private static func horizontal(_ degrees: Int) -> Vector3 {
    Vector3(sin(Double(degrees).radians), cos(Double(degrees).radians), 0)
  }

  /// Impacts from 12 directions, after an acceleration of half a second or one second below, at and above the threshold, in the same, the
  /// opposite and other directions.
  @Test(arguments: Array(stride(from: 0, to: 360, by: 30)), Shape.allCases)
  func impactSideIsRightAfterAcceleration(degrees: Int, shape: Shape) throws {
    let direction = Self.horizontal(degrees)
    let side = Impact.Side(direction: direction)
    for push in [0.8 * 2.5, 2.5, 1.2 * 2.5, 3.2] {
      for (line, duration, gap) in [0, 60, 90, 180, 240, 330].flatMap({ turn in
        [(turn, 0.5, 0.0), (turn, 0.5, 0.1), (turn, 1, 0.02)]
      }) {
        let start = Self.horizontal(degrees + line)
        let impacts = run(
          startOff(push * start, for: duration, then: 8 * direction, shape, gap: gap))
        let what = "\(degrees)°, \(shape), push \(push) from \(line)°, \(duration) s, gap \(gap): \(impacts)"
        let last = try #require(impacts.last, "\(what)")
        #expect(last.side == side && last.direction.dot(direction) > 0.9, "\(what)")
        #expect(abs(last.peak - 8) < 1, "\(what)")
        #expect(last.timestamp.seconds >= 1 + duration + gap - 1e-9, "\(what)")
        // The only other impact is the acceleration itself, if it reaches the threshold.
        let others = impacts.dropLast()
        #expect(others.count <= (push < 2.5 ? 0 : 1), "\(what)")
        #expect(others.allSatisfy { $0.direction.dot(start) > 0.99 }, "\(what)")
      }
    }
  }

  /// A short acceleration, then an impact in the opposite direction that is too strong for its rebound. The peak is accurate to 10 %.
  @Test(arguments: [(1.2, -2.0, 1.0), (3, -8, 2.5), (1.2, -2.0, 1.2), (0.9, -2.0, 1.0), (3, -8, 4)])
  func oppositeImpactIsNoRebound(push: Double, peak: Double, threshold: Double) throws {
    var settings = ImpactDetector.Settings()
    settings.threshold = threshold
    for duration in [0.06, 0.1, 0.2, 0.3, 0.5, 1] {
      let samples = startOff(
        Vector3(push, 0, 0), for: duration, then: Vector3(peak, 0, 0), .halfSine, gap: 0)
      let impacts = run(samples, settings)
      let last = try #require(impacts.last)
      #expect(last.side == .left && abs(last.peak + peak) < 0.1 * abs(peak), "\(duration) s: \(impacts)")
      #expect(impacts.count == (push < threshold ? 1 : 2), "\(duration) s: \(impacts)")
    }
  }

  @Test func everySettingIsEffective() {
    let hit = blow(Vector3(-1, 0, 0), peak: 4, rebound: 1)
    func count(_ samples: [(Double, Vector3)], _ change: (inout ImpactDetector.Settings) -> Void) -> Int {
      var settings = ImpactDetector.Settings()
      change(&settings)
      return run(samples, settings).count
    }
    #expect(count(hit) { $0.sides = [.left] } == 1)
    #expect(count(hit) { $0.sides = [.front, .rear, .right, .top, .bottom] } == 0)
    let second = hit + hit.map { ($0.0 + 2.5, $0.1) }
    #expect(count(second) { _ in } == 2)
    #expect(count(second) { $0.quietTime = 5 } == 1)
    // The impact still lasts at the end of the pulse duration and is reported then.
    var short = ImpactDetector.Settings()
    short.pulseDuration = 0.02
    var detector = ImpactDetector(settings: short)
    let told = hit.first { detector.process(userAcceleration: $0.1, at: Timestamp(seconds: $0.0)) != nil }
    #expect((told?.0 ?? 9) < 0.15)
  }
}
