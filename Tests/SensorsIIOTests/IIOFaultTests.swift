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
