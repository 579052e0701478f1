public import Platform
public import Sensors
internal import Spatial

/// A `MotionManager` that threads share: sources put events in, consumers on other threads get their samples pushed.
///
/// The manager itself stays a value without I/O; this class is the lock around it and one bounded queue for each consumer.
public final class LiveMotion: Sendable {
  struct State {
    var manager: MotionManager
    var accelerometer: [Outlet<AccelerometerData>] = []
    var gyro: [Outlet<GyroData>] = []
    var magnetometer: [Outlet<MagnetometerData>] = []
    var deviceMotion: [Outlet<DeviceMotion>] = []
  }

  private let state: Locked<State>
  private let demandsChanged: @Sendable ([SensorKind: SensorDemand]) -> Void

  /// - Parameter demandsChanged: called with what the sensors must deliver whenever a consumer comes or goes, on that
  ///   consumer's thread.
  public init(
    manager: MotionManager, demandsChanged: @escaping @Sendable ([SensorKind: SensorDemand]) -> Void
  ) {
    state = Locked(State(manager: manager))
    self.demandsChanged = demandsChanged
  }

  /// Takes in what a source hands over, on the source's thread.
  public func process(_ event: SensorEvent) {
    state.withLock { state in
      switch event {
      case .inertial(let block):
        var (accelerometer, gyro, magnetometer) = (state.accelerometer, state.gyro, state.magnetometer)
        state.manager.admit(block) { scan in
          if let sample = AccelerometerData(scan) { accelerometer.offer(sample, at: scan.timestamp) }
          if let sample = GyroData(scan) { gyro.offer(sample, at: scan.timestamp) }
          if let sample = MagnetometerData(scan) { magnetometer.offer(sample, at: scan.timestamp) }
        }
        (state.accelerometer, state.gyro, state.magnetometer) = (accelerometer, gyro, magnetometer)
      case .status(let status): state.manager.note(status)
      case .barometer, .position: break
      }
      // Motion is told sample by sample only where somebody listens.
      guard !state.deviceMotion.isEmpty else { return state.manager.fuse() }
      var outlets = state.deviceMotion
      state.manager.fuse { motion in outlets.offer(motion, at: motion.timestamp) }
      state.deviceMotion = outlets
    }
  }

  /// Reads from the manager, or changes it, with exclusive access.
  public func withManager<Result>(_ body: (inout MotionManager) -> Result) -> Result {
    state.withLock { body(&$0.manager) }
  }

  // Each of these counts a consumer in. Interval and latency are seconds; an interval longer than the hardware's leaves
  // samples out, nil hands over every one. The stream ends, and the consumer is counted out, when it is let go of. Other
  // forms of the same are in `LiveMotion+push.swift`.

  public func startAccelerometerUpdates(
    interval: Double? = nil, latency: Double = 0.1,
    capacity: Int = SampleStream<AccelerometerData>.defaultCapacity
  ) -> SampleStream<AccelerometerData> {
    SampleStream(capacity: capacity) { subscribe(.accelerometer, interval, latency, \.accelerometer, $0) }
  }

  public func startGyroUpdates(
    interval: Double? = nil, latency: Double = 0.1, capacity: Int = SampleStream<GyroData>.defaultCapacity
  ) -> SampleStream<GyroData> {
    SampleStream(capacity: capacity) { subscribe(.gyro, interval, latency, \.gyro, $0) }
  }

  public func startMagnetometerUpdates(
    interval: Double? = nil, latency: Double = 0.1,
    capacity: Int = SampleStream<MagnetometerData>.defaultCapacity
  ) -> SampleStream<MagnetometerData> {
    SampleStream(capacity: capacity) { subscribe(.magnetometer, interval, latency, \.magnetometer, $0) }
  }

