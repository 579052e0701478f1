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

  @Test func everySampleArrivesInOrderWhileTheConsumerIsBusy() throws {
    let live = LiveMotion(manager: MotionManager(frame: .xArbitraryZVertical)) { _ in }
    let stream = live.startAccelerometerUpdates(capacity: 300)
    let slow = live.startAccelerometerUpdates(interval: 0.1)
    for start in stride(from: 0, to: 300, by: 50) { live.process(block(start..<start + 50)) }
    let samples = drain(stream)
    #expect(samples.map(\.timestamp) == (0..<300).map { Timestamp(seconds: Double($0) / 100) })
    #expect(stream.overflowCount == 0)
    #expect(drain(slow).count == 30)
  }

  @Test func whatOverflowsIsCountedAndTheNewestStay() {
    let live = LiveMotion(manager: MotionManager(frame: .xArbitraryZVertical)) { _ in }
    let stream = live.startAccelerometerUpdates(capacity: 100)
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
    let first = live.startAccelerometerUpdates()
    do {
      let second = live.startGyroUpdates(interval: 0.5)
      #expect(told.withLock { $0.last?[.gyroscope] } == .rate(hertz: 2, latency: .seconds(0.1)))
      withExtendedLifetime(second) {}
    }
    // A stream that is let go of counts as stopped.
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
    let stream = live.startDeviceMotionUpdates(interval: 0.05)
    live.process(block(0..<1))
    for index in 0..<100 {
      let time = Timestamp(seconds: Double(index) / 100)
      live.process(.inertial([InertialScan(timestamp: time, rotationRate: .zero)]))
    }
    #expect(drain(stream).count == 20)
  }

  /// Two sources and a consumer that comes and goes, on threads of their own.
  @Test func threadsMayShareIt() throws {
    let live = LiveMotion(manager: MotionManager(frame: .xArbitraryZVertical)) { _ in }
    let stream = live.startAccelerometerUpdates(capacity: 10_000)
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
      for _ in 0..<200 { _ = live.startGyroUpdates().next(within: 0.0001) }
    }
    for thread in [feed, other, visitor] { thread.join() }
    #expect(drain(stream).count == 5000)
    #expect(!live.withManager { $0.isGyroActive })
  }
}
