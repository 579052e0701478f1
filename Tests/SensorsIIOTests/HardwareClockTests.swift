import Sensors
import SensorsIIO
import Simulation
import Spatial
import TestSupport
import Testing

@Suite struct HardwareClockTests {
  private static let second: Int64 = 1_000_000_000

  @Test func thisMachinesBootClockIsTakenAsItIs() {
    var clock = HardwareClock(fixedOffset: 0)
    clock.observe(newest: 5, arrival: Timestamp(nanoseconds: 9), period: 1)
    #expect(clock.timestamp(5) == Timestamp(nanoseconds: 5))
  }

  @Test func aRemoteClockKeepsItsIntervalsExactly() {
    let remote = RemoteClock()
    var clock = HardwareClock(following: remote)
    var generator = SeededGenerator.announced()
    var times: [Int64] = []
    for block in 0..<1000 {
      let newest = Int64(block) * 100_000_000 + 7
      let delay = Int64.random(in: 2_000_000...15_000_000, using: &generator)
      clock.observe(
        newest: newest, arrival: Timestamp(nanoseconds: newest + 77 * Self.second + delay), period: 10_000_000
      )
      times.append(clock.timestamp(newest).nanoseconds)
    }
    #expect(zip(times, times.dropFirst()).allSatisfy { $1 - $0 == 100_000_000 }, "seed \(generator.seed)")
    #expect(remote.corrections == 0)
    let shift = times[0] - 7 - 77 * Self.second
    #expect((2_000_000...15_000_000).contains(shift))
  }

  /// The first block was held up: the estimate comes down, and time never runs back while it does.
  @Test func aLateStartIsCorrectedInOrder() {
    let remote = RemoteClock()
    var clock = HardwareClock(following: remote)
    var last = Int64.min
    for block in 0..<200 {
      let newest = Int64(block) * 100_000_000
      clock.observe(
        newest: newest, arrival: Timestamp(nanoseconds: newest + (block == 0 ? 500_000_000 : 1_000_000)),
        period: 10_000_000)
      for sample in 0..<10 {
        let time = clock.timestamp(newest - Int64(9 - sample) * 10_000_000).nanoseconds
        #expect(time > last)
        last = time
      }
    }
    #expect(clock.offset.map { $0 <= 21_000_000 } == true)
    #expect(remote.corrections > 0)
  }

  /// 50 µs/s for a day: the time lag stays within the tolerance and a window's drift.
  @Test(arguments: [50, -50])
  func followsADriftingClock(microsecondsPerSecond: Int64) {
    let remote = RemoteClock()
    var clock = HardwareClock(following: remote)
    var worst: Int64 = 0
    for second in Int64(0)..<86_400 {
      let arrival = second * Self.second
      let newest = arrival - second * microsecondsPerSecond * 1000 - 1_000_000
      clock.observe(newest: newest, arrival: Timestamp(nanoseconds: arrival), period: 10_000_000)
      worst = max(worst, abs(clock.timestamp(newest).nanoseconds - arrival))
    }
    #expect(worst < 30_000_000)
    #expect((1...400).contains(remote.corrections))
  }

  /// Accelerometer, gyroscope and magnetometer on devices of their own, whose blocks are delayed differently: what they
  /// took at one moment stays at one moment.
  @Test func devicesOfOneMachineStayTogether() {
    let remote = RemoteClock()
    var clocks = (0..<3).map { _ in HardwareClock(following: remote) }
    var generator = SeededGenerator.announced()
    var worst: Int64 = 0
    for block in Int64(0)..<3000 {
      let newest = block * 100_000_000
      // The first blocks come late, each by its own time; later the delays of a network and 40 µs/s of drift.
      for device in 0..<3 {
        let late = block == 0 ? Int64(device) * 30_000_000 : 0
        let delay = late + Int64.random(in: 1_000_000...15_000_000, using: &generator) + block * 4_000
        clocks[device].observe(
          newest: newest, arrival: Timestamp(nanoseconds: newest + delay), period: 10_000_000)
      }
      let times = clocks.map { $0.timestamp(newest).nanoseconds }
      if block > 0 { worst = max(worst, (times.max() ?? 0) - (times.min() ?? 0)) }
    }
    // A correction reaches the devices one after the other, within one round of blocks and half a period each.
    #expect(worst <= 20_000_000, "seed \(generator.seed)")
    let final = clocks.map { $0.timestamp(0).nanoseconds }
    #expect(Set(final).count == 1, "seed \(generator.seed)")
  }

  /// A machine that was started anew counts from zero: the first block of the new capture says so. A block that was
  /// merely held up, as by a suspend, changes nothing.
  @Test func aRestartedMachineIsNoticedAndAStallIsNot() {
    let remote = RemoteClock()
    var clock = HardwareClock(following: remote)
    clock.observe(
      newest: 500 * Self.second, arrival: Timestamp(nanoseconds: 1000 * Self.second), period: 10_000_000)
    clock.observe(
      newest: 501 * Self.second, arrival: Timestamp(nanoseconds: 4001 * Self.second), period: 10_000_000)
    #expect(clock.timestamp(501 * Self.second) == Timestamp(nanoseconds: 1001 * Self.second))
    var again = HardwareClock(following: remote)
    again.observe(
      newest: 1 * Self.second, arrival: Timestamp(nanoseconds: 4100 * Self.second), period: 10_000_000)
    #expect(again.timestamp(1 * Self.second) == Timestamp(nanoseconds: 4100 * Self.second))
    #expect(remote.corrections == 1)
  }

  /// A civil clock that stamps the samples is set forward during a capture: no sample lies in the future.
  @Test(arguments: [2, 60, 86_400]) func aClockSetForwardIsFollowedAtOnce(step: Int64) {
    var clock = HardwareClock(following: RemoteClock())
    for block in Int64(0)..<100 {
      let arrival = block * 500_000_000
      let newest = arrival + (block < 20 ? 0 : step * Self.second)
      clock.observe(newest: newest, arrival: Timestamp(nanoseconds: arrival + 1_000_000), period: 10_000_000)
      #expect(clock.timestamp(newest).nanoseconds <= arrival + 1_000_000 + RemoteClock.tolerance)
    }
  }

  @Test func samplesWithoutStampsAreSpacedEvenly() {
    var clock = PacedClock(period: 10_000_000)
    var last = Int64.min
    var generator = SeededGenerator.announced()
    for block in Int64(1)...500 {
      let arrival = block * 100_000_000 + Int64.random(in: 0...20_000_000, using: &generator)
      for time in clock.timestamps(count: 10, arrival: Timestamp(nanoseconds: arrival)) {
        #expect(time.nanoseconds > last && time.nanoseconds <= arrival, "seed \(generator.seed)")
        last = time.nanoseconds
      }
      #expect(arrival - last < 40_000_000)
    }
  }

  @Test func aGapIsNotBridged() {
    var clock = PacedClock(period: 10_000_000)
    _ = clock.timestamps(count: 10, arrival: Timestamp(nanoseconds: Self.second))
    let times = clock.timestamps(count: 10, arrival: Timestamp(nanoseconds: 60 * Self.second))
    #expect(times.last == Timestamp(nanoseconds: 60 * Self.second))
    #expect(times.first == Timestamp(nanoseconds: 60 * Self.second - 90_000_000))
  }
}
