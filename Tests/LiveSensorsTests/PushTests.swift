import LiveSensors
import Motion
import Platform
import Sensors
import Spatial
import TestSupport
import Testing

/// Asynchronous sequences and handlers for updates, and properties that can be pulled.
@Suite struct PushTests {
  private func live(_ frame: AttitudeReferenceFrame = .xArbitraryZVertical) -> LiveMotion {
    LiveMotion(manager: MotionManager(frame: frame)) { _ in }
  }

  private func time(_ index: Int) -> Timestamp { Timestamp(seconds: Double(index) / 100) }

  /// Samples of all three sensors.
  private func feed(_ live: LiveMotion, _ range: Range<Int>) {
    for index in range {
      let noise = 1e-3 * Double(index % 9)
      live.process(
        .inertial([InertialScan(timestamp: time(index), magneticField: Vector3(noise, 24, -41))]))
      live.process(
        .inertial([InertialScan(timestamp: time(index), acceleration: Vector3(0, noise, -1))]))
      live.process(.inertial([InertialScan(timestamp: time(index), rotationRate: Vector3(noise, 0, 0))]))
    }
  }

  private func collect<Sample>(_ samples: AsyncSamples<Sample>) async -> [Sample] {
    var collected: [Sample] = []
    for await sample in samples { collected.append(sample) }
    return collected
  }

  @Test func everySampleArrivesInOrder() async {
    let live = live()
    let accelerometer = live.accelerometerUpdates(capacity: 400)
    let gyro = live.gyroUpdates(capacity: 400)
    let magnetometer = live.magnetometerUpdates(interval: 0.1)
    let motion = live.deviceMotionUpdates(capacity: 400)
    feed(live, 0..<300)
    // The consumers start to read after all samples have arrived.
    for stop in [accelerometer.stop, gyro.stop, magnetometer.stop, motion.stop] { stop() }
    #expect(await collect(accelerometer).map(\.timestamp) == (0..<300).map(time))
    #expect(await collect(gyro).map(\.timestamp) == (0..<300).map(time))
    #expect(await collect(magnetometer).count == 30)
    #expect(await collect(motion).map(\.timestamp) == (0..<300).map(time))
    #expect(accelerometer.overflowCount + gyro.overflowCount + motion.overflowCount == 0)
    #expect(live.withManager { $0.demands.values.allSatisfy { !$0.isOn } })
  }

  @Test func overflowIsCountedAndTheNewestAreRetained() async {
    let live = live()
    let samples = live.accelerometerUpdates(capacity: 100)
    #expect(samples.capacity == 100)
    feed(live, 0..<250)
    #expect(samples.overflowCount == 150)
    samples.stop()
    #expect(await collect(samples).map(\.timestamp) == (150..<250).map(time))
  }

  /// A loop that ends, by break or cancellation, removes its consumer and powers down the sensor.
  @Test func endedLoopRemovesItsConsumer() async throws {
    let live = live()
    do {
      let samples = live.gyroUpdates()
      #expect(live.isGyroActive)
      feed(live, 0..<1)
      for await _ in samples { break }
    }
    #expect(!live.isGyroActive)
    let samples = live.gyroUpdates()
    let task = Task { await collect(samples).count }
    task.cancel()
    #expect(await task.value == 0)
    #expect(!live.isGyroActive)
    // A loop over a sequence without other references continues until it breaks or its task is cancelled.
    let other = Task {
      var count = 0
      for await _ in live.gyroUpdates() {
        count += 1
        if count == 3 { break }
      }
      return count
    }
    while !live.isGyroActive { try await Task.sleep(for: .milliseconds(2)) }
    feed(live, 1..<4)
    #expect(await other.value == 3)
    #expect(!live.isGyroActive)
  }

  @Test func handlerReceivesEverySampleInOrder() throws {
    let live = live()
    let seen = Locked<[Timestamp]>([])
    let gate = Locked(false)
    let updates = try live.startAccelerometerUpdates(capacity: 500) { sample in
      // Blocks on the first sample until all have arrived.
      waitUntil { gate.withLock { $0 } }
      seen.withLock { $0.append(sample.timestamp) }
    }
    let others = (
      try live.startGyroUpdates { _ in }, try live.startMagnetometerUpdates { _ in },
      try live.startDeviceMotionUpdates { _ in }
    )
    feed(live, 0..<400)
    gate.withLock { $0 = true }
    #expect(waitUntil { seen.withLock { $0.count } == 400 })
    #expect(seen.withLock { $0 } == (0..<400).map(time))
    #expect(updates.overflowCount == 0 && updates.capacity == 500)
    #expect(live.isMagnetometerActive && live.isDeviceMotionActive)
    updates.stop()
    others.0.stop()
    others.1.stop()
    others.2.stop()
    #expect(live.withManager { $0.demands.values.allSatisfy { !$0.isOn } })
    feed(live, 400..<410)
    #expect(seen.withLock { $0.count } == 400)
  }

  @Test func effectiveIntervalIsReported() throws {
    let live = live()
    let quick = live.accelerometerStream(interval: 0.001)
    let slow = live.accelerometerUpdates(interval: 0.5)
    let handled = try live.startGyroUpdates(interval: 0.02) { _ in }
    #expect(quick.effectiveInterval == nil && slow.effectiveInterval == nil)
    live.process(
      .status(
        SourceStatus(
          timestamp: time(0), source: "iio", kinds: [.accelerometer, .gyroscope],
          state: .active(rates: [.accelerometer: 104, .gyroscope: 104]))))
    #expect(quick.effectiveInterval == 1 / 104.0)
    #expect(slow.effectiveInterval == 0.5 && handled.effectiveInterval == 0.02)
    quick.stop()
    #expect(quick.effectiveInterval == nil)
  }

  @Test func latestSampleCanBePulled() {
    let live = live(.xMagneticNorthZVertical)
    #expect(live.accelerometerData == nil && live.gyroData == nil && live.magnetometerData == nil)
    #expect(live.deviceMotion == nil && !live.isDeviceMotionAvailable)
    feed(live, 0..<200)
    #expect(live.accelerometerData?.timestamp == time(199))
    #expect(live.gyroData?.timestamp == time(199))
    #expect(live.magnetometerData?.timestamp == time(199))
    #expect(live.deviceMotion?.timestamp == time(199))
    #expect(live.isAccelerometerAvailable && live.isGyroAvailable && live.isMagnetometerAvailable)
    #expect(live.isDeviceMotionAvailable && !live.isDeviceMotionActive && !live.isAccelerometerActive)
  }
}
