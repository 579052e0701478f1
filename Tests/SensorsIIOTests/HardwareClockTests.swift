import Sensors
import SensorsIIO
import Spatial
import TestSupport
import Testing

@Suite struct HardwareClockTests {
  private static let second: Int64 = 1_000_000_000

  @Test func thisMachinesBootClockIsTakenAsItIs() {
    var clock = HardwareClock(fixedOffset: 0)
    clock.observe(newest: 5, arrival: 9, period: 1)
    #expect(clock.timestamp(5) == Timestamp(nanoseconds: 5))
  }

  @Test func aRemoteClockKeepsItsIntervalsExactly() {
    var clock = HardwareClock()
    var generator = SeededGenerator.announced()
    var times: [Int64] = []
    for block in 0..<1000 {
      let newest = Int64(block) * 100_000_000 + 7
      let delay = Int64.random(in: 2_000_000...15_000_000, using: &generator)
      clock.observe(newest: newest, arrival: newest + 77 * Self.second + delay, period: 10_000_000)
      times.append(clock.timestamp(newest).nanoseconds)
    }
    #expect(zip(times, times.dropFirst()).allSatisfy { $1 - $0 == 100_000_000 }, "seed \(generator.seed)")
    #expect(clock.corrections == 0)
    let shift = times[0] - 7 - 77 * Self.second
    #expect((2_000_000...15_000_000).contains(shift))
  }

  /// The first block was held up: the estimate comes down, and time never runs back while it does.
  @Test func aLateStartIsCorrectedInOrder() {
    var clock = HardwareClock()
    var last = Int64.min
    for block in 0..<200 {
      let newest = Int64(block) * 100_000_000
      clock.observe(
        newest: newest, arrival: newest + (block == 0 ? 500_000_000 : 1_000_000), period: 10_000_000)
      for sample in 0..<10 {
        let time = clock.timestamp(newest - Int64(9 - sample) * 10_000_000).nanoseconds
        #expect(time > last)
        last = time
      }
    }
    #expect(clock.offset.map { $0 <= 21_000_000 } == true)
    #expect(clock.corrections > 0)
  }

  /// 50 µs/s for a day: the time lag stays within the tolerance and a window's drift.
  @Test(arguments: [50, -50])
  func followsADriftingClock(microsecondsPerSecond: Int64) {
    var clock = HardwareClock()
    var worst: Int64 = 0
    for second in Int64(0)..<86_400 {
      let arrival = second * Self.second
      let newest = arrival - second * microsecondsPerSecond * 1000 - 1_000_000
      clock.observe(newest: newest, arrival: arrival, period: 10_000_000)
      worst = max(worst, abs(clock.timestamp(newest).nanoseconds - arrival))
    }
    #expect(worst < 30_000_000)
    #expect((1...400).contains(clock.corrections))
  }

  @Test func samplesWithoutStampsAreSpacedEvenly() {
    var clock = PacedClock(period: 10_000_000)
    var last = Int64.min
    var generator = SeededGenerator.announced()
    for block in Int64(1)...500 {
      let arrival = block * 100_000_000 + Int64.random(in: 0...20_000_000, using: &generator)
      for time in clock.timestamps(count: 10, arrival: arrival) {
        #expect(time.nanoseconds > last && time.nanoseconds <= arrival, "seed \(generator.seed)")
        last = time.nanoseconds
      }
      #expect(arrival - last < 40_000_000)
    }
  }

  @Test func aGapIsNotBridged() {
    var clock = PacedClock(period: 10_000_000)
    _ = clock.timestamps(count: 10, arrival: Self.second)
    let times = clock.timestamps(count: 10, arrival: 60 * Self.second)
    #expect(times.last == Timestamp(nanoseconds: 60 * Self.second))
    #expect(times.first == Timestamp(nanoseconds: 60 * Self.second - 90_000_000))
  }
}
