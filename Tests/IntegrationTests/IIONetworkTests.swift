import Platform
import Sensors
import SensorsIIO
import Spatial
import TestSupport
import Testing

/// The IIO source with a real iiod.
@Suite(.needs(.mounting)) struct IIONetworkTests {
  struct Capture: Sendable {
    var accelerometer: [InertialScan] = []
    var statuses: [SourceStatus] = []
    var steps: [Bool] = []
    var clock = ""
  }

  @Test func capturesAgainAfterAServerRestart() async throws {
    let result = try await IIOFixture.run { fixture -> Capture in
      try IIOChips.addIMU(fixture)
      let pipe = try fixture.openPipe(of: 0)
      var capture = Capture()
      let recorder = EventRecorder()
      let daemon = try IIODaemon()
      let source = try IIOSource(IIOConfiguration(uri: daemon.uri))
      source.setDemand(.rate(hertz: 100, latency: .milliseconds(50)), for: .accelerometer)
      try source.start { recorder.receive($0) }
      capture.steps.append(fixture.wait(for: "buffer/enable", of: 0, toBe: "1"))
      capture.clock = fixture.read("current_timestamp_clock", of: 0)
      for index in Int64(0)..<20 {
        capture.steps.append(
          pipe.push(IIOChips.accelerometerScan(Int16(index), 2, 3, stamp: 77_000 + index * 500_000)))
      }
      capture.steps.append(waitUntil { recorder.accelerometer.count == 20 })
      daemon.kill()
      capture.steps.append(
        waitUntil { recorder.statuses.contains { if case .unavailable = $0.state { true } else { false } } })
      capture.steps.append(!waitUntil(atMost: 1.5) { recorder.statuses.count > 2 })
      try fixture.write("buffer/enable", of: 0, "0")
      let second = try IIODaemon(port: daemon.port)
      capture.steps.append(fixture.wait(for: "buffer/enable", of: 0, toBe: "1"))
      for index in Int64(0)..<10 {
        capture.steps.append(
          pipe.push(IIOChips.accelerometerScan(Int16(index), 2, 3, stamp: 500_000_000 + index * 500_000)))
      }
      capture.steps.append(waitUntil { recorder.accelerometer.count == 30 })
      source.setDemand(.off, for: .accelerometer)
      for _ in 0..<5 {
        capture.steps.append(pipe.push(IIOChips.accelerometerScan(0, 2, 3, stamp: 1_000_000_000)))
      }
      capture.steps.append(fixture.wait(for: "buffer/enable", of: 0, toBe: "0"))
      source.stop()
      second.kill()
      capture.accelerometer = recorder.accelerometer
      capture.statuses = recorder.statuses
      return capture
    }
    #expect(result.steps.allSatisfy { $0 }, "\(result)")
    #expect(result.clock == "boottime")
    let first = result.accelerometer.prefix(20)
    #expect(
      zip(first, first.dropFirst()).allSatisfy {
        $1.timestamp.nanoseconds - $0.timestamp.nanoseconds == 500_000
      })
    for (index, sample) in first.enumerated() {
      #expect(((sample.specificForce ?? .zero) - IIOChips.specificForce(Int16(index), 2, 3)).length < 1e-12)
    }
    let names = result.statuses.map { status in
      switch status.state {
      case .active: "active"
      case .idle: "idle"
      case .unavailable: "unavailable"
      case .finished: "finished"
      }
    }
    #expect(names.prefix(3) == ["active", "unavailable", "active"], "\(result.statuses)")
  }

  /// Starts a source with a demand for the accelerometer at 100 Hz.
  private static func source(
    at uri: String, timeout: Double, _ recorder: EventRecorder
  ) throws -> IIOSource {
    var configuration = IIOConfiguration(uri: uri)
    configuration.timeout = timeout
    let source = try IIOSource(configuration)
    source.setDemand(.rate(hertz: 100, latency: .milliseconds(100)), for: .accelerometer)
    try source.start { recorder.receive($0) }
    return source
  }

  /// The interrupt of a chip stops working: the loss is reported, and the chip is polled.
  @Test func sensorThatBecomesSilentIsPolled() async throws {
    let result = try await IIOFixture.run { fixture -> Capture in
      try IIOChips.addIMU(fixture)
      let pipe = try fixture.openPipe(of: 0)
      var capture = Capture()
      let recorder = EventRecorder()
      let daemon = try IIODaemon()
      let source = try Self.source(at: daemon.uri, timeout: 1, recorder)
      capture.steps.append(fixture.wait(for: "buffer/enable", of: 0, toBe: "1"))
      for index in Int64(1)...10 {
        capture.steps.append(pipe.push(IIOChips.accelerometerScan(1, 2, 3, stamp: index * 10_000_000)))
      }
      capture.steps.append(waitUntil { recorder.accelerometer.count == 10 })
      var reading = 0
      capture.steps.append(
        try waitUntil {
          reading += 1
          try fixture.write("in_accel_x_raw", of: 0, "\(reading % 1000)")
          return recorder.accelerometer.count > 15
        })
      source.stop()
      capture.statuses = recorder.statuses
      return capture
    }
    #expect(result.steps.allSatisfy { $0 }, "\(result)")
    guard result.statuses.count >= 3, case .unavailable(let reason) = result.statuses[1].state else {
      Issue.record("the silence was not reported: \(result.statuses)")
      return
    }
    #expect(reason.contains("it delivers no more samples"))
    #expect(result.statuses[0].state == .active(rates: [.accelerometer: 100]))
    #expect(result.statuses[2].state == .active(rates: [.accelerometer: 25]))
    #expect(result.statuses[2].restriction?.contains("delivers no samples although readings change") == true)
  }

  /// iiod discards a block that is not full in time. The source remains active while a sensor of a hub, which reports only changes, is
  /// silent, and receives its next samples.
  @Test func silentSensorRemainsActive() async throws {
    let result = try await IIOFixture.run { fixture -> Capture in
      try IIOChips.addIMU(fixture, name: "accel_3d")
      let pipe = try fixture.openPipe(of: 0)
      var capture = Capture()
      let recorder = EventRecorder()
      let daemon = try IIODaemon()
      let source = try Self.source(at: daemon.uri, timeout: 1, recorder)
      capture.steps.append(fixture.wait(for: "buffer/enable", of: 0, toBe: "1"))
      for _ in 0..<10 { capture.steps.append(pipe.push(IIOChips.accelerometerScan(1, 2, 3, stamp: 1))) }
      capture.steps.append(waitUntil { recorder.accelerometer.count == 10 })
      capture.steps.append(fixture.wait(for: "buffer/length", of: 0, toBe: "200"))
      capture.steps.append(fixture.wait(for: "buffer/watermark", of: 0, toBe: "1"))
      capture.steps.append(fixture.wait(for: "buffer/enable", of: 0, toBe: "1"))
      capture.steps.append(pipe.push(IIOChips.accelerometerScan(7, 2, 3, stamp: 2)))
      capture.steps.append(waitUntil { recorder.accelerometer.count == 11 })
      source.stop()
      capture.accelerometer = recorder.accelerometer
      capture.statuses = recorder.statuses
      return capture
    }
    #expect(result.steps.allSatisfy { $0 }, "\(result)")
    #expect(result.statuses.map(\.state) == [.active(rates: [.accelerometer: 100])])
    let last = try #require(result.accelerometer.last)
    #expect(((last.specificForce ?? .zero) - IIOChips.specificForce(7, 2, 3)).length < 1e-12)
  }

  /// No sample arrives: the source is stopped while its thread waits for a block.
  @Test func stopsWhileItWaitsForABlock() async throws {
    let result = try await IIOFixture.run { fixture -> [Bool] in
      try IIOChips.addIMU(fixture)
      let pipe = try fixture.openPipe(of: 0)
      let recorder = EventRecorder()
      let daemon = try IIODaemon()
      let source = try Self.source(at: daemon.uri, timeout: 120, recorder)
      var steps = [fixture.wait(for: "buffer/enable", of: 0, toBe: "1")]
      steps.append(pipe.push(IIOChips.accelerometerScan(1, 2, 3, stamp: 1)))
      source.stop()
      steps.append(recorder.accelerometer.isEmpty)
      daemon.kill()
      return steps
    }
    #expect(result == [true, true, true])
  }

  @Test func missingServerIsReportedOnceWithARemedy() async throws {
    let result = try await IIOFixture.run { fixture -> [SourceStatus] in
      let recorder = EventRecorder()
      let source = try IIOSource(IIOConfiguration(uri: "ip:127.0.0.1:1"))
      try source.start { recorder.receive($0) }
      _ = waitUntil { !recorder.statuses.isEmpty }
      source.setDemand(.rate(hertz: 100, latency: .zero), for: .gyroscope)
      _ = waitUntil(atMost: 1.5) { recorder.statuses.count > 1 }
      source.stop()
      return recorder.statuses
    }
    #expect(result.count == 1)
    guard case .unavailable(let reason) = try #require(result.first).state else {
      Issue.record("\(result)")
      return
    }
    #expect(reason.contains("ip:127.0.0.1:1") && reason.contains("start iiod"))
    #expect(result.first?.kinds == SensorKind.iioKinds)
  }
}
