import Foundation
import Sensors
import Simulation
import Spatial
import TestSupport
import Testing

/// Effect of sensor demands on the events of a simulated drive, order of time stamps, and reproducibility by seed.
@Suite struct SimulationDemandTests {
  private static func configuration(seed: UInt64 = 1, duration: Double?) -> SimulatedDrive.Configuration {
    var configuration = SimulatedDrive.Configuration()
    configuration.seed = seed
    configuration.duration = duration
    return configuration
  }

  private static func events(_ drive: SimulatedDrive) -> [SensorEvent] {
    var drive = drive
    var events: [SensorEvent] = []
    while let event = drive.next() { events.append(event) }
    return events
  }

  @Test func equalSeedsGiveEqualDrives() throws {
    let first = Self.events(try SimulatedDrive(Self.configuration(seed: 5, duration: 120)))
    let again = Self.events(try SimulatedDrive(Self.configuration(seed: 5, duration: 120)))
    let other = Self.events(try SimulatedDrive(Self.configuration(seed: 6, duration: 120)))
    #expect(first == again)
    #expect(first.count == other.count)
    let changed = zip(first, other).filter { $0 != $1 }.count
    #expect(changed > first.count * 9 / 10)
  }

  @Test func aCopyHasTheSameFuture() throws {
    var drive = try SimulatedDrive(Self.configuration(duration: nil))
    for _ in 0..<1000 { _ = drive.next() }
    var copy = drive
    for _ in 0..<1000 { #expect(drive.next() == copy.next()) }
  }

  /// The random errors of one sensor do not depend on the demands on other sensors.
  @Test func sensorsDoNotDisturbEachOther() throws {
    let all = try SimulatedDrive(Self.configuration(duration: 60))
    var some = all
    for kind in [SensorKind.magnetometer, .barometer, .positioning] { some.setDemand(.off, for: kind) }
    let isGyroscope = { (event: SensorEvent) in event.count(of: .gyroscope) > 0 }
    #expect(Self.events(all).filter(isGyroscope) == Self.events(some).filter(isGyroscope))
    let kinds = SensorKind.allCases.filter { kind in Self.events(some).contains { $0.count(of: kind) > 0 } }
    #expect(Set(kinds) == [.accelerometer, .gyroscope, .thermometer])
  }

  /// Simulated fixes name the receiver `simulated`, so that no consumer mistakes them for measurements.
  @Test func simulatedFixesNameTheirReceiver() throws {
    let fixes = Self.events(try SimulatedDrive(Self.configuration(duration: 60))).flatMap {
      event -> [PositionFix] in
      if case .position(let fixes) = event { fixes } else { [] }
    }
    #expect(fixes.count > 50 && fixes.allSatisfy { $0.receiver == "simulated" })
  }

  @Test func everySampleIsReportedOnceInOrder() throws {
    let drive = try SimulatedDrive(Self.configuration(duration: 10))
    let expected: [SensorKind: Int] = [
      .accelerometer: 1001, .gyroscope: 1001, .magnetometer: 501, .barometer: 11, .thermometer: 11,
      .positioning: 11,
    ]
    var seen: [SensorKind: [Timestamp]] = [:]
    var last = Timestamp(nanoseconds: 0)
    let events = Self.events(drive)
    for event in events {
      let time = try #require(event.timestamp)
      #expect(time >= last)
      last = time
      for kind in expected.keys { seen[kind, default: []] += event.times(of: kind) }
    }
    for (kind, count) in expected {
      let times = try #require(seen[kind])
      #expect(times.count == count, "\(kind)")
      #expect(zip(times, times.dropFirst()).allSatisfy { $0 < $1 })
      #expect(times.first == Timestamp(nanoseconds: 0) && times.last == Timestamp(seconds: 10))
    }
    guard case .status(let first) = events.first, case .active(let rates) = first.state else {
      Issue.record("no status first")
      return
    }
    #expect(
      rates == [
        .accelerometer: 100, .gyroscope: 100, .magnetometer: 50, .barometer: 1, .thermometer: 1,
        .positioning: 1,
      ])
    guard case .status(let end) = events.last else {
      Issue.record("no status last")
      return
    }
    #expect(end.state == .finished)
  }

  @Test func theTimeLineStartsAtTheConfiguredTime() throws {
    var configuration = Self.configuration(duration: 3)
    configuration.startTimestamp = Timestamp(seconds: 5000)
    for event in Self.events(try SimulatedDrive(configuration)) {
      #expect((5000...5003).contains(try #require(event.timestamp).seconds))
    }
  }

  /// The sampling rate is the lowest divisor of the highest rate that meets the demand. A block lasts at most the
  /// latency.
  @Test(arguments: [
    (100.0, 200, 10_000_000, 20), (50, 100, 20_000_000, 5), (30, 0, 30_000_000, 1),
    (34, 1000, 20_000_000, 50), (1000, 50, 10_000_000, 5), (1, 3000, 1_000_000_000, 3),
    (100.0 / 3, 300, 30_000_000, 10),
  ])
  func ratesAndLatencies(hertz: Double, milliseconds: Int, interval: Int64, count: Int) throws {
    var drive = try SimulatedDrive(Self.configuration(duration: 30))
    drive.setDemand(.rate(hertz: hertz, latency: .milliseconds(milliseconds)), for: .accelerometer)
    let blocks = Self.events(drive).map { $0.times(of: .accelerometer) }.filter { !$0.isEmpty }
    #expect(blocks.dropLast().allSatisfy { $0.count == count }, "\(blocks.map(\.count))")
    let times = blocks.flatMap { $0 }
    #expect(zip(times, times.dropFirst()).allSatisfy { $1.nanoseconds - $0.nanoseconds == interval })
  }

