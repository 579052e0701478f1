import Sensors
import SensorsIIO
import Simulation
import Spatial
import TestSupport
import Testing

@Suite struct HardwareClockTests {
  private static let second: Int64 = 1_000_000_000

  @Test func theBootClockIsUsedUnchanged() {
    var clock = HardwareClock(setTo: .boottime, otherwise: RemoteClock(), latency: 0.5)
    clock.observe(newest: 5, arrival: Timestamp(nanoseconds: 9), period: 1)
    #expect(clock.timestamp(5) == Timestamp(nanoseconds: 5))
  }

  /// The clock of a sensor hub counts from the hub's start or shows civil time, regardless of the setting.
  @Test(
    arguments: [-3_000_000_000, -40, -4, 1, 1_780_000_000 as Int64],
    [HardwareClock.Setting.boottime, .monotonic])
  func followsTheHubThatIgnoresTheSetting(lead: Int64, setting: HardwareClock.Setting) {
    let hub = RemoteClock()
    var clocks = (0..<2).map { _ in HardwareClock(setTo: setting, otherwise: hub, latency: 0.5) }
    let suspended = setting == .monotonic ? 7 * Self.second : 0
    for block in Int64(1)...100 {
      for device in 0..<2 {
        let measured = 1000 * Self.second + block * 500_000_000
        let stamp = measured - suspended + lead * Self.second
        clocks[device].observe(
          newest: stamp, arrival: Timestamp(nanoseconds: measured + 2_000_000 + Int64(device) * 3_000_000),
          period: 10_000_000, suspended: suspended)
        let error = clocks[device].timestamp(stamp).nanoseconds - measured
        #expect((0...20_000_000).contains(error), "block \(block)")
      }
    }
    #expect(clocks[0].timestamp(0) == clocks[1].timestamp(0))
    #expect(hub.isForeign)
  }

  /// A hub that started 2 s after the kernel. The first block alone does not reveal it.
  @Test func followsAHubThatIsSlightlyBehind() {
    let hub = RemoteClock()
    var clock = HardwareClock(setTo: .boottime, otherwise: hub, latency: 0.5)
    for block in Int64(1)...200 {
      let measured = block * 500_000_000
      clock.observe(
        newest: measured - 2_000_000_000, arrival: Timestamp(nanoseconds: measured + 2_000_000),
        period: 10_000_000)
      guard block > 122 else { continue }
      #expect(abs(clock.timestamp(measured - 2_000_000_000).nanoseconds - measured) < 20_000_000)
    }
  }

  /// A busy machine reads blocks late, and a suspend delays one by an hour. Time stamps remain those of the driver.
  @Test(arguments: [HardwareClock.Setting.boottime, .monotonic])
  func lateBlocksOfThisMachinesClockAreExact(setting: HardwareClock.Setting) {
    let own = RemoteClock()
    var clock = HardwareClock(setTo: setting, otherwise: own, latency: 0.5)
    var generator = SeededGenerator.announced()
    for block in Int64(0)..<1000 {
      // Block 500 waits for the end of the suspend.
      let suspended = block < 500 ? 0 : 3600 * Self.second
      let measured = block * 500_000_000 + (block <= 500 ? 0 : suspended)
      let stamp = measured - (setting == .monotonic && block > 500 ? suspended : 0)
      let delay = block == 500 ? suspended : Int64.random(in: 0...2_400_000_000, using: &generator)
      clock.observe(
        newest: stamp, arrival: Timestamp(nanoseconds: measured + delay), period: 10_000_000,
        suspended: suspended)
      guard block != 500 else { continue }
      #expect(clock.timestamp(stamp).nanoseconds == measured, "seed \(generator.seed), block \(block)")
    }
    #expect(!own.isForeign, "seed \(generator.seed)")
  }

  /// The clock of a hub stops during a suspend of the machine.
  @Test func aHubsClockIsFollowedAfterASuspend() {
    let hub = RemoteClock()
    var clock = HardwareClock(setTo: .boottime, otherwise: hub, latency: 0.5)
    for block in Int64(1)...200 {
      let suspended = block <= 100 ? 0 : 5 * Self.second
      let stamp = block * 500_000_000
      let measured = stamp + 1000 * Self.second + suspended
      clock.observe(
        newest: stamp, arrival: Timestamp(nanoseconds: measured + 2_000_000), period: 10_000_000,
        suspended: suspended)
      #expect(clock.timestamp(stamp).nanoseconds == measured + 2_000_000, "block \(block)")
    }
  }