  /// The motion after each gyroscope sample, or at most once in an interval.
  public func startDeviceMotionUpdates(
    interval: Double? = nil, latency: Double = 0.1, capacity: Int = SampleStream<DeviceMotion>.defaultCapacity
  ) -> SampleStream<DeviceMotion> {
    SampleStream(capacity: capacity) { subscribe(.deviceMotion, interval, latency, \.deviceMotion, $0) }
  }

  /// Counts a consumer in whose samples go into `push`, on the source's thread with the lock held.
  func subscribe<Sample: Sendable>(
    _ updates: MotionUpdates, _ interval: Double?, _ latency: Double,
    _ outlets: any WritableKeyPath<State, [Outlet<Sample>]> & Sendable,
    _ push: @escaping @Sendable (Sample) -> Void
  ) -> Subscription {
    let request = interval.map { MotionRequest(updates, interval: $0, latency: latency) }
    let (consumer, demands) = state.withLock { state in
      let consumer = state.manager.startUpdates(request ?? MotionRequest(updates, latency: latency))
      state[keyPath: outlets].append(Outlet(consumer: consumer, interval: interval, push: push))
      return (consumer, state.manager.demands)
    }
    demandsChanged(demands)
    return Subscription(
      interval: { [weak self] in self?.withManager { $0.effectiveInterval(for: consumer) } },
      ending: { [weak self] in self?.stop(consumer, outlets) })
  }

  private func stop<Sample>(
    _ consumer: MotionConsumer, _ outlets: any WritableKeyPath<State, [Outlet<Sample>]> & Sendable
  ) {
    let demands: [SensorKind: SensorDemand]? = state.withLock { state in
      guard state.manager.isActive(consumer) else { return nil }
      state.manager.stopUpdates(for: consumer)
      state[keyPath: outlets].removeAll { $0.consumer == consumer }
      return state.manager.demands
    }
    if let demands { demandsChanged(demands) }
  }
}

/// Where one consumer's samples leave.
struct Outlet<Sample: Sendable>: Sendable {
  let consumer: MotionConsumer
  let interval: Double?
  let push: @Sendable (Sample) -> Void
  private var next: Timestamp?

  init(consumer: MotionConsumer, interval: Double?, push: @escaping @Sendable (Sample) -> Void) {
    self.consumer = consumer
    self.interval = interval
    self.push = push
  }

  mutating func offer(_ sample: Sample, at timestamp: Timestamp) {
    if let interval {
      // A grid that does not drift; a twentieth of the interval is jitter.
      // Time that has gone back begins a new one.
      if let next, timestamp < next.advanced(bySeconds: -interval / 20),
        timestamp > next.advanced(bySeconds: -2 * interval)
      {
        return
      }
      let following = (next ?? timestamp).advanced(bySeconds: interval)
      next = following > timestamp ? following : timestamp.advanced(bySeconds: interval)
    }
    push(sample)
  }
}

extension Array {
  fileprivate mutating func offer<Sample>(_ sample: Sample, at timestamp: Timestamp)
  where Element == Outlet<Sample> {
    for index in indices { self[index].offer(sample, at: timestamp) }
  }
}

// The forms in which samples are pushed besides `SampleStream`: to tasks, and to a handler. Interval, latency and
// capacity are as there.
extension LiveMotion {
  public func accelerometerUpdates(
    interval: Double? = nil, latency: Double = 0.1,
    capacity: Int = SampleStream<AccelerometerData>.defaultCapacity
  ) -> AsyncSamples<AccelerometerData> {
    AsyncSamples(capacity: capacity) { subscribe(.accelerometer, interval, latency, \.accelerometer, $0) }
  }

  public func gyroUpdates(
    interval: Double? = nil, latency: Double = 0.1, capacity: Int = SampleStream<GyroData>.defaultCapacity
  ) -> AsyncSamples<GyroData> {
    AsyncSamples(capacity: capacity) { subscribe(.gyro, interval, latency, \.gyro, $0) }
  }

