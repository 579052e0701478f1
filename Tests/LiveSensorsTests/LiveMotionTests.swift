import Foundation
import LiveSensors
import Motion
import Platform
import Sensors
import Spatial
import TestSupport
import Testing

@Suite struct LiveMotionTests {
  private func block(_ range: Range<Int>) -> SensorEvent {
    .inertial(
      range.map {
        InertialScan(
          timestamp: Timestamp(seconds: Double($0) / 100),
          acceleration: Vector3(0, 0.001 * Double($0 % 9), -1))
      })
  }

  private func drain<Sample>(_ stream: SampleStream<Sample>) -> [Sample] {
    var samples: [Sample] = []
    while let sample = stream.next(within: 0) { samples.append(sample) }
    return samples
  }

  @Test func everySampleArrivesInOrderAtABusyConsumer() throws {
    let live = LiveMotion(manager: MotionManager(frame: .xArbitraryZVertical)) { _ in }
    let stream = live.accelerometerStream(capacity: 300)
    let slow = live.accelerometerStream(interval: 0.1)
    for start in stride(from: 0, to: 300, by: 50) { live.process(block(start..<start + 50)) }
    let samples = drain(stream)
    #expect(samples.map(\.timestamp) == (0..<300).map { Timestamp(seconds: Double($0) / 100) })
    #expect(stream.overflowCount == 0)
    #expect(drain(slow).count == 30)
  }

  @Test func overflowIsCountedAndTheNewestAreRetained() {
    let live = LiveMotion(manager: MotionManager(frame: .xArbitraryZVertical)) { _ in }
    let stream = live.accelerometerStream(capacity: 100)
    live.process(block(0..<250))
    let samples = drain(stream)
    #expect(samples.count == 100 && stream.overflowCount == 150)
    #expect(samples.first?.timestamp == Timestamp(seconds: 1.5))
  }

  @Test func demandFollowsTheConsumers() {
    let told = Locked<[[SensorKind: SensorDemand]]>([])
    let live = LiveMotion(manager: MotionManager(frame: .xArbitraryZVertical)) { demands in
      told.withLock { $0.append(demands) }
    }
    let first = live.accelerometerStream()
    do {
      let second = live.gyroStream(interval: 0.5)
      #expect(told.withLock { $0.last?[.gyroscope] } == .rate(hertz: 2, latency: .seconds(0.1)))
      withExtendedLifetime(second) {}
    }
    // A released stream counts as stopped.
    #expect(told.withLock { $0.last?[.gyroscope] } == .off)
    #expect(live.withManager { $0.isAccelerometerActive })
    first.stop()
    first.stop()
    #expect(told.withLock { $0.last?[.accelerometer] } == .off)
    #expect(told.withLock { $0.count } == 4)
    live.process(block(0..<10))
    #expect(first.next() == nil)
  }

  @Test func deviceMotionIsPushed() {
    let live = LiveMotion(manager: MotionManager(frame: .xArbitraryZVertical)) { _ in }
    let stream = live.deviceMotionStream(interval: 0.05)
    live.process(block(0..<1))
    for index in 0..<100 {
      let time = Timestamp(seconds: Double(index) / 100)
      live.process(.inertial([InertialScan(timestamp: time, rotationRate: .zero)]))
    }
    #expect(drain(stream).count == 20)
  }

  /// Each change of the requirements is reported once, independent of its cause. Reading does not report a change.
  @Test func everyChangeOfTheManagerReportsItsDemands() {
    let told = Locked<[[SensorKind: SensorDemand]]>([])
    let live = LiveMotion(manager: MotionManager(frame: .xArbitraryZVertical)) { demands in
      told.withLock { $0.append(demands) }
    }
    let consumer = live.withManager { $0.startUpdates(MotionRequest(.deviceMotion)) }
    #expect(told.withLock { $0.last?[.gyroscope]?.isOn } == true)
    #expect(told.withLock { $0.last?[.magnetometer] } == .off)
    _ = live.withManager { $0.deviceMotion }
    #expect(told.withLock { $0.count } == 1)
    live.withManager { $0.frame = .xMagneticNorthZVertical }
    #expect(told.withLock { $0.last?[.magnetometer]?.isOn } == true)
    live.withManager { $0 = MotionManager(frame: .xArbitraryZVertical) }
    #expect(told.withLock { $0.last?.values.allSatisfy { !$0.isOn } } == true)
    #expect(told.withLock { $0.count } == 3 && !live.withManager { $0.isActive(consumer) })
  }

