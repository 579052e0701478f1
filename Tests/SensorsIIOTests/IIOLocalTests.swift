import Platform
import Sensors
import SensorsIIO
import Spatial
import TestSupport
import Testing

/// The IIO source on the real libiio's local backend, with a fake sysfs.
@Suite(.needs(.mounting)) struct IIOLocalTests {
  struct Capture: Sendable {
    var accelerometer: [InertialScan] = []
    var gyroscope: [InertialScan] = []
    var magnetometer: [InertialScan] = []
    var barometer: [PressureData] = []
    var thermometer: [InertialScan] = []
    var statuses: [SourceStatus] = []
    var files: [String: String] = [:]
    var steps: [Bool] = []
    /// Time stamp of the first sample or an earlier time, and a time after the last sample.
    var start: Int64 = 0
    var end: Int64 = 0

    mutating func take(_ recorder: EventRecorder) {
      accelerometer = recorder.accelerometer
      gyroscope = recorder.gyroscope
      magnetometer = recorder.magnetometer
      barometer = recorder.barometer
      thermometer = recorder.thermometer
      statuses = recorder.statuses
    }
  }

  @Test func capturesOnlyDemandedSensorsAndPowersDown() async throws {
    let result = try await IIOFixture.run { fixture -> Capture in
      try IIOChips.addIMU(fixture)
      var capture = Capture()
      let pipe = try fixture.openPipe(of: 0)
      let recorder = EventRecorder()
      let source = try IIOSource()
      try source.start { recorder.receive($0) }
      capture.steps.append(waitUntil { !recorder.statuses.isEmpty })
      capture.files["enabled before"] = fixture.read("buffer/enable", of: 0)

      source.setDemand(.rate(hertz: 80, latency: .milliseconds(50)), for: .accelerometer)
      capture.steps.append(fixture.wait(for: "buffer/enable", of: 0, toBe: "1"))
      for name in [
        "sampling_frequency", "current_timestamp_clock", "trigger/current_trigger", "buffer/watermark",
        "scan_elements/in_accel_x_en", "scan_elements/in_anglvel_x_en", "scan_elements/in_timestamp_en",
      ] { capture.files[name] = fixture.read(name, of: 0) }
      capture.start = Timestamp.now.nanoseconds - 200_000_000
      for index in Int16(0)..<20 {
        let stamp = capture.start + Int64(index) * 10_000_000
        capture.steps.append(pipe.push(IIOChips.accelerometerScan(index, -index, 8192, stamp: stamp)))
      }
      capture.steps.append(waitUntil { recorder.accelerometer.count == 20 })
      source.setDemand(.off, for: .accelerometer)
      capture.steps.append(fixture.wait(for: "buffer/enable", of: 0, toBe: "0"))
      capture.steps.append(
        waitUntil { recorder.statuses.last.map { if case .idle = $0.state { true } else { false } } == true })
      source.stop()
      capture.take(recorder)
      return capture
    }
    #expect(result.steps.allSatisfy { $0 }, "\(result)")
    #expect(
      result.files == [
        "enabled before": "0", "sampling_frequency": "100", "current_timestamp_clock": "boottime",
        "trigger/current_trigger": "testimu-dev0", "buffer/watermark": "5",
        "scan_elements/in_accel_x_en": "1",
        "scan_elements/in_anglvel_x_en": "0", "scan_elements/in_timestamp_en": "1",
      ])
    #expect(
      result.accelerometer.map(\.timestamp.nanoseconds) == (0..<20).map { result.start + $0 * 10_000_000 })
    for (index, sample) in result.accelerometer.enumerated() {
      let expected = IIOChips.specificForce(Int16(index), Int16(-index), 8192)
      #expect(((sample.specificForce ?? .zero) - expected).length < 1e-12)
    }
    #expect(result.gyroscope.isEmpty && result.thermometer.isEmpty)
    let states = result.statuses.map(\.state)
    #expect(states == [.idle, .active(rates: [.accelerometer: 100]), .idle])
    #expect(result.statuses[0].kinds == [.accelerometer, .gyroscope, .thermometer])
    #expect(result.statuses[0].source == "local: iio:device0 (testimu)")
  }

  /// A HID sensor hub ignores its clock setting: it counts from its own start, or shows civil time.
  @Test(arguments: [5, 1_780_000_000 as Int64])
  func aHubsOwnClockIsFollowed(seconds: Int64) async throws {
    let result = try await IIOFixture.run { fixture -> Capture in
      try IIOChips.addIMU(fixture)
      var capture = Capture()
      let pipe = try fixture.openPipe(of: 0)
      let recorder = EventRecorder()
      let source = try IIOSource()
      source.setDemand(.rate(hertz: 100, latency: .milliseconds(50)), for: .accelerometer)
      try source.start { recorder.receive($0) }
      capture.steps.append(fixture.wait(for: "buffer/enable", of: 0, toBe: "1"))
      capture.start = Timestamp.now.nanoseconds
      for index in Int64(0)..<20 {
        let stamp = seconds * 1_000_000_000 + Timestamp.now.nanoseconds - capture.start
        capture.steps.append(pipe.push(IIOChips.accelerometerScan(Int16(index), 2, 3, stamp: stamp)))
      }
      capture.steps.append(waitUntil { recorder.accelerometer.count == 20 })
      source.stop()
      capture.take(recorder)
      capture.end = Timestamp.now.nanoseconds
      return capture
    }
    #expect(result.steps.allSatisfy { $0 }, "\(result)")
    let times = result.accelerometer.map(\.timestamp.nanoseconds)
    #expect(times.allSatisfy { (result.start...result.end + 10_000_000_000).contains($0) }, "\(result)")
  }

  /// The kernel rejects settings during a capture, and a capture continues after its program was killed.
  @Test func aStaleCaptureStopsBeforeSettingsAreWritten() async throws {
    let result = try await IIOFixture.run { fixture -> [String] in
      try IIOChips.addIMU(fixture)
      try fixture.write("buffer/enable", of: 0, "1")
      let writes = try fixture.observeWrites(to: ["buffer/enable", "sampling_frequency"], of: 0)
      let recorder = EventRecorder()
      let source = try IIOSource()
      source.setDemand(.rate(hertz: 100, latency: .milliseconds(50)), for: .accelerometer)
      try source.start { recorder.receive($0) }
      var order: [String] = []
      waitUntil {
        order += writes.next()
        return order.contains("sampling_frequency")
      }
      source.stop()
      return order
    }
    #expect(result.first == "buffer/enable", "\(result)")
  }

  @Test func aCombinedChipRunsAtTheHighestRate() async throws {
    let result = try await IIOFixture.run { fixture -> Capture in
      try IIOChips.addIMU(fixture, hasTrigger: false)
      var capture = Capture()
      let pipe = try fixture.openPipe(of: 0)
      let recorder = EventRecorder()
      let source = try IIOSource()
      source.setDemand(.rate(hertz: 200, latency: .milliseconds(10)), for: .gyroscope)
      source.setDemand(.rate(hertz: 10, latency: .seconds(1)), for: .accelerometer)
      source.setDemand(.rate(hertz: 10, latency: .seconds(1)), for: .thermometer)
      try source.start { recorder.receive($0) }
      capture.steps.append(fixture.wait(for: "buffer/enable", of: 0, toBe: "1"))
      for index in Int64(0)..<50 {
        capture.steps.append(
          pipe.push(IIOChips.fullScan([1, 2, 3, 100, 200, -300], stamp: index * 5_000_000)))
      }
      capture.steps.append(
        waitUntil {
          recorder.gyroscope.count == 50 && recorder.accelerometer.count == 50
            && !recorder.thermometer.isEmpty
        })
      source.stop()
      capture.files["buffer/enable"] = fixture.read("buffer/enable", of: 0)
      capture.take(recorder)
      return capture
    }
    #expect(result.steps.allSatisfy { $0 }, "\(result)")
    #expect(result.files == ["buffer/enable": "0"])
    #expect(
      result.gyroscope.allSatisfy { (($0.rotationRate ?? .zero) - Vector3(0.2, -0.1, -0.3)).length < 1e-12 })
    #expect(result.gyroscope.map(\.timestamp) == result.accelerometer.map(\.timestamp))
    // The temperature is read from its attribute, since it is not in the scan: (2000 + 500) · 10 thousandths of a
    // degree.
    #expect(result.thermometer.first?.temperature == 25)
    #expect(
      result.statuses.map(\.state) == [
        .active(rates: [.gyroscope: 200, .accelerometer: 200, .thermometer: 1])
      ])
  }

  @Test func pollsSensorsWithoutABuffer() async throws {
    let result = try await IIOFixture.run { fixture -> Capture in
      try IIOChips.addPolled(fixture)
      var capture = Capture()
      let recorder = EventRecorder()
      let source = try IIOSource()
      for kind in [SensorKind.magnetometer, .barometer, .thermometer] {
        source.setDemand(.rate(hertz: 20, latency: .zero), for: kind)
      }
      let before = Timestamp.now
      try source.start { recorder.receive($0) }
      capture.steps.append(
        waitUntil {
          recorder.magnetometer.count > 3 && recorder.barometer.count > 3 && !recorder.thermometer.isEmpty
        })
      source.stop()
      capture.take(recorder)
      let after = Timestamp.now
      capture.steps.append(
        capture.magnetometer.allSatisfy { (before...after).contains($0.timestamp) })
      return capture
    }
    #expect(result.steps.allSatisfy { $0 }, "\(result)")
    // Gauss are converted to µT, kilopascals to Pa, and thousandths of a degree to degrees.
    #expect(
      result.magnetometer.allSatisfy { (($0.magneticField ?? .zero) - Vector3(15, 30, -45)).length < 1e-9 })
    #expect(result.barometer.allSatisfy { abs($0.pressure - 101_325) < 1e-6 })
    #expect(result.thermometer.first?.temperature == 21.5)
    #expect(
      zip(result.magnetometer, result.magnetometer.dropFirst()).allSatisfy { $0.timestamp < $1.timestamp })
  }

  /// Many magnetometers have no buffer: the log and `status` report the reason for the lower rate.
  @Test(arguments: [(20.0, nil), (100, "magnetometer")] as [(Double, String?)])
  func pollingBelowTheDemandIsReported(hertz: Double, kind: String?) async throws {
    let result = try await IIOFixture.run { fixture -> Capture in
      try IIOChips.addPolled(fixture)
      var capture = Capture()
      let recorder = EventRecorder()
      let source = try IIOSource()
      source.setDemand(.rate(hertz: hertz, latency: .zero), for: .magnetometer)
      for kind in [SensorKind.barometer, .thermometer] {
        source.setDemand(.rate(hertz: 2, latency: .zero), for: kind)
      }
      try source.start { recorder.receive($0) }
      capture.steps.append(waitUntil { recorder.magnetometer.count > 3 && recorder.barometer.count > 3 })
      source.stop()
      capture.take(recorder)
      return capture
    }
    #expect(result.steps.allSatisfy { $0 }, "\(result)")
    let active = result.statuses.filter { if case .active = $0.state { true } else { false } }
    let magnetometer = active.filter { $0.kinds == [.magnetometer] }
    #expect(magnetometer.map(\.state) == [.active(rates: [.magnetometer: min(hertz, 25)])])
    #expect(
      magnetometer.map(\.restriction) == [
        kind.map {
          "cannot start the buffer of local: iio:device4 (testmag): its driver has no buffer for \($0); polled at 25 Hz"
        }
      ])
    #expect(active.filter { $0.kinds != [.magnetometer] }.allSatisfy { $0.restriction == nil })
  }

  /// fxas21002c reports its temperature in steps of its own.
  @Test func aRawTemperatureOrPressureWithoutScaleIsNotUsed() async throws {
    let result = try await IIOFixture.run { fixture -> (IIOInventory, [InertialScan]) in
      try fixture.addDevice(
        1, name: "raw", files: ["in_temp_raw": "40", "in_pressure_raw": "1000", "in_pressure_offset": "1"])
      try fixture.addDevice(2, name: "both", files: ["in_temp_raw": "40", "in_temp_input": "21500"])
      let recorder = EventRecorder()
      let source = try IIOSource()
      source.setDemand(.rate(hertz: 1, latency: .zero), for: .thermometer)
      try source.start { recorder.receive($0) }
      waitUntil { !recorder.thermometer.isEmpty }
      source.stop()
      return (try IIOProbe.inventory(IIOConfiguration()), recorder.thermometer)
    }
    #expect(result.0.devices.map(\.name) == ["both"])
    #expect(result.1.first?.temperature == 21.5)
  }

  /// A device with scan elements whose buffer cannot be opened is polled by its attributes. Raw value, offset and
  /// scale of a barometer give kilopascals: (1000 + 13.25) · 0.1.
  @Test func aRawPressureIsKilopascals() async throws {
    let result = try await IIOFixture.run { fixture -> Capture in
      try IIOChips.addRawBarometer(fixture)
      var capture = Capture()
      let recorder = EventRecorder()
      let source = try IIOSource()
      source.setDemand(.rate(hertz: 10, latency: .zero), for: .barometer)
      try source.start { recorder.receive($0) }
      capture.steps.append(waitUntil { recorder.barometer.count > 2 })
      source.setDemand(.off, for: .barometer)
      capture.steps.append(waitUntil { recorder.statuses.last?.state == .idle })
      source.stop()
      capture.take(recorder)
      return capture
    }
    #expect(result.steps.allSatisfy { $0 }, "\(result)")
    #expect(result.barometer.allSatisfy { abs($0.pressure - 101_325) < 1e-6 })
  }

  /// A chip that is faster than its nominal rate, and a late wake-up, leave more samples than one read returns. The
  /// rest is read without a wait: here, waits of 2 s for each of ten blocks would last 20 s.
  @Test func aBacklogIsReadWithoutWaits() async throws {
    let result = try await IIOFixture.run { fixture -> Capture in
      try IIOChips.addIMU(fixture)
      var capture = Capture()
      let pipe = try fixture.openPipe(of: 0)
      let recorder = EventRecorder()
      let source = try IIOSource()
      try source.start { recorder.receive($0) }
      source.setDemand(.rate(hertz: 100, latency: .seconds(2)), for: .accelerometer)
      capture.steps.append(fixture.wait(for: "buffer/enable", of: 0, toBe: "1"))
      capture.start = Timestamp.now.nanoseconds - 2_000_000_000
      for index in Int64(0)..<2000 {
        let stamp = capture.start + index * 1_000_000
        capture.steps.append(pipe.push(IIOChips.accelerometerScan(1, 2, 3, stamp: stamp)))
      }
      capture.steps.append(waitUntil(atMost: 12) { recorder.accelerometer.count == 2000 })
      source.stop()
      capture.take(recorder)
      return capture
    }
    #expect(result.steps.allSatisfy { $0 }, "\(result.accelerometer.count)")
  }

  /// A missing barometer is reported once if the settings name it, and otherwise never.
  @Test(arguments: [true, false]) func aMissingBarometerIsReportedOnce(isAskedFor: Bool) async throws {
    let result = try await IIOFixture.run { fixture -> Capture in
      try IIOChips.addPolled(fixture)
      var capture = Capture()
      let recorder = EventRecorder()
      var configuration = IIOConfiguration()
      configuration.devices[.barometer] = "elsewhere"
      if isAskedFor { configuration.helpers.remove(.barometer) }
      let source = try IIOSource(configuration)
      for kind in [SensorKind.magnetometer, .barometer] {
        source.setDemand(.rate(hertz: 20, latency: .zero), for: kind)
      }
      try source.start { recorder.receive($0) }
      capture.steps.append(waitUntil { recorder.magnetometer.count > 30 })
      source.stop()
      capture.take(recorder)
      return capture
    }
    #expect(result.steps.allSatisfy { $0 }, "\(result)")
    let missed = result.statuses.filter {
      if case .unavailable = $0.state { $0.kinds.contains(.barometer) } else { false }
    }
    #expect(missed.count == (isAskedFor ? 1 : 0), "\(missed)")
    #expect(result.barometer.isEmpty)
  }

  @Test func fallsBackToPollingWhereTheBufferFails() async throws {
    let result = try await IIOFixture.run { fixture -> Capture in
      try IIOChips.addIMU(fixture)
      fixture.removeNode(0)
      var capture = Capture()
      let recorder = EventRecorder()
      let source = try IIOSource()
      source.setDemand(.rate(hertz: 20, latency: .zero), for: .accelerometer)
      try source.start { recorder.receive($0) }
      capture.steps.append(waitUntil { recorder.accelerometer.count > 3 })
      source.stop()
      capture.take(recorder)
      return capture
    }
    #expect(result.steps.allSatisfy { $0 }, "\(result)")
    let expected = IIOChips.specificForce(1000, -2000, 8192)
    #expect(result.accelerometer.allSatisfy { (($0.specificForce ?? .zero) - expected).length < 1e-12 })
    #expect(result.statuses.map(\.state) == [.active(rates: [.accelerometer: 20])])
  }

  @Test func aVanishedDeviceIsPickedUpAgainUnderAnotherNumber() async throws {
    let result = try await IIOFixture.run { fixture -> Capture in
      try IIOChips.addIMU(fixture)
      var capture = Capture()
      let pipe = try fixture.openPipe(of: 0)
      let recorder = EventRecorder()
      var configuration = IIOConfiguration()
      configuration.timeout = 0.3
      let source = try IIOSource(configuration)
      source.setDemand(.rate(hertz: 100, latency: .milliseconds(10)), for: .accelerometer)
      try source.start { recorder.receive($0) }
      capture.steps.append(fixture.wait(for: "buffer/enable", of: 0, toBe: "1"))
      capture.steps.append(pipe.push(IIOChips.accelerometerScan(1, 2, 3, stamp: 1)))
      capture.steps.append(waitUntil { recorder.accelerometer.count == 1 })
      fixture.removeDevice(0)
      capture.steps.append(
        waitUntil { recorder.statuses.contains { if case .unavailable = $0.state { true } else { false } } })
      // Long enough for several attempts, which must not be reported.
      capture.steps.append(!waitUntil(atMost: 1.5) { recorder.statuses.count > 2 })
      try IIOChips.addIMU(fixture, number: 3)
      let second = try fixture.openPipe(of: 3)
      capture.steps.append(fixture.wait(for: "buffer/enable", of: 3, toBe: "1"))
      capture.steps.append(second.push(IIOChips.accelerometerScan(4, 5, 6, stamp: 2)))
      capture.steps.append(waitUntil { recorder.accelerometer.count == 2 })
      source.stop()
      capture.take(recorder)
      return capture
    }
    #expect(result.steps.allSatisfy { $0 }, "\(result)")
    let states = result.statuses.map(\.state)
    #expect(states.count == 3)
    #expect(states.first == .active(rates: [.accelerometer: 100]))
    #expect(states.last == .active(rates: [.accelerometer: 100]))
    guard case .unavailable(let reason) = states.dropFirst().first else {
      Issue.record("the loss was not reported: \(states)")
      return
    }
    #expect(reason.contains("local:"), "\(reason)")
  }

  @Test func theProbeListsDevicesAndRemedies() async throws {
    let result = try await IIOFixture.run { fixture -> (IIOInventory, String) in
      try IIOChips.addIMU(fixture)
      try IIOChips.addPolled(fixture)
      var configuration = IIOConfiguration()
      configuration.mountMatrices["testmag"] = MountMatrix(parsing: "1,0,0;0,-1,0;0,0,-1")
      // A configured matrix replaces that of the chip.
      configuration.mountMatrices["testimu"] = MountMatrix(parsing: "1,0,0;0,-1,0;0,0,-1")
      let inventory = try IIOProbe.inventory(configuration)
      configuration.uri = "ip:127.0.0.1:1"
      do {
        _ = try IIOProbe.inventory(configuration)
        return (inventory, "")
      } catch {
        return (inventory, "\(error)")
      }
    }
    let (inventory, refusal) = result
    #expect(refusal.contains("ip:127.0.0.1:1") && refusal.contains("start iiod"), "\(refusal)")
    #expect(inventory.kinds == SensorKind.iioKinds)
    #expect(inventory.triggers == ["testimu-dev0"])
    let imu = try #require(inventory.devices.first { $0.name == "testimu" })
    #expect(imu.needsTrigger && imu.hasTimestamp && imu.title == "iio:device0 (testimu)")
    let accelerometer = try #require(imu.sensor(.accelerometer))
    #expect(accelerometer.frequencies == .list([12.5, 50, 100, 200]) && accelerometer.frequency == 50)
    #expect(accelerometer.isBuffered && accelerometer.mountSource == .configuration)
    #expect(accelerometer.mountMatrix == MountMatrix(parsing: "1,0,0;0,-1,0;0,0,-1"))
    #expect(inventory.contains("testimu") && inventory.contains("iio:device4") && !inventory.contains("imu"))
    #expect(imu.sensor(.thermometer)?.isBuffered == false)
    // (32767 + 5) · 0.001197101 m/s², 32767 · 0.001 rad/s. The range of a magnetometer is not used.
    #expect(abs((accelerometer.range ?? 0) - 39.2314) < 1e-3)
    #expect(abs((imu.sensor(.gyroscope)?.range ?? 0) - 32.767) < 1e-6)
    let magnetometer = try #require(inventory.devices.first { $0.name == "testmag" }?.sensor(.magnetometer))
    #expect(
      magnetometer.mountSource == .configuration && !magnetometer.isBuffered && magnetometer.range == nil)
    #expect(abs((magnetometer.scale ?? 0) - 0.15) < 1e-12)
  }
}