  public func magnetometerUpdates(
    interval: Double? = nil, latency: Double = 0.1,
    capacity: Int = SampleStream<MagnetometerData>.defaultCapacity
  ) -> AsyncSamples<MagnetometerData> {
    AsyncSamples(capacity: capacity) { subscribe(.magnetometer, interval, latency, \.magnetometer, $0) }
  }

  /// The motion after each gyroscope sample, or at most once in an interval.
  public func deviceMotionUpdates(
    interval: Double? = nil, latency: Double = 0.1, capacity: Int = SampleStream<DeviceMotion>.defaultCapacity
  ) -> AsyncSamples<DeviceMotion> {
    AsyncSamples(capacity: capacity) { subscribe(.deviceMotion, interval, latency, \.deviceMotion, $0) }
  }

  // Each of these calls the handler on a thread of its own until the result is stopped or let go of, and throws a
  // `SystemError` when the kernel has no room for another thread.

  public func startAccelerometerUpdates(
    interval: Double? = nil, latency: Double = 0.1,
    capacity: Int = SampleStream<AccelerometerData>.defaultCapacity,
    handler: @escaping @Sendable (AccelerometerData) -> Void
  ) throws(SystemError) -> HandledSamples<AccelerometerData> {
    try HandledSamples(
      startAccelerometerUpdates(interval: interval, latency: latency, capacity: capacity), handler: handler)
  }

  public func startGyroUpdates(
    interval: Double? = nil, latency: Double = 0.1, capacity: Int = SampleStream<GyroData>.defaultCapacity,
    handler: @escaping @Sendable (GyroData) -> Void
  ) throws(SystemError) -> HandledSamples<GyroData> {
    try HandledSamples(
      startGyroUpdates(interval: interval, latency: latency, capacity: capacity), handler: handler)
  }

  public func startMagnetometerUpdates(
    interval: Double? = nil, latency: Double = 0.1,
    capacity: Int = SampleStream<MagnetometerData>.defaultCapacity,
    handler: @escaping @Sendable (MagnetometerData) -> Void
  ) throws(SystemError) -> HandledSamples<MagnetometerData> {
    try HandledSamples(
      startMagnetometerUpdates(interval: interval, latency: latency, capacity: capacity), handler: handler)
  }

  /// The motion after each gyroscope sample, or at most once in an interval.
  public func startDeviceMotionUpdates(
    interval: Double? = nil, latency: Double = 0.1,
    capacity: Int = SampleStream<DeviceMotion>.defaultCapacity,
    handler: @escaping @Sendable (DeviceMotion) -> Void
  ) throws(SystemError) -> HandledSamples<DeviceMotion> {
    try HandledSamples(
      startDeviceMotionUpdates(interval: interval, latency: latency, capacity: capacity), handler: handler)
  }
}

// What can be read at any moment; nil before the first sample.
extension LiveMotion {
  public var accelerometerData: AccelerometerData? { withManager(\.accelerometerData) }
  public var gyroData: GyroData? { withManager(\.gyroData) }
  public var magnetometerData: MagnetometerData? { withManager(\.magnetometerData) }
  public var deviceMotion: DeviceMotion? { withManager(\.deviceMotion) }

  public var isAccelerometerAvailable: Bool { withManager(\.isAccelerometerAvailable) }
  public var isGyroAvailable: Bool { withManager(\.isGyroAvailable) }
  public var isMagnetometerAvailable: Bool { withManager(\.isMagnetometerAvailable) }
  public var isDeviceMotionAvailable: Bool { withManager(\.isDeviceMotionAvailable) }

  public var isAccelerometerActive: Bool { withManager(\.isAccelerometerActive) }
  public var isGyroActive: Bool { withManager(\.isGyroActive) }
  public var isMagnetometerActive: Bool { withManager(\.isMagnetometerActive) }
  public var isDeviceMotionActive: Bool { withManager(\.isDeviceMotionActive) }
}