  @Test func aHubsSensorsShareItsClockAndOtherChipsHaveTheirOwn() {
    let clocks = RemoteClocks()
    let hub = clocks.clock(of: "accel_3d", setTo: "boottime", isOwn: true)
    #expect(clocks.clock(of: "gyro_3d", setTo: "realtime") === hub)
    let chip = clocks.clock(of: "lsm6dsox", setTo: "boottime", isOwn: true)
    #expect(chip !== hub && clocks.clock(of: "bmp280", setTo: "boottime", isOwn: true) !== chip)
    #expect(clocks.clock(of: "lsm6dsox_accel", setTo: "boottime", isOwn: true) === chip)
    #expect(clocks.clock(of: "lsm6dsox_gyro", setTo: "boottime", isOwn: true) === chip)
    #expect(clocks.clock(of: "lsm6dsox", setTo: "boottime") === clocks.clock(of: nil, setTo: "boottime"))
  }

  /// Any 64-bit value may arrive as a time stamp.
  @Test func anyStampIsAccepted() {
    for stamp in [Int64.min, .min + 1, -1, 0, .max - 1, .max] {
      for setting in [HardwareClock.Setting.boottime, .monotonic] {
        var clock = HardwareClock(setTo: setting, otherwise: RemoteClock(), latency: 0.5)
        for second in Int64(1)...100 {
          clock.observe(
            newest: stamp, arrival: Timestamp(nanoseconds: second * Self.second), period: 10_000_000,
            suspended: second == 50 ? Self.second : 0)
          _ = clock.timestamp(stamp)
        }
      }
    }
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

  /// The first block arrives late. The estimate decreases with later blocks, and time stamps stay in order.
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

  /// A drift of 50 µs/s for a day: the delay stays within the tolerance plus the drift of a window.
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

  /// Accelerometer, gyroscope and magnetometer on separate devices with different delays: simultaneous samples keep
  /// equal time stamps.
  @Test func devicesOfOneMachineStayTogether() {
    let remote = RemoteClock()
    var clocks = (0..<3).map { _ in HardwareClock(following: remote) }
    var generator = SeededGenerator.announced()
    var worst: Int64 = 0
    for block in Int64(0)..<3000 {
      let newest = block * 100_000_000
      // The first blocks have different delays; later ones have network delays and a drift of 40 µs/s.
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
    let final = clocks.map { $0.timestamp(2999 * 100_000_000).nanoseconds }
    #expect(Set(final).count == 1, "seed \(generator.seed)")
  }

  /// A restarted machine counts from zero, which the first block of the new capture shows. A block that was only
  /// delayed, as by a suspend, changes nothing.
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

  /// Civil time stamps jump forward during a capture: no sample is in the future.
  @Test(arguments: [2, 60, 86_400]) func aClockSetForwardIsFollowedImmediately(step: Int64) {
    var clock = HardwareClock(following: RemoteClock())
    for block in Int64(0)..<100 {
      let arrival = block * 500_000_000
      let newest = arrival + (block < 20 ? 0 : step * Self.second)
      clock.observe(newest: newest, arrival: Timestamp(nanoseconds: arrival + 1_000_000), period: 10_000_000)
      #expect(clock.timestamp(newest).nanoseconds <= arrival + 1_000_000 + RemoteClock.tolerance)
    }
  }

  /// The samples of a simulated chip that stamps with its own oscillator: accelerometer and gyroscope are two devices
  /// whose blocks arrive half a block apart.
  private static func lags(
    error rate: Double, latency: Double, seconds: Int64, resetEvery reset: Int64? = nil,
    generator: inout SeededGenerator
  ) -> [(time: Double, lag: Double, device: Int, stampStep: Double, step: Double)] {
    let own = RemoteClocks().clock(of: "lsm6dsox_accel", setTo: "boottime", isOwn: true)
    var clocks = (0..<2).map { _ in HardwareClock(setTo: .boottime, otherwise: own, latency: latency) }
    let block = Int64(latency * 1e9)
    let period: Int64 = 10_000_000
    /// The chip's stamp of a time.
    func stamp(_ time: Int64) -> Int64 {
      let start = reset.map { time / ($0 * second) * $0 * second } ?? 0
      return time + Int64(Double(time - start) * rate)
    }
    var results: [(time: Double, lag: Double, device: Int, stampStep: Double, step: Double)] = []
    var last: [(stamp: Int64, time: Int64)?] = [nil, nil]
    for half in 2...(2 * seconds * second / block) {
      let device = Int(half % 2)
      let end = half * block / 2
      let delay = 2_000_000 + Int64.random(in: 0...5_000_000, using: &generator)
      clocks[device].observe(newest: stamp(end), arrival: Timestamp(nanoseconds: end + delay), period: period)
      for measured in stride(from: end - block + period, through: end, by: Int(period)) {
        let own = stamp(measured)
        let time = clocks[device].timestamp(own).nanoseconds
        if let last = last[device] {
          results.append(
            (
              Double(measured) / 1e9, Double(time - measured) / 1e9, device, Double(own - last.stamp) / 1e9,
              Double(time - last.time) / 1e9
            ))
        }
        last[device] = (own, time)
      }
    }
    return results
  }

  @Test(arguments: [-0.01, -0.001, 0.001, 0.01], [0.5, 1])
  func followsAChipWithItsOwnOscillator(error: Double, latency: Double) {
    var generator = SeededGenerator.announced()
    let lags = Self.lags(error: error, latency: latency, seconds: 1600, generator: &generator)
    #expect(lags.allSatisfy { abs($0.lag) < latency + 0.7 }, "seed \(generator.seed)")
    // The chip is recognized when the lag exceeds the latency and a quarter of a second.
    let settled = abs(error) < 0.01 ? 1400.0 : 250
    let worst = lags.filter { $0.time > settled }.map { abs($0.lag) }.max() ?? 1
    #expect(worst < 0.05 + 12 * abs(error), "seed \(generator.seed)")
    // No sample is out of order, and no hole appears.
    let slopes = lags.map { abs($0.step / $0.stampStep - 1) }
    #expect((slopes.max() ?? 1) <= RemoteClock.maximumSlope + 1e-5, "seed \(generator.seed)")
  }

  @Test(arguments: [-0.04, -0.03, 0.03, 0.04]) func followsAVeryInaccurateChip(error: Double) {
    var generator = SeededGenerator.announced()
    let lags = Self.lags(error: error, latency: 0.5, seconds: 600, generator: &generator)
    #expect(lags.allSatisfy { abs($0.lag) < 3 }, "seed \(generator.seed)")
    let worst = lags.filter { $0.time > 250 }.map { abs($0.lag) }.max() ?? 9
    #expect(worst < 0.1 + 15 * abs(error), "seed \(generator.seed)")
  }

  /// The chip's counter overflows after 418 s, and the driver then sets it to the time of this machine.
  @Test(arguments: [-0.01, 0.01]) func aCounterThatOverflowsIsFollowedAtOnce(error: Double) {
    var generator = SeededGenerator.announced()
    let lags = Self.lags(
      error: error, latency: 0.5, seconds: 1600, resetEvery: 418, generator: &generator)
    let late = lags.filter { $0.time > 250 && abs($0.lag) > 0.2 }
    #expect(late.allSatisfy { $0.time.truncatingRemainder(dividingBy: 418) < 1 }, "seed \(generator.seed)")
    let backward = lags.filter { $0.time > 250 && $0.step <= 0 }
    #expect(backward.count <= 12, "seed \(generator.seed): \(backward.map(\.time))")
  }

  /// Blocks are up to a second late while the machine starts; afterwards the times are exact again within seconds.
  @Test func aBusyStartDoesNotShiftLaterTimes() {
    var clock = HardwareClock(following: RemoteClock())
    var generator = SeededGenerator.announced()
    for block in Int64(0)..<120 {
      let newest = block * 500_000_000
      let delay = block < 20 ? Int64.random(in: 500_000_000...1_000_000_000, using: &generator) : 1_000_000
      clock.observe(newest: newest, arrival: Timestamp(nanoseconds: newest + delay), period: 10_000_000)
      guard block >= 80 else { continue }
      let error = clock.timestamp(newest).nanoseconds - newest
      #expect((0...21_000_000).contains(error), "seed \(generator.seed), block \(block)")
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
