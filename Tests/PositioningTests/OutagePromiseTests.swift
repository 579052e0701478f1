import Foundation
import Positioning
import Sensors
import Simulation
import Spatial
import Testing

/// The error bound while inertial sensors replace the receiver: the error of their positions counts towards it.
@Suite struct OutagePromiseTests {
  private static let epsilon = 20.0

  /// Seconds in outages: all, those with a guaranteed bound, and those of them beyond the bound.
  private struct Result {
    var seconds = 0
    var promised = 0
    var broken: [(second: Int, error: Double)] = []
    var worst = 0.0
    var reports = 0
  }

  /// Plays a drive with three outages. Their positions have the error of a constant velocity error and a random walk, and state exactly the
  /// radius of that error.
  private func play(seed: UInt64, delay: Double) -> Result {
    var random = SeededGenerator(seed: seed)
    let plane = PlaneTrack()
    var (place, speed, course, turn, acceleration) = (SIMD2(0.0, 0), 15.0, 0.0, 0.0, 0.0)
    var (error, drift, variance) = (SIMD2(0.0, 0), SIMD2(0.0, 0), 0.0)
    let drift68 = 0.02 + 0.2 * random.nextUniform()
    let walk = 0.1 + 0.4 * random.nextUniform()
    var truth: [Coordinate] = []
    var fixes: [Location] = []
    let outages = [100..<160, 250..<340, 420..<470]
    for second in 0..<560 {
      if random.nextUniform() < 0.08 { turn = 12 * (2 * random.nextUniform() - 1) }
      if random.nextUniform() < 0.08 { acceleration = 2 * (2 * random.nextUniform() - 1) }
      speed = min(30, max(2, speed + acceleration))
      course += turn
      place += speed * SIMD2(sin(course * .pi / 180), cos(course * .pi / 180))
      let isUnseen = outages.contains { $0.contains(second) }
      if let outage = outages.first(where: { $0.contains(second) }) {
        let elapsed = Double(second - outage.lowerBound + 1)
        if elapsed == 1 { drift = drift68 * SIMD2(random.nextNormal(), random.nextNormal()) }
        error += drift + walk * SIMD2(random.nextNormal(), random.nextNormal())
        variance = 1 + drift68 * drift68 * elapsed * elapsed + walk * walk * elapsed
      } else {
        (error, variance) = (.zero, 1)
      }
      truth.append(plane.location(0, place.x, place.y).coordinate)
      var fix = plane.location(
        Double(second), place.x + error.x, place.y + error.y, speed: speed, course: normalizedDegrees(course))
      // The 68 % radius of two equal standard deviations.
      fix.horizontalAccuracy = 1.510 * variance.squareRoot()
      fix.speedAccuracy = 0.2
      fix.positionSource = isUnseen ? .inertial : .fused
      fixes.append(fix)
    }
    let run = ReportingRun(fixes, epsilon: Self.epsilon, delay: delay)
    var result = Result()
    result.reports = run.reports.count
    for second in outages.joined() {
      result.seconds += 1
      let moment = Timestamp(seconds: Double(second))
      guard let report = run.report(for: moment, delay: delay), report.isPromised(at: moment) else {
        continue
      }
      result.promised += 1
      let distance = report.error(of: truth[second], at: moment)
      result.worst = max(result.worst, distance)
      if distance > Self.epsilon { result.broken.append((second, distance)) }
    }
    return result
  }

  @Test(arguments: [0.0, 5, 10]) func noGuaranteedSecondOfAnOutageIsBeyondTheBound(delay: Double) {
    let results = (1...50).map { play(seed: UInt64($0), delay: delay) }
    let (seconds, promised) = (results.reduce(0) { $0 + $1.seconds }, results.reduce(0) { $0 + $1.promised })
    print(
      "delay \(delay) s: \(promised) of \(seconds) s guaranteed, worst \(results.map(\.worst).max() ?? 0) m,"
        + " \(results.reduce(0) { $0 + $1.reports }) reports, broken \(results.reduce(0) { $0 + $1.broken.count })"
    )
    for (seed, result) in zip(1..., results) {
      // The radius is exact, so about one error in a hundred exceeds the margin of two radii.
      let isTail = delay == 0 && result.broken.count <= 1 && result.worst < 1.05 * Self.epsilon
      #expect(result.broken.isEmpty || isTail, "seed \(seed), delay \(delay): \(result.broken.prefix(5))")
    }
    #expect(promised * 10 > seconds * 3)
  }

  /// A position too inaccurate for the bound withdraws the guarantee immediately.
  @Test(arguments: [0.0, 5]) func tooInaccuratePositionsWithdrawTheBound(delay: Double) throws {
    let plane = PlaneTrack()
    var reporter = BoundedReporter(epsilon: Self.epsilon, delay: delay)
    func process(_ second: Int, radius: Double) -> [ReportPredictor] {
      var fix = plane.location(Double(second), 12 * Double(second), speed: 12, course: 90)
      fix.horizontalAccuracy = radius
      fix.positionSource = .inertial
      return reporter.process(fix)
    }
    for second in 0..<20 { _ = process(second, radius: 2) }
    // Twice the radius exceeds three quarters of the bound.
    let last = try #require(process(20, radius: 8).last)
    #expect(!last.isPromised(at: Timestamp(seconds: 23)))
    #expect(process(21, radius: 9).isEmpty)
  }

  /// Reports also keep the error within the bound between two inertial positions during a manoeuvre, with and without delay.
  @Test func momentsBetweenInertialPositionsAreWithinTheBound() throws {
    let plane = PlaneTrack()
    var track: [Location] = []
    var (speed, x) = (20.0, 0.0)
    for step in 0..<300 {
      if step > 100 { speed = max(0, speed - 0.2) }
      x += 0.1 * speed
      var fix = plane.location(Double(step) / 10, x, speed: speed, course: 90)
      fix.horizontalAccuracy = 1
      fix.positionSource = .inertial
      track.append(fix)
    }
    let fixes = stride(from: 0, to: track.count, by: 10).map { track[$0] }
    for delay in [0.0, 5] {
      let run = ReportingRun(fixes, epsilon: Self.epsilon, delay: delay)
      for location in track {
        guard let report = run.report(for: location.timestamp, delay: delay) else { continue }
        #expect(report.error(of: location.coordinate, at: location.timestamp) <= Self.epsilon)
      }
    }
  }
}