  @Test func pullingPowersTheSensorUntilStopped() {
    let told = Locked<[SensorKind: SensorDemand]>([:])
    let live = LiveMotion(manager: MotionManager(frame: .xArbitraryZVertical)) { demands in
      told.withLock { $0 = demands }
    }
    live.startAccelerometerUpdates(interval: 0.1)
    #expect(told.withLock { $0[.accelerometer] } == .rate(hertz: 10, latency: .seconds(0.1)))
    live.startAccelerometerUpdates(interval: 0.02)
    #expect(told.withLock { $0[.accelerometer] } == .rate(hertz: 50, latency: .seconds(0.1)))
    live.process(block(0..<10))
    #expect(live.accelerometerData?.timestamp == Timestamp(seconds: 0.09))
    live.stopAccelerometerUpdates()
    live.stopAccelerometerUpdates()
    #expect(told.withLock { $0[.accelerometer] } == .off)
    live.startDeviceMotionUpdates(using: .xMagneticNorthZVertical)
    #expect(live.frame == .xMagneticNorthZVertical && told.withLock { $0[.magnetometer]?.isOn } == true)
    live.finish()
    #expect(told.withLock { $0.values.allSatisfy { !$0.isOn } })
  }

  private func collect<Element>(_ elements: AsyncSamples<Element>) async -> [Element] {
    var collected: [Element] = []
    for await element in elements { collected.append(element) }
    return collected
  }

  /// Two seconds at rest, a shake of 0.8 s, rest, an impact, and a turn onto the side.
  private func gestures(gyroscope: Bool) -> [InertialScan] {
    (0..<800).map { index in
      let time = Double(index) / 100
      var acceleration = Vector3(0, 1e-3 * Double(index % 9), -1)
      if (2..<2.8).contains(time) { acceleration.x += 2.5 * sin(2 * .pi * 4 * time) }
      if (4..<4.08).contains(time) { acceleration.y -= 6 * sin(.pi * (time - 4) / 0.08) }
      var rate = Vector3.zero
      if !gyroscope, time >= 6 { acceleration = Vector3(-1, 1e-3 * Double(index % 9), 0) }
      if gyroscope, time >= 6 {
        let angle = min(1, time - 6) * .pi / 2
        acceleration = Vector3(-sin(angle), 1e-3 * Double(index % 9), -cos(angle))
        if time < 7 { rate.y = -.pi / 2 }
      }
      var scan = InertialScan(timestamp: Timestamp(seconds: time), acceleration: acceleration)
      if gyroscope { scan.rotationRate = rate }
      return scan
    }
  }

  /// Detected gestures do not depend on the block size, with and without a gyroscope.
  @Test(arguments: [true, false]) func detectorsAreIndependentOfTheBlockSize(gyroscope: Bool) async {
    let scans = gestures(gyroscope: gyroscope)
    var expected: ([ShakeDetector.Event], [Impact], [DeviceOrientation], [MotionActivity])?
    for size in [1, 7, 50, 100, 800] {
      let live = LiveMotion(manager: MotionManager(frame: .xArbitraryZVertical)) { _ in }
      let (shakes, impacts) = (live.shakes(), live.impacts())
      let (orientations, activities) = (live.orientationUpdates(), live.activityUpdates())
      let motions = live.deviceMotionUpdates(capacity: 1000)
      for start in stride(from: 0, to: scans.count, by: size) {
        live.process(.inertial(Array(scans[start..<min(start + size, scans.count)])))
      }
      live.finish()
      let found = (
        await collect(shakes), await collect(impacts), await collect(orientations), await collect(activities)
      )
      // Without a gyroscope, device motion waits one second for gyroscope samples.
      #expect(await collect(motions).count == (gyroscope ? 800 : 700), "blocks of \(size)")
      #expect(found.0.count == 2 && !found.1.isEmpty && found.2.first == .faceUp && found.2.count >= 2)
      #expect(found.3.contains { $0.state == .stationary } && found.3.contains { $0.state == .moving })
      guard let before = expected else {
        expected = found
        continue
      }
      #expect(before.0 == found.0 && before.1 == found.1, "blocks of \(size)")
      #expect(before.2 == found.2 && before.3 == found.3, "blocks of \(size)")
    }
  }

