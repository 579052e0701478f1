import Motion
import Sensors
import Simulation
import Spatial
import TestSupport
import Testing

/// Levels of a parking garage.
@Suite struct FloorTests {
  /// A drive in the open, then into a garage with levels `storey` metres apart, up or down to a level at 2 m/s on ramps of 12 %.
  private func drive(
    to level: Int, storey: Double = 2.9, speed: Double? = 4, _ generator: inout SeededGenerator,
    noise: Double = 1
  ) -> Altimeter {
    var altimeter = Altimeter()
    var fan = 0.0
    let fall = Double(level) * storey
    let ramp = Int(abs(fall) / 0.24) + 1
    for second in 0..<(300 + ramp + 40) {
      let time = Timestamp(seconds: Double(second))
      let share = min(1, max(0, Double(second - 300) / Double(ramp)))
      if generator.nextUniform() < 1.0 / 180 { fan = 6 * generator.nextNormal() * noise }
      let drift = 0.01 * noise * Double(second)
      let pressure =
        StandardAtmosphere.seaLevelPressure
        * StandardAtmosphere.pressureRatio(altitude: 400 + fall * share) + fan + drift
        + 1.5 * noise * generator.nextNormal()
      altimeter.process(PressureData(timestamp: time, pressure: pressure))
      guard second < 300 else { continue }
      altimeter.update(altitude: 440 + 3 * generator.nextNormal(), deviation: 3, speed: speed, at: time)
    }
    return altimeter
  }

  /// The share of correct levels is at least the stated confidence, less 5 %.
  @Test func levelConfidenceIsCalibrated() {
    var generator = SeededGenerator.announced()
    var (stated, right, expected, all, far) = (0.0, 0.0, 0.0, 0.0, 0.0)
    for run in 0..<300 {
      let level = run % 7 - 4
      let storey = 2.9 + 0.25 * generator.nextNormal()
      all += 1
      guard let floor = drive(to: level, storey: storey, &generator).floor else { continue }
      stated += 1
      right += floor.level == level ? 1 : 0
      expected += floor.confidence
      far += abs(floor.height - Double(level) * storey) < 4.5 * floor.heightAccuracy ? 0 : 1
    }
    // Pressure steps by a fan are not normally distributed.
    #expect(far / stated <= 0.01)
    #expect(stated / all > 0.9)
    #expect(right / stated > 0.85 && right / stated > expected / stated - 0.05)
  }

  /// No level is reported in the open, or if the vehicle's way under the roof is unknown.
  @Test func unknownLevelIsNotReported() {
    var generator = SeededGenerator(seed: 1)
    #expect(drive(to: -2, &generator, noise: 0).floor?.level == -2)
    // A vehicle that enters fast, or at an unknown speed, may be in a tunnel.
    #expect(drive(to: -2, speed: 20, &generator, noise: 0).floor == nil)
    #expect(drive(to: -2, speed: nil, &generator, noise: 0).floor == nil)
    var altimeter = drive(to: 1, &generator, noise: 0)
    #expect(altimeter.floor?.level == 1)
    altimeter.observe(speed: 12, at: Timestamp(seconds: 400))
    #expect(altimeter.floor == nil)
    // Back in the open.
    altimeter = drive(to: 1, &generator, noise: 0)
    let last = Timestamp(seconds: 352)
    altimeter.update(altitude: 443, deviation: 3, speed: 3, at: last)
    #expect(altimeter.floor == nil)
    // An inaccurate fix, caused by reflections, is not evidence of the open sky.
    altimeter = drive(to: 1, &generator, noise: 0)
    altimeter.update(altitude: 443, deviation: 30, speed: 3, at: last)
    #expect(altimeter.floor?.level == 1)
    // While the receiver sleeps, a roof cannot be detected, and the vehicle may have moved.
    altimeter.observe(isReceiverOn: false)
    #expect(altimeter.floor == nil)
  }

  /// A vehicle parked in the open with a sleeping receiver has no level.
  @Test func sleepingReceiverIsNoRoof() {
    var altimeter = Altimeter()
    for second in 0..<100 {
      let time = Timestamp(seconds: Double(second))
      altimeter.process(PressureData(timestamp: time, pressure: 97_000))
      if second < 60 { altimeter.update(altitude: 300, deviation: 3, speed: 0, at: time) }
      if second == 60 {
        altimeter.observe(isAtRest: true)
        altimeter.observe(isReceiverOn: false)
      }
    }
    #expect(altimeter.floor == nil)
  }
}