  @Test func sensorsThatAreOffReportOnlyStatus() throws {
    var drive = try SimulatedDrive(Self.configuration(duration: nil))
    for _ in 0..<50 { _ = drive.next() }
    for kind in SensorKind.allCases { drive.setDemand(.off, for: kind) }
    let start = drive.timestamp
    for second in 1...20 {
      guard case .status(let status) = drive.next() else {
        Issue.record("expected only statuses while all sensors are off")
        return
      }
      #expect(status.state == .idle)
      // The first status is that of the change itself.
      #expect(status.timestamp.nanoseconds - start.nanoseconds == Int64(second - 1) * 1_000_000_000)
    }
    drive.setDemand(.rate(hertz: 10, latency: .zero), for: .gyroscope)
    guard case .status(let status) = drive.next(), case .inertial(let block) = drive.next() else {
      Issue.record("no sample after the gyroscope was switched on")
      return
    }
    #expect(status.state == .active(rates: [.gyroscope: 10]))
    let waited = try #require(block.first).timestamp.seconds(since: status.timestamp)
    #expect(waited > 0 && waited <= 0.1)
  }

  @Test func dutyCycleSamplesInItsWindowsOnly() throws {
    var drive = try SimulatedDrive(Self.configuration(duration: 100))
    drive.setDemand(.dutyCycle(on: .seconds(2), period: .seconds(10)), for: .accelerometer)
    for kind in SensorKind.allCases where kind != .accelerometer { drive.setDemand(.off, for: kind) }
    let times = Self.events(drive).flatMap { $0.times(of: .accelerometer) }.map(\.seconds)
    #expect(times.allSatisfy { $0.truncatingRemainder(dividingBy: 10) < 2 })
    #expect((1990...2001).contains(times.count), "\(times.count)")
    #expect(zip(times, times.dropFirst()).allSatisfy { $0 < $1 })
  }

  /// A receiver has a fix 2 s after a short sleep (hot start) and 12 s after three hours (cold start).
  @Test(arguments: [(60.0, 2), (3 * 3600.0, 12)]) func receiverStartsHotOrCold(sleep: Double, wait: Int)
    throws
  {
    var configuration = Self.configuration(duration: nil)
    configuration.scenario = .parked
    configuration.receiver.meanTimeBetweenOutages = nil
    var drive = try SimulatedDrive(configuration)
    for kind in SensorKind.allCases where kind != .positioning { drive.setDemand(.off, for: kind) }
    func fixes(_ count: Int) -> [PositionFix] {
      var fixes: [PositionFix] = []
      while fixes.count < count, let event = drive.next() {
        if case .position(let block) = event { fixes += block }
      }
      return fixes
    }
    #expect(fixes(20).last?.mode == .threeDimensional)
    drive.setDemand(.off, for: .positioning)
    let asleep = drive.timestamp
    while drive.timestamp.seconds(since: asleep) < sleep { _ = drive.next() }
    drive.setDemand(.rate(hertz: 1, latency: .zero), for: .positioning)
    let woken = fixes(wait + 1)
    #expect(woken.dropLast().allSatisfy { $0.mode == .noFix })
    #expect(woken.last?.mode == .threeDimensional)
  }

  /// Random demands at random times: time stamps never decrease, and a gyroscope at its full rate loses no sample.
  @Test func timeNeverRunsBackUnderRandomDemands() throws {
    let seed = UInt64.random(in: 0 ... .max)
    print("seed \(seed)")
    var random = SeededGenerator(seed: seed)
    for _ in 0..<20 {
      var drive = try SimulatedDrive(Self.configuration(seed: seed, duration: 60))
      var last = Timestamp(nanoseconds: 0)
      var samples: [SensorKind: Timestamp] = [:]
      var gyroscope = 0
      while let event = drive.next() {
        let time = try #require(event.timestamp)
        #expect(time >= last)
        last = time
        if case .status = event {
        } else {
          #expect(SensorKind.allCases.contains { event.count(of: $0) > 0 })
        }
        for kind in SensorKind.allCases {
          for time in event.times(of: kind) {
            #expect(samples[kind].map { $0 < time } ?? true, "\(kind)")
            samples[kind] = time
          }
        }
        gyroscope += event.count(of: .gyroscope)
        guard random.nextUniform() < 0.2 else { continue }
        let kind = SensorKind.allCases.randomElement(using: &random) ?? .gyroscope
        let latency = Duration.milliseconds(Int.random(in: 0...2000, using: &random))
        if kind == .gyroscope {
          drive.setDemand(.rate(hertz: 100, latency: latency), for: kind)
        } else {
          let demands: [SensorDemand] = [
            .off, .rate(hertz: Double.random(in: 0.01...200, using: &random), latency: latency),
            .dutyCycle(
              on: .milliseconds(Int.random(in: -5...3000, using: &random)),
              period: .milliseconds(Int.random(in: -5...5000, using: &random))),
            .rate(hertz: .nan, latency: .seconds(Int64.max)), .rate(hertz: 0, latency: .seconds(-1)),
          ]
          drive.setDemand(demands.randomElement(using: &random) ?? .off, for: kind)
        }
      }
      #expect(gyroscope == 6001)
    }
  }
}
