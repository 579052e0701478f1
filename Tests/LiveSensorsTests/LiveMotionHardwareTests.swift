import Foundation
import LiveSensors
import Motion
import Platform
import Positioning
import SensorFixtures
import Sensors
import SensorsIIO
import Spatial
import TestSupport
import Testing

/// Motion of live hardware: an emulated iiod at real-time pace that sends no samples until a sensor is required.
@Suite(.serialized, .timeLimit(.minutes(1))) struct LiveMotionHardwareTests {
  private func device(_ server: EmulatedIIOD) throws -> LiveDevice {
    try LiveDevice(.iio(IIOConfiguration(uri: server.uri)))
  }

  private func first<Element>(_ elements: AsyncSamples<Element>, _ count: Int = 1) async -> [Element] {
    var collected: [Element] = []
    for await element in elements {
      collected.append(element)
      if collected.count == count { break }
    }
    return collected
  }

  /// Uses the handler-free form of Core Motion: start, read the property, stop.
  @Test func pullPowersTheSensor() async throws {
    let server = try EmulatedIIOD()
    let device = try device(server)
    try device.start()
    #expect(device.motion.accelerometerData == nil && !device.motion.isAccelerometerActive)
    device.motion.startAccelerometerUpdates(interval: 0.02)
    try await eventually { device.motion.accelerometerData != nil }
    let sample = try #require(device.motion.accelerometerData)
    #expect(abs(sample.acceleration.z + 1) < 0.02 && sample.timestamp <= device.now)
    #expect(device.motion.isAccelerometerActive && server.isCapturing(.accelerometer))
    #expect(!server.isCapturing(.magnetometer))
    device.motion.stopAccelerometerUpdates()
    try await eventually { !server.isCapturing(.accelerometer) }

    device.motion.startGyroUpdates()
    device.motion.startMagnetometerUpdates()
    try await eventually { device.motion.gyroData != nil && device.motion.magnetometerData != nil }
    device.motion.stopGyroUpdates()
    device.motion.stopMagnetometerUpdates()
    try await eventually { !server.isCapturing(.gyroscope) && !server.isCapturing(.magnetometer) }

    device.motion.startDeviceMotionUpdates(using: .xArbitraryZVertical)
    try await eventually { device.motion.deviceMotion?.attitude != nil }
    device.stop()
    #expect(!device.motion.isDeviceMotionActive)
  }

  /// Each change of the requirements changes the demand of the hardware.
  @Test func anyChangeOfTheManagerReachesTheSensors() async throws {
    let server = try EmulatedIIOD()
    let device = try LiveDevice(
      .iio(IIOConfiguration(uri: server.uri)), motion: MotionManager(frame: .xArbitraryZVertical))
    try device.start()
    let consumer = device.motion.withManager { $0.startUpdates(MotionRequest(.deviceMotion)) }
    try await eventually { server.isCapturing(.gyroscope) }
    #expect(!server.isCapturing(.magnetometer))
    device.motion.withManager { $0.frame = .xMagneticNorthZVertical }
    try await eventually { server.isCapturing(.magnetometer) }
    device.motion.withManager { $0.stopUpdates(for: consumer) }
    try await eventually { !server.isCapturing(.gyroscope) && !server.isCapturing(.magnetometer) }
  }

  @Test func discoveryReportsAvailableSensors() async throws {
    let server = try EmulatedIIOD()
    let device = try device(server)
    #expect(!device.motion.isAccelerometerAvailable && !device.location.headingAvailable)
    #expect(device.location.authorizationStatus == .notDetermined)
    try await device.discover()
    let motion = device.motion
    #expect(motion.isAccelerometerAvailable && motion.isGyroAvailable && motion.isMagnetometerAvailable)
    #expect(motion.isDeviceMotionAvailable && motion.isRelativeAltitudeAvailable)
    #expect(!motion.isAbsoluteAltitudeAvailable, "there is no receiver")
    #expect(
      motion.availableAttitudeReferenceFrames
        == [.xArbitraryZVertical, .xArbitraryCorrectedZVertical, .xMagneticNorthZVertical])
    #expect(device.location.headingAvailable && device.location.authorizationStatus == .authorized)
    #expect(!device.location.locationServicesEnabled)
    #expect(server.captures.isEmpty, "discovery powers no sensor")
  }

  @Test func discoveryReportsMissingSensors() async throws {
    let server = try EmulatedIIOD([EmulatedIIOD.Chip("acc", [.accelerometer])])
    let device = try device(server)
    let availability = try await device.discover()
    #expect(device.motion.isAccelerometerAvailable && !device.motion.isGyroAvailable)
    #expect(!device.motion.isDeviceMotionAvailable && !device.motion.isMagnetometerAvailable)
    #expect(device.motion.availableAttitudeReferenceFrames.isEmpty)
    #expect(!device.location.headingAvailable)
    #expect(availability.reason(against: .heading)?.contains("magnetometer") == true)

    let port: UInt16 = try FreePort.next()
    let nothing = try LiveDevice(.iio(IIOConfiguration(uri: "ip:127.0.0.1:\(port)")))
    let none = try await nothing.discover()
    #expect(!nothing.motion.isAccelerometerAvailable && !nothing.location.headingAvailable)
    #expect(none.reason(against: .motionActivity) != nil)
  }

  /// A missing sensor is a failure as soon as it is requested; a consumer of failures powers no sensor.
  @Test func missingSensorsAreFailures() async throws {
    let server = try EmulatedIIOD([EmulatedIIOD.Chip("acc", [.accelerometer])])
    let device = try device(server)
    let failures = device.motion.failures()
    try device.start()
    let updates = device.motion.deviceMotionUpdates()
    var missing: Set<SensorKind> = []
    for await failure in failures {
      #expect(failure.reason.contains("load the driver"), "\(failure)")
      missing.formUnion(failure.kinds)
      if missing.isSuperset(of: [.gyroscope, .magnetometer]) { break }
    }
    #expect(!missing.contains(.accelerometer))
    // A later consumer receives the present failures.
    #expect(await first(device.motion.failures()).first?.reason.contains("load the driver") == true)
    withExtendedLifetime(updates) {}

    let scratch = try ScratchFolder()
    let port: UInt16 = try FreePort.next()
    let nothing = try LiveDevice(.iio(IIOConfiguration(uri: "ip:127.0.0.1:\(port)")))
    try nothing.start()
    await #expect {
      try await nothing.motion.recordAccelerometer(forDuration: 0.2, path: scratch.path + "/history")
    } throws: {
      ($0 as? MotionFailure).map { $0.kinds == [.accelerometer] && $0.reason.contains("\(port)") } ?? false
    }
    let receiver = LiveDevice(sources: [TestSource([.positioning])])
    try await receiver.discover()
    #expect(
      await first(receiver.motion.failures(), 4).map(\.description).sorted()
        == ["accelerometer", "barometer", "gyroscope", "magnetometer"].map {
          "\($0) unavailable: no \($0) was found"
        })
  }

  /// Each consumer has its interval; the hardware runs at the shortest.
  @Test func consumersHaveIndependentIntervals() async throws {
    let server = try EmulatedIIOD()
    let device = try device(server)
    let fast = device.motion.accelerometerUpdates(interval: 0.01)
    let slow = device.motion.accelerometerUpdates(interval: 0.1)
    try device.start()
    async let slowSamples = first(slow, 5)
    let samples = await first(fast, 60)
    #expect(server.frequency(of: .accelerometer) == 100)
    func steps(_ samples: [AccelerometerData]) -> [Double] {
      zip(samples, samples.dropFirst()).map { $1.timestamp.seconds(since: $0.timestamp) }
    }
    // On a busy machine, the emulated kernel drops blocks.
    #expect(steps(samples).count { abs($0 - 0.01) < 2e-3 } >= 50)
    #expect(await steps(slowSamples).count { abs($0 - 0.1) < 2e-3 } >= 3)
    fast.stop()
    // The slow consumer alone requires only its own rate.
    try await eventually { server.frequency(of: .accelerometer).map { $0 < 100 } ?? false }
    slow.stop()
    try await eventually { !server.isCapturing(.accelerometer) }
  }

  @Test func shakesAreReported() async throws {
    let server = try EmulatedIIOD()
    server.play { time in
      let swing = (2..<2.8).contains(time) ? 25 * sin(2 * .pi * 4 * time) : 0
      return EmulatedIIOD.Reading(specificForce: Vector3(swing, 0, 9.81))
    }
    let device = try device(server)
    let shakes = device.motion.shakes()
    try device.start()
    let events = await first(shakes, 2)
    guard case .began? = events.first, case .ended? = events.last else {
      Issue.record("\(events)")
      return
    }
    #expect(events.allSatisfy { $0.axis == .horizontal })
  }

  @Test func impactsAreReportedToAHandler() async throws {
    let server = try EmulatedIIOD()
    server.play { time in
      let pulse = (2..<2.08).contains(time) ? 60 * sin(.pi * (time - 2) / 0.08) : 0
      return EmulatedIIOD.Reading(specificForce: Vector3(0, pulse, 9.81))
    }
    let device = try device(server)
    let seen = Locked<[Impact]>([])
    let updates = try device.motion.startImpactUpdates { impact in seen.withLock { $0.append(impact) } }
    try device.start()
    try await eventually { seen.withLock { !$0.isEmpty } }
    #expect(seen.withLock { $0[0].peak } > 4)
    updates.stop()
    try await eventually { !server.isCapturing(.gyroscope) }
  }

  /// Orientation and rest power the accelerometer only.
  @Test func orientationAndRestAreReported() async throws {
    let server = try EmulatedIIOD()
    let device = try device(server)
    let (orientations, activities) = (
      device.motion.orientationUpdates(), device.motion.activityUpdates()
    )
    try device.start()
    var iterator = orientations.makeAsyncIterator()
    #expect(await iterator.next() == .faceUp)
    #expect(await first(activities).first?.state == .stationary)
    #expect(!server.isCapturing(.gyroscope) && !server.isCapturing(.magnetometer))
    server.play { _ in EmulatedIIOD.Reading(specificForce: Vector3(0, 9.81, 0)) }
    #expect(await iterator.next() == .portrait)
  }

  /// Two consumers of headings with different filters power the motion sensors.
  @Test func headingsAreReported() async throws {
    let server = try EmulatedIIOD()
    let device = try device(server)
    let (all, rare) = (
      device.location.headingUpdates(), device.location.headingUpdates(HeadingManager(headingFilter: 90))
    )
    try device.start()
    #expect(await first(all, 20).allSatisfy { abs(remainder($0.magneticHeading, 360)) < 5 })
    #expect(server.isCapturing(.magnetometer) && server.isCapturing(.gyroscope))
    device.stop()
    #expect(await first(rare, 100).count == 1, "the heading did not change")
  }

  @Test func altitudeIsReported() async throws {
    let server = try EmulatedIIOD()
    let device = try device(server)
    let updates = device.motion.relativeAltitudeUpdates()
    try device.start()
    let data = try #require(await first(updates).first)
    #expect(abs(data.pressure - 101.325) < 0.05 && abs(data.relativeAltitude) < 5)
    #expect(server.pollCount > 0 && server.captures.isEmpty)
    #expect(device.motion.altitudeData != nil && device.motion.isRelativeAltitudeAvailable)
  }

  @Test func theAccelerometerIsRecorded() async throws {
    let server = try EmulatedIIOD()
    let scratch = try ScratchFolder()
    let device = try device(server)
    try device.start()
    let before = UTCTime.now
    let lost = try await device.motion.recordAccelerometer(
      forDuration: 1, path: scratch.path + "/history")
    #expect(lost == 0)
    let after = UTCTime.now
    let history = try SensorRecorder(reading: scratch.path + "/history")
      .accelerometerData(from: before, to: after)
    #expect((49...52).contains(history.samples.count))
    #expect(history.samples.allSatisfy { abs($0.acceleration.z + 1) < 0.02 })
    try await eventually { !server.isCapturing(.accelerometer) }
  }

  /// A recording ends after its duration even if the sensor stops delivering samples or never delivers any.
  @Test(arguments: [0, 20]) func aSilentSensorEndsTheRecording(samples: Int) async throws {
    let scratch = try ScratchFolder()
    let source = TestSource([.accelerometer])
    let device = LiveDevice(sources: [source])
    try device.start()
    let lost = Task {
      try await device.motion.recordAccelerometer(forDuration: 0.5, path: scratch.path + "/history")
    }
    try await eventually { source.demand(.accelerometer).isOn }
    let now = Timestamp.now
    source.push(
      .inertial(
        (0..<samples).map {
          InertialScan(
            timestamp: now.advanced(bySeconds: 0.02 * Double($0)),
            specificForce: Vector3(0, 0, 9.81 + 0.01 * Double($0)))
        }))
    if samples > 0 {
      #expect(try await lost.value == 0)
    } else {
      await #expect(throws: MotionFailure.self) { try await lost.value }
    }
    let history = try SensorRecorder(reading: scratch.path + "/history").accelerometerData(
      from: UTCTime(nanoseconds: 0), to: UTCTime(nanoseconds: .max))
    #expect(history.samples.count == samples)
    try await eventually { !source.demand(.accelerometer).isOn }
  }
}
