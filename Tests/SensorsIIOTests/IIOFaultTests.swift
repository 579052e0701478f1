import Platform
import Sensors
import SensorsIIO
import Spatial
import TestSupport
import Testing

/// Chips, drivers and triggers that do not work as documented, on the real libiio's local backend.
@Suite(.needs(.mounting)) struct IIOFaultTests {
  struct Outcome: Sendable {
    var steps: [Bool] = []
    var statuses: [SourceStatus] = []
    var files: [String] = []
    var times: [String: Int] = [:]

    /// Successively reported rates of the accelerometer in Hz; nil while it is not active.
    var rates: [Double?] {
      statuses.filter { $0.kinds.contains(.accelerometer) }.map {
        if case .active(let rates) = $0.state { rates[.accelerometer] } else { nil }
      }
    }
  }

  private static func source(
    _ recorder: EventRecorder, timeout: Double = 5, _ demands: [SensorKind: Double]
  ) throws -> IIOSource {
    var configuration = IIOConfiguration()
    configuration.timeout = timeout
    let source = try IIOSource(configuration)
    for (kind, hertz) in demands {
      source.setDemand(.rate(hertz: hertz, latency: .milliseconds(50)), for: kind)
    }
    try source.start { recorder.receive($0) }
    return source
  }

  // MARK: Chips

  /// A chip does not respond on its bus: only this chip is unavailable, with the attribute and the reason.
  @Test func anUnreadableChipDoesNotHideTheOthers() async throws {
    let result = try await IIOFixture.run { fixture -> (Outcome, IIOInventory) in
      try IIOChips.addIMU(fixture)
      try IIOChips.addPolled(fixture)
      for name in ["in_accel_scale", "sampling_frequency", "in_mount_matrix"] {
        try fixture.makeUnreadable(name, of: 0)
      }
      var outcome = Outcome()
      let recorder = EventRecorder()
      let source = try Self.source(recorder, [.accelerometer: 100, .magnetometer: 20])
      outcome.steps.append(waitUntil { recorder.magnetometer.count > 3 && recorder.statuses.count > 1 })
      let inventory = try IIOProbe.inventory(IIOConfiguration())
      source.stop()
      outcome.statuses = recorder.statuses
      return (outcome, inventory)
    }
    #expect(result.0.steps.allSatisfy { $0 }, "\(result)")
    let lost = result.0.statuses.compactMap { status -> String? in
      if case .unavailable(let reason) = status.state { reason } else { nil }
    }
    #expect(lost.count == 1 && lost[0].contains("read local: iio:device0 (testimu) accel_x scale"), "\(lost)")
    let sensor = try #require(result.1.devices.first { $0.name == "testimu" }?.sensor(.accelerometer))
    #expect(
      sensor.scale == nil && sensor.frequency == nil && sensor.frequencies == .list([12.5, 50, 100, 200]))
    #expect(sensor.problem?.contains("accel_x scale") == true)
    #expect(result.1.devices.flatMap(\.sensors).count { $0.problem == nil } == 3)
  }

  // MARK: Buffers

  @Test(.timeLimit(.minutes(2))) func aRefusedBufferIsReportedAndTriedAgain() async throws {
    let result = try await IIOFixture.run { fixture -> Outcome in
      try IIOChips.addIMU(fixture)
      fixture.removeNode(0)
      var outcome = Outcome()
      let recorder = EventRecorder()
      let source = try Self.source(recorder, [.accelerometer: 100])
      outcome.steps.append(waitUntil { recorder.accelerometer.count > 3 })
      try fixture.addNode(0)
      let pipe = try fixture.openPipe(of: 0)
      outcome.steps.append(fixture.wait(for: "buffer/enable", of: 0, toBe: "1"))
      for _ in 0..<5 {
        outcome.steps.append(
          pipe.push(IIOChips.accelerometerScan(1, 2, 3, stamp: Timestamp.now.nanoseconds)))
      }
      outcome.steps.append(waitUntil { recorder.statuses.count == 2 })
      source.stop()
      outcome.statuses = recorder.statuses
      return outcome
    }
    #expect(result.steps.allSatisfy { $0 }, "\(result)")
    #expect(result.rates == [25, 100])
    #expect(
      result.statuses.map(\.restriction) == [
        "cannot start the buffer of local: iio:device0 (testimu): No such file or directory", nil,
      ])
  }

  /// The interrupt is not connected: the buffer remains empty although the chip measures.
  @Test func aDeadInterruptIsPolled() async throws {
    let result = try await IIOFixture.run { fixture -> Outcome in
      try IIOChips.addIMU(fixture)
      var outcome = Outcome()
      let pipe = try fixture.openPipe(of: 0)
      let recorder = EventRecorder()
      let source = try Self.source(recorder, timeout: 0.3, [.accelerometer: 100])
      var reading = 0
      outcome.steps.append(
        try waitUntil {
          reading += 1
          try fixture.write("in_accel_x_raw", of: 0, "\(reading)")
          return recorder.accelerometer.count > 5
        })
      source.stop()
      outcome.statuses = recorder.statuses
      outcome.steps.append(pipe.push([]))
      return outcome
    }
    #expect(result.steps.allSatisfy { $0 }, "\(result)")
    #expect(result.rates == [25])
    let restriction = try #require(result.statuses.first?.restriction)
    #expect(restriction.contains("trigger testimu-dev0 delivers no samples"), "\(restriction)")
  }

  /// The interrupt works only some time after the start: the buffer is used again.
  @Test(.timeLimit(.minutes(2))) func aDeadInterruptIsTriedAgain() async throws {
    let result = try await IIOFixture.run { fixture -> Outcome in
      try IIOChips.addIMU(fixture)
      var outcome = Outcome()
      let pipe = try fixture.openPipe(of: 0)
      let recorder = EventRecorder()
      let source = try Self.source(recorder, timeout: 0.3, [.accelerometer: 100])
      outcome.steps.append(try Self.vary(fixture) { recorder.accelerometer.count > 5 })
      outcome.steps.append(
        try Self.vary(fixture) {
          if fixture.read("buffer/enable", of: 0) == "1" {
            _ = pipe.push(IIOChips.accelerometerScan(1, 2, 3, stamp: Timestamp.now.nanoseconds))
          }
          return recorder.statuses.count > 1
        })
      source.stop()
      outcome.statuses = recorder.statuses
      return outcome
    }
    #expect(result.steps.allSatisfy { $0 }, "\(result)")
    #expect(result.rates.prefix(2) == [25, 100])
    #expect(result.statuses[1].restriction == nil)
  }

  /// Changes the readings of the accelerometer until a condition is satisfied.
  private static func vary(
    _ fixture: IIOFixture, atMost seconds: Double = 60, until isDone: () -> Bool
  ) throws -> Bool {
    var reading = 0
    return try waitUntil(atMost: seconds) {
      reading += 1
      try fixture.write("in_accel_x_raw", of: 0, "\(reading % 1000)")
      return isDone()
    }
  }

  /// The interrupt stops during the capture: the loss is reported, and the chip is polled.
  @Test func aSensorThatBecomesSilentIsPolled() async throws {
    let result = try await IIOFixture.run { fixture -> Outcome in
      try IIOChips.addIMU(fixture)
      var outcome = Outcome()
      let pipe = try fixture.openPipe(of: 0)
      let recorder = EventRecorder()
      let source = try Self.source(recorder, timeout: 0.3, [.accelerometer: 100])
      outcome.steps.append(fixture.wait(for: "buffer/enable", of: 0, toBe: "1"))
      outcome.steps.append(
        pipe.push(IIOChips.accelerometerScan(1, 2, 3, stamp: Timestamp.now.nanoseconds)))
      outcome.steps.append(waitUntil { recorder.accelerometer.count == 1 })
      outcome.steps.append(try Self.vary(fixture) { recorder.accelerometer.count > 5 })
      source.stop()
      outcome.statuses = recorder.statuses
      return outcome
    }
    #expect(result.steps.allSatisfy { $0 }, "\(result)")
    #expect(result.rates.prefix(3) == [100, nil, 25], "\(result)")
    try #require(result.statuses.count > 2)
    #expect(result.statuses[1].state.reason?.contains("it delivers no more samples") == true)
    #expect(result.statuses[2].restriction?.contains("trigger testimu-dev0 delivers no samples") == true)
  }

  /// The registers are frozen, too: the sensor is unavailable until samples arrive.
  @Test func aFrozenSensorIsUnavailable() async throws {
    let result = try await IIOFixture.run { fixture -> Outcome in
      try IIOChips.addIMU(fixture)
      var outcome = Outcome()
      let pipe = try fixture.openPipe(of: 0)
      let recorder = EventRecorder()
      let source = try Self.source(recorder, timeout: 0.3, [.accelerometer: 100])
      outcome.steps.append(fixture.wait(for: "buffer/enable", of: 0, toBe: "1"))
      outcome.steps.append(
        pipe.push(IIOChips.accelerometerScan(1, 2, 3, stamp: Timestamp.now.nanoseconds)))
      outcome.steps.append(waitUntil { recorder.statuses.count == 2 })
      // The buffer is closed during the comparison of the readings, and opened again.
      outcome.steps.append(fixture.wait(for: "buffer/enable", of: 0, toBe: "0"))
      outcome.steps.append(fixture.wait(for: "buffer/enable", of: 0, toBe: "1"))
      outcome.steps.append(
        pipe.push(IIOChips.accelerometerScan(4, 5, 6, stamp: Timestamp.now.nanoseconds)))
      outcome.steps.append(waitUntil { recorder.statuses.count > 2 })
      source.stop()
      outcome.statuses = recorder.statuses
      return outcome
    }
    #expect(result.steps.allSatisfy { $0 }, "\(result)")
    #expect(result.rates.prefix(3) == [100, nil, 100], "\(result)")
  }

  /// The sensors of a hub deliver nothing at rest, also after a drive.
  @Test func aHubThatBecomesSilentIsActive() async throws {
    let result = try await IIOFixture.run { fixture -> Outcome in
      try IIOChips.addIMU(fixture, name: "accel_3d")
      var outcome = Outcome()
      let pipe = try fixture.openPipe(of: 0)
      let recorder = EventRecorder()
      let source = try Self.source(recorder, timeout: 0.3, [.accelerometer: 100])
      outcome.steps.append(fixture.wait(for: "buffer/enable", of: 0, toBe: "1"))
      outcome.steps.append(
        pipe.push(IIOChips.accelerometerScan(1, 2, 3, stamp: Timestamp.now.nanoseconds)))
      let writes = try fixture.observeWrites(to: ["buffer/enable"], of: 0)
      outcome.steps.append(waitUntil { recorder.accelerometer.count == 1 })
      outcome.steps.append(try !Self.vary(fixture, atMost: 2) { !writes.next().isEmpty })
      source.stop()
      outcome.statuses = recorder.statuses
      return outcome
    }
    #expect(result.steps.allSatisfy { $0 }, "\(result)")
    #expect(result.rates == [100])
  }

  /// Drivers that stamp in an interrupt handler leave the stamps unchanged if a timer triggers the capture.
  @Test(arguments: [0, 1_000_000_000 as Int64])
  func stampsThatDoNotAdvanceAreReplaced(stamp: Int64) async throws {
    let result = try await IIOFixture.run { fixture -> (Outcome, [Int64]) in
      try IIOChips.addIMU(fixture)
      var outcome = Outcome()
      let pipe = try fixture.openPipe(of: 0)
      let recorder = EventRecorder()
      let source = try Self.source(recorder, [.accelerometer: 100])
      outcome.steps.append(fixture.wait(for: "buffer/enable", of: 0, toBe: "1"))
      for block in 1...5 {
        for _ in 0..<5 {
          outcome.steps.append(pipe.push(IIOChips.accelerometerScan(1, 2, 3, stamp: stamp)))
        }
        outcome.steps.append(waitUntil { recorder.accelerometer.count == 5 * block })
      }
      source.stop()
      return (outcome, recorder.accelerometer.map(\.timestamp.nanoseconds))
    }
    #expect(result.0.steps.allSatisfy { $0 }, "\(result)")
    // The first block of equal stamps cannot be recognized.
    let times = result.1.dropFirst(stamp == 0 ? 0 : 5)
    #expect(zip(times, times.dropFirst()).allSatisfy { $0 < $1 }, "\(times)")
  }

  @Test func stampCheck() {
    var check = StampCheck()
    #expect(!check.areValid(newest: 0) && check.areValid(newest: 10) && check.areValid(newest: 20))
    #expect(!check.haveFailed)
    #expect(!check.areValid(newest: 20) && !check.areValid(newest: 30) && check.haveFailed)
  }

  // MARK: Polled sensors

  /// A thermometer that cannot be read has no effect on the other sensors of its chip.
  @Test func anUnreadableThermometerIsIgnored() async throws {
    let result = try await IIOFixture.run { fixture -> Outcome in
      try IIOChips.addIMU(fixture)
      try fixture.makeUnreadable("in_temp_raw", of: 0)
      var outcome = Outcome()
      let pipe = try fixture.openPipe(of: 0)
      let recorder = EventRecorder()
      let source = try Self.source(recorder, [.accelerometer: 100, .thermometer: 1])
      outcome.steps.append(fixture.wait(for: "buffer/enable", of: 0, toBe: "1"))
      for count in 1...5 {
        outcome.steps.append(
          pipe.push(IIOChips.accelerometerScan(1, 2, 3, stamp: Timestamp.now.nanoseconds)))
        outcome.steps.append(waitUntil { recorder.accelerometer.count == count })
      }
      source.stop()
      outcome.statuses = recorder.statuses
      return outcome
    }
    #expect(result.steps.allSatisfy { $0 }, "\(result)")
    #expect(result.rates == [100])
    #expect(result.statuses.allSatisfy { $0.restriction == nil })
  }

  /// A single error on the bus interrupts no sensor. A sensor with repeated errors is a restriction for its device, and
  /// is unavailable if the device has no other.
  @Test(arguments: [true, false]) func readingErrorsConcernOneSensor(hasOther: Bool) async throws {
    let result = try await IIOFixture.run { fixture -> Outcome in
      try IIOChips.addPolled(fixture)
      var outcome = Outcome()
      let recorder = EventRecorder()
      let raw = "in_magn_x_raw"
      if hasOther { try fixture.write("in_pressure_input", of: 4, "101.325") }
      let source = try Self.source(recorder, [.magnetometer: 20, .barometer: 20])
      outcome.steps.append(waitUntil { recorder.magnetometer.count > 3 })
      try fixture.makeUnreadable(raw, of: 4)
      func isReported() -> Bool {
        recorder.statuses.contains { status in
          guard status.kinds.contains(.magnetometer) else { return false }
          return hasOther ? status.restriction != nil : status.state.reason != nil
        }
      }
      outcome.steps.append(waitUntil(atMost: 30) { isReported() })
      try fixture.write(raw, of: 4, "100")
      let count = recorder.magnetometer.count
      outcome.steps.append(waitUntil(atMost: 30) { recorder.magnetometer.count > count + 3 })
      source.stop()
      outcome.statuses = recorder.statuses.filter { $0.kinds.contains(.magnetometer) }
      return outcome
    }
    #expect(result.steps.allSatisfy { $0 }, "\(result)")
    try #require(result.statuses.count >= 3, "\(result)")
    let reason = hasOther ? result.statuses[1].restriction : result.statuses[1].state.reason
    #expect(reason?.contains("magn_x raw: Input/output error") == true, "\(result)")
    #expect(result.statuses[2].restriction == nil && result.statuses[2].state.reason == nil)
  }

  // MARK: Late drivers

  /// A timer that is created after the start of the agent is used.
  @Test(.timeLimit(.minutes(2))) func aTimerThatIsCreatedLaterIsUsed() async throws {
    let result = try await IIOFixture.run { fixture -> Outcome in
      try IIOChips.addIMU(fixture)
      try fixture.write("../trigger0/name", of: 0, "bmi160-dev1")
      fixture.removeNode(0)
      var outcome = Outcome()
      let recorder = EventRecorder()
      let source = try Self.source(recorder, [.accelerometer: 100])
      outcome.steps.append(waitUntil { recorder.accelerometer.count > 3 })
      try fixture.write("../trigger0/name", of: 0, "odograph")
      try fixture.write("../trigger0/sampling_frequency", of: 0, "10")
      try fixture.addNode(0)
      let pipe = try fixture.openPipe(of: 0)
      outcome.steps.append(fixture.wait(for: "../trigger0/sampling_frequency", of: 0, toBe: "100"))
      outcome.steps.append(fixture.wait(for: "trigger/current_trigger", of: 0, toBe: "odograph"))
      source.stop()
      outcome.steps.append(pipe.push([]))
      outcome.statuses = recorder.statuses
      return outcome
    }
    #expect(result.steps.allSatisfy { $0 }, "\(result)")
    #expect(result.rates.first == 25 && result.statuses.allSatisfy { $0.state.reason == nil })
  }

  /// The driver of an optional sensor is ready after the others.
  @Test func aLateBarometerIsFound() async throws {
    let result = try await IIOFixture.run { fixture -> Outcome in
      try IIOChips.addIMU(fixture)
      var outcome = Outcome()
      let pipe = try fixture.openPipe(of: 0)
      let recorder = EventRecorder()
      let source = try Self.source(recorder, [.accelerometer: 100, .barometer: 10])
      outcome.steps.append(fixture.wait(for: "buffer/enable", of: 0, toBe: "1"))
      try IIOChips.addRawBarometer(fixture)
      outcome.steps.append(waitUntil(atMost: 30) { recorder.barometer.count > 2 })
      source.stop()
      outcome.steps.append(pipe.push([]))
      return outcome
    }
    #expect(result.steps.allSatisfy { $0 }, "\(result)")
  }

  /// Values do not change at rest; the sensor of a hub reports only changes above its sensitivity.
  @Test(arguments: ["testimu", "accel_3d"]) func aQuietSensorIsActive(name: String) async throws {
    let result = try await IIOFixture.run { fixture -> Outcome in
      try IIOChips.addIMU(fixture, name: name)
      var outcome = Outcome()
      let pipe = try fixture.openPipe(of: 0)
      let recorder = EventRecorder()
      let source = try Self.source(recorder, timeout: 0.3, [.accelerometer: 100])
      var reading = 0
      outcome.steps.append(
        try waitUntil {
          reading += 1
          if name == "accel_3d" { try fixture.write("in_accel_x_raw", of: 0, "\(reading)") }
          return !recorder.statuses.isEmpty
        })
      outcome.steps.append(fixture.wait(for: "buffer/enable", of: 0, toBe: "1"))
      for _ in 0..<5 {
        outcome.steps.append(
          pipe.push(IIOChips.accelerometerScan(1, 2, 3, stamp: Timestamp.now.nanoseconds)))
      }
      outcome.steps.append(waitUntil { recorder.accelerometer.count == 5 })
      source.stop()
      outcome.statuses = recorder.statuses
      return outcome
    }
    #expect(result.steps.allSatisfy { $0 }, "\(result)")
    #expect(result.rates == [100])
    #expect(result.statuses.allSatisfy { $0.restriction == nil })
  }

  // MARK: Triggers

  /// A chip uses its own interrupt or a timer, not the interrupt of another chip, nor a trigger that only programs fire.
  @Test(arguments: [
    ("testimu-dev0", nil, true), ("testimu-trigger", nil, true), ("odograph", "10", true),
    ("lis2dh12_accel-trigger", nil, false), ("bmi160-dev1", nil, false), ("sysfstrig1", nil, false),
  ]) func choosesTheTrigger(name: String, frequency: String?, isUsed: Bool) async throws {
    let result = try await IIOFixture.run { fixture -> Outcome in
      try IIOChips.addIMU(fixture)
      try fixture.write("../trigger0/name", of: 0, name)
      if let frequency { try fixture.write("../trigger0/sampling_frequency", of: 0, frequency) }
      var outcome = Outcome()
      let pipe = try fixture.openPipe(of: 0)
      let recorder = EventRecorder()
      let source = try Self.source(recorder, [.accelerometer: 100])
      outcome.steps.append(fixture.wait(for: "buffer/enable", of: 0, toBe: "1"))
      outcome.files = [
        fixture.read("trigger/current_trigger", of: 0),
        fixture.read("../trigger0/sampling_frequency", of: 0),
      ]
      for _ in 0..<5 {
        outcome.steps.append(
          pipe.push(IIOChips.accelerometerScan(1, 2, 3, stamp: Timestamp.now.nanoseconds)))
      }
      outcome.steps.append(waitUntil { recorder.accelerometer.count == 5 })
      source.stop()
      return outcome
    }
    #expect(result.steps.allSatisfy { $0 }, "\(result)")
    #expect(result.files == [isUsed ? name : "", frequency == nil ? "" : "100"])
  }

  /// The kernel rejects the trigger: the device is used without one.
  @Test func aRefusedTriggerDoesNotLoseTheSensor() async throws {
    let result = try await IIOFixture.run { fixture -> Outcome in
      try IIOChips.addIMU(fixture)
      try fixture.makeReadOnly("trigger/current_trigger", of: 0)
      fixture.removeNode(0)
      var outcome = Outcome()
      let recorder = EventRecorder()
      let source = try Self.source(recorder, [.accelerometer: 100])
      outcome.steps.append(waitUntil { recorder.accelerometer.count > 3 })
      source.stop()
      outcome.statuses = recorder.statuses
      return outcome
    }
    #expect(result.steps.allSatisfy { $0 }, "\(result)")
    #expect(result.rates == [25])
  }

  /// Two chips on one timer: the slow one is polled, and does not slow the fast one down.
  @Test func aSharedTimerRunsAtTheHighestRate() async throws {
    let result = try await IIOFixture.run { fixture -> Outcome in
      try IIOChips.addIMU(fixture)
      try IIOChips.addBufferedBarometer(fixture, number: 1)
      try fixture.write("../trigger0/name", of: 0, "odograph")
      try fixture.write("../trigger0/sampling_frequency", of: 0, "10")
      try fixture.write("../trigger1/name", of: 1, "lis2dh12_accel-trigger")
      var outcome = Outcome()
      let imu = try fixture.openPipe(of: 0)
      let barometer = try fixture.openPipe(of: 1)
      let recorder = EventRecorder()
      let source = try Self.source(recorder, [.barometer: 2])
      let timer = "../trigger0/sampling_frequency"
      outcome.steps.append(fixture.wait(for: timer, of: 0, toBe: "2"))
      outcome.steps.append(fixture.wait(for: "buffer/enable", of: 1, toBe: "1"))
      source.setDemand(.rate(hertz: 100, latency: .milliseconds(50)), for: .accelerometer)
      outcome.steps.append(fixture.wait(for: timer, of: 0, toBe: "100"))
      outcome.steps.append(waitUntil { recorder.barometer.count > 3 })
      source.setDemand(.rate(hertz: 4, latency: .milliseconds(50)), for: .barometer)
      let count = recorder.barometer.count
      outcome.steps.append(waitUntil { recorder.barometer.count > count + 3 })
      outcome.files = [fixture.read(timer, of: 0), fixture.read("buffer/enable", of: 1)]
      source.stop()
      outcome.steps += [imu.push([]), barometer.push([])]
      return outcome
    }
    #expect(result.steps.allSatisfy { $0 }, "\(result)")
    #expect(result.files == ["100", "0"])
  }

  @Test func demandsOnATimer() {
    let demands = TimerDemands()
    #expect(demands.set(50, from: "mag", on: "timer") == (50, true))
    #expect(!demands.isUsed("timer", besides: "mag") && demands.isUsed("timer", besides: "imu"))
    #expect(demands.set(100, from: "imu", on: "timer") == (100, true))
    #expect(demands.set(60, from: "mag", on: "timer") == (100, false))
    #expect(demands.set(5, from: "baro", on: "other") == (5, true))
    #expect(demands.rate(of: "timer") == 100)
    #expect(!demands.release("baro") && demands.rate(of: "other") == nil)
    #expect(demands.release("imu") && demands.rate(of: "timer") == 60)
    #expect(!demands.release("mag") && !demands.release("mag"))
  }
}

extension SourceStatus.State {
  /// The reason of unavailability; nil in other states.
  fileprivate var reason: String? { if case .unavailable(let reason) = self { reason } else { nil } }
}
