import Positioning
import Sensors
import Spatial
import Testing

/// Intervals between scans for learning beacons.
@Suite struct LearningScheduleTests {
  /// A map that contains the first `count` of ten beacons.
  private struct Map: BeaconMap {
    var count = 0
    var sightings = 10
    var lastSeen = 1000

    func lookUp(_ beacons: [Beacon]) -> [MappedBeacon] {
      beacons.filter { ($0.address ?? 0) & 0xff < UInt64(count) }.map {
        MappedBeacon(
          beacon: $0, coordinate: Coordinate(latitude: 48, longitude: 11), reach: 50, sightings: sightings,
          lastSeen: lastSeen)
      }
    }
  }

  private func scan(_ seconds: Double, beacons: Int = 10) throws -> RadioScan {
    let sightings = try (0..<beacons).map {
      BeaconSighting(beacon: try #require(Beacon(accessPoint: 0x0011_2200_0000 + UInt64($0))), signal: -70)
    }
    return RadioScan(timestamp: Timestamp(seconds: seconds), sightings: sightings, kind: .wifi)
  }

  /// Intervals in s between scans that are made as soon as they are due.
  private func pauses(_ map: Map, joules: Double, power: Double, beacons: Int = 10, count: Int) throws
    -> [Double]
  {
    var schedule = LearningSchedule(receiverPower: power)
    var (now, last) = (0.0, 0.0)
    var pauses: [Double] = []
    while pauses.count < count {
      if schedule.isDue(joules: joules, at: Timestamp(seconds: now)) {
        schedule.observe(try scan(now, beacons: beacons), of: [.wifi], by: map, joules: joules, day: 1000)
        pauses.append(now - last)
        last = now
      }
      now += 1
    }
    return Array(pauses.dropFirst())
  }

  @Test func pausesDoubleInLearnedAreas() throws {
    let doubling = [60.0, 120, 240, 480, 480]
    #expect(try pauses(Map(count: 7), joules: 0.1, power: 0, count: 6) == doubling)
    #expect(try pauses(Map(), joules: 0.1, power: 0, beacons: 0, count: 6) == doubling)
    for news in [Map(count: 6), Map(count: 10, sightings: 2), Map(count: 10, lastSeen: 969)] {
      #expect(try pauses(news, joules: 0.1, power: 0, count: 6) == [30, 30, 30, 30, 30], "\(news)")
    }
  }

  @Test func newBeaconsEndThePause() throws {
    var schedule = LearningSchedule(receiverPower: 0)
    for second in [0.0, 60, 180] {
      schedule.observe(try scan(second), of: [.wifi], by: Map(count: 10), joules: 1, day: 1000)
    }
    #expect(!schedule.isDue(joules: 1, at: Timestamp(seconds: 400)))
    schedule.observe(try scan(420), of: [.wifi], by: Map(), joules: 1, day: 1000)
    #expect(!schedule.isDue(joules: 1, at: Timestamp(seconds: 449)))
    #expect(schedule.isDue(joules: 1, at: Timestamp(seconds: 450)))
  }

  /// Both radios are scanned at the same time; each has its own pause, as only one of them may have new beacons.
  @Test func eachRadioHasItsOwnPause() throws {
    var schedule = LearningSchedule(receiverPower: 0)
    for (second, map) in [(0.0, Map()), (30, Map()), (60, Map(count: 10))] {
      schedule.observe(try scan(second), of: [.wifi], by: map, joules: 1, day: 1000)
      schedule.observe(try scan(second), of: [.cellular], by: Map(count: 10), joules: 0.1, day: 1000)
    }
    #expect(!schedule.isDue(joules: 1, at: Timestamp(seconds: 119)))
    #expect(schedule.isDue(joules: 1, at: Timestamp(seconds: 120)))
  }

  /// A reserve of 40 J for scans of 1.2 J, then a tenth of 87 mW.
  @Test func scansUseTheSavedEnergy() throws {
    let all = try pauses(Map(), joules: 1.2, power: 0.087, count: 200)
    let brisk = all.prefix { $0 == 30 }.count
    #expect((34...46).contains(brisk), "\(brisk)")
    #expect(all.suffix(100).allSatisfy { abs($0 - 1.2 / 0.0087) < 2 })
    // The reserve is never exceeded, also after a long time without scans.
    var schedule = LearningSchedule(receiverPower: 0.087)
    schedule.observe(try scan(0), of: [.wifi], by: Map(), joules: 40, day: 1000)
    #expect(!schedule.isDue(joules: 1.2, at: Timestamp(seconds: 100)))
    #expect(schedule.isDue(joules: 40, at: Timestamp(seconds: 1e6)))
    #expect(!schedule.isDue(joules: 40.1, at: Timestamp(seconds: 1e6)))
  }
}