  @Test func altitudesArePushed() async {
    let told = Locked<[SensorKind: SensorDemand]>([:])
    let live = LiveMotion(manager: MotionManager(frame: .xArbitraryZVertical)) { demands in
      told.withLock { $0 = demands }
    }
    let relative = live.relativeAltitudeUpdates()
    #expect(told.withLock { $0[.barometer]?.isOn == true && $0[.positioning] == nil })
    let absolute = live.absoluteAltitudeUpdates()
    #expect(told.withLock { $0[.positioning]?.isOn } == true)
    for second in 0..<30 {
      let time = Timestamp(seconds: Double(second))
      live.update(altitude: 520, deviation: 3, speed: 10, at: time)
      live.process(.barometer([PressureData(timestamp: time, pressure: 95_000)]))
    }
    live.finish()
    #expect(told.withLock { $0.values.allSatisfy { !$0.isOn } })
    let heights = await collect(relative)
    #expect(heights.count >= 20 && heights.allSatisfy { abs($0.relativeAltitude) < 1 })
    #expect(await collect(absolute).last.map { abs($0.altitude - 520) < 5 } == true)
  }

  /// Available frames depend on the sensors of the sources and are known before the first sample.
  @Test func availableFramesFollowFromDiscovery() {
    let live = LiveMotion(manager: MotionManager(frame: .xArbitraryZVertical)) { _ in }
    #expect(live.availableAttitudeReferenceFrames.isEmpty && !live.isRelativeAltitudeAvailable)
    func status(_ source: String, _ kinds: Set<SensorKind>, _ state: SourceStatus.State = .idle) {
      live.process(
        .status(SourceStatus(timestamp: Timestamp(seconds: 0), source: source, kinds: kinds, state: state)))
    }
    status("imu", [.accelerometer, .gyroscope])
    #expect(live.availableAttitudeReferenceFrames == [.xArbitraryZVertical])
    status("mag", [.magnetometer])
    status("baro", [.barometer])
    #expect(live.availableAttitudeReferenceFrames.contains(.xMagneticNorthZVertical))
    #expect(live.isRelativeAltitudeAvailable && !live.isAbsoluteAltitudeAvailable)
    status("gpsd", [.positioning])
    #expect(live.availableAttitudeReferenceFrames.count == 4 && live.isAbsoluteAltitudeAvailable)
    status("mag", [.magnetometer], .unavailable(reason: "unplugged"))
    #expect(live.availableAttitudeReferenceFrames == [.xArbitraryZVertical])
  }

  /// Two sources and a repeatedly created consumer run on separate threads.
  @Test func managerIsThreadSafe() throws {
    let live = LiveMotion(manager: MotionManager(frame: .xArbitraryZVertical)) { _ in }
    let stream = live.accelerometerStream(capacity: 10_000)
    let feed = try DedicatedThread.start(name: "accelerometer") {
      for start in stride(from: 0, to: 5000, by: 10) { live.process(self.block(start..<start + 10)) }
    }
    let other = try DedicatedThread.start(name: "gyro") {
      for index in 0..<2000 {
        live.process(
          .inertial([InertialScan(timestamp: Timestamp(seconds: Double(index) / 100), rotationRate: .zero)]))
      }
    }
    let visitor = try DedicatedThread.start(name: "visitor") {
      for _ in 0..<200 { _ = live.gyroStream().next(within: 0.0001) }
    }
    for thread in [feed, other, visitor] { thread.join() }
    #expect(drain(stream).count == 5000)
    #expect(!live.withManager { $0.isGyroActive })
  }
}
