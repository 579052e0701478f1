public import Platform
public import Sensors
internal import Spatial

/// A `MotionManager` that threads share: sources put events in, consumers on other threads get their samples pushed.
///
/// The manager itself stays a value without I/O; this class is the lock around it and one bounded queue for each consumer.
/// What can be read of the manager can be read here: `live.deviceMotion`, `live.isGyroActive`.
@dynamicMemberLookup
public final class LiveMotion: Sendable {
  /// Samples that are held while the consumer is busy: 5 s at 100 Hz.
  public static let defaultCapacity = 512

  private struct State {
    var manager: MotionManager
    var accelerometer: [Outlet<AccelerometerData>] = []
    var gyro: [Outlet<GyroData>] = []
    var magnetometer: [Outlet<MagnetometerData>] = []
    var deviceMotion: [Outlet<DeviceMotion>] = []
    var isFinished = false

    /// Counts all consumers out; what ends their updates.
    mutating func removeAll() -> [@Sendable () -> Void] {
      remove(\.accelerometer) + remove(\.gyro) + remove(\.magnetometer) + remove(\.deviceMotion)
    }

    private mutating func remove<Sample>(
      _ outlets: WritableKeyPath<State, [Outlet<Sample>]>
    ) -> [@Sendable () -> Void] {
      defer { self[keyPath: outlets] = [] }
      for outlet in self[keyPath: outlets] { manager.stopUpdates(for: outlet.consumer) }
      return self[keyPath: outlets].map(\.finish)
    }
  }

  private let state: Locked<State>
  private let backlog: Backlog?
  private let demandsChanged: @Sendable ([SensorKind: SensorDemand]) -> Void

  /// - Parameter demandsChanged: called with what the sensors must deliver whenever a consumer comes or goes, on that
  ///   consumer's thread.
  public convenience init(
    manager: MotionManager, demandsChanged: @escaping @Sendable ([SensorKind: SensorDemand]) -> Void
  ) {
    self.init(manager: manager, backlog: nil, demandsChanged: demandsChanged)
  }

  /// - Parameter backlog: where tasks that fall behind are told of; nil where their oldest samples make room.
  package init(
    manager: MotionManager, backlog: Backlog?,
    demandsChanged: @escaping @Sendable ([SensorKind: SensorDemand]) -> Void
  ) {
    state = Locked(State(manager: manager))
    self.backlog = backlog
    self.demandsChanged = demandsChanged
  }

  // Nobody would end the loops that wait.
  deinit { finish() }

  /// There will be no further samples: each consumer gets those that wait for it, and its updates end. Those who come later
  /// find them ended.
  public func finish() {
    let (ends, demands) = state.withLock { state in
      state.isFinished = true
      return (state.removeAll(), state.manager.demands)
    }
    if !ends.isEmpty { demandsChanged(demands) }
    for end in ends { end() }
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
      case .status(let status): state.manager.observe(status)
      case .barometer, .position, .vehicle, .radio: break
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

  /// What the manager says now.
  public subscript<Value>(dynamicMember property: KeyPath<MotionManager, Value>) -> Value {
    withManager { $0[keyPath: property] }
  }

  // Each of these counts a consumer in. Interval and latency are seconds; an interval longer than the hardware's leaves
  // samples out, nil hands over every one. What is returned ends, and the consumer is counted out, when it is let go of.

  public func startAccelerometerUpdates(
    interval: Double? = nil, latency: Double = 0.1, capacity: Int = defaultCapacity
  ) -> SampleStream<AccelerometerData> {
    SampleStream(capacity: capacity) { subscribe(.accelerometer, interval, latency, \.accelerometer, $0) }
  }

  public func startGyroUpdates(
    interval: Double? = nil, latency: Double = 0.1, capacity: Int = defaultCapacity
  ) -> SampleStream<GyroData> {
    SampleStream(capacity: capacity) { subscribe(.gyro, interval, latency, \.gyro, $0) }
  }

  public func startMagnetometerUpdates(
    interval: Double? = nil, latency: Double = 0.1, capacity: Int = defaultCapacity
  ) -> SampleStream<MagnetometerData> {
    SampleStream(capacity: capacity) { subscribe(.magnetometer, interval, latency, \.magnetometer, $0) }
  }

  /// The motion after each sample of the gyroscope, or of the accelerometer if there is no gyroscope; at most one in an interval.
  public func startDeviceMotionUpdates(
    interval: Double? = nil, latency: Double = 0.1, capacity: Int = defaultCapacity
  ) -> SampleStream<DeviceMotion> {
    SampleStream(capacity: capacity) { subscribe(.deviceMotion, interval, latency, \.deviceMotion, $0) }
  }

  // The same for tasks.

  public func accelerometerUpdates(
    interval: Double? = nil, latency: Double = 0.1, capacity: Int = defaultCapacity
  ) -> AsyncSamples<AccelerometerData> {
    AsyncSamples(capacity: capacity, backlog: backlog) {
      subscribe(.accelerometer, interval, latency, \.accelerometer, $0)
    }
  }

  public func gyroUpdates(
    interval: Double? = nil, latency: Double = 0.1, capacity: Int = defaultCapacity
  ) -> AsyncSamples<GyroData> {
    AsyncSamples(capacity: capacity, backlog: backlog) { subscribe(.gyro, interval, latency, \.gyro, $0) }
  }

  public func magnetometerUpdates(
    interval: Double? = nil, latency: Double = 0.1, capacity: Int = defaultCapacity
  ) -> AsyncSamples<MagnetometerData> {
    AsyncSamples(capacity: capacity, backlog: backlog) {
      subscribe(.magnetometer, interval, latency, \.magnetometer, $0)
    }
  }

  /// The motion after each sample of the gyroscope, or of the accelerometer if there is no gyroscope; at most one in an interval.
  public func deviceMotionUpdates(
    interval: Double? = nil, latency: Double = 0.1, capacity: Int = defaultCapacity
  ) -> AsyncSamples<DeviceMotion> {
    AsyncSamples(capacity: capacity, backlog: backlog) {
      subscribe(.deviceMotion, interval, latency, \.deviceMotion, $0)
    }
  }

  // Each of these calls the handler on a thread of its own until the result is stopped or let go of, and throws a
  // `SystemError` when the kernel has no room for another thread.

  public func startAccelerometerUpdates(
    interval: Double? = nil, latency: Double = 0.1, capacity: Int = defaultCapacity,
    handler: @escaping @Sendable (AccelerometerData) -> Void
  ) throws(SystemError) -> SampleStream<AccelerometerData> {
    try startAccelerometerUpdates(interval: interval, latency: latency, capacity: capacity).handing(
      to: handler)
  }

  public func startGyroUpdates(
    interval: Double? = nil, latency: Double = 0.1, capacity: Int = defaultCapacity,
    handler: @escaping @Sendable (GyroData) -> Void
  ) throws(SystemError) -> SampleStream<GyroData> {
    try startGyroUpdates(interval: interval, latency: latency, capacity: capacity).handing(to: handler)
  }

  public func startMagnetometerUpdates(
    interval: Double? = nil, latency: Double = 0.1, capacity: Int = defaultCapacity,
    handler: @escaping @Sendable (MagnetometerData) -> Void
  ) throws(SystemError) -> SampleStream<MagnetometerData> {
    try startMagnetometerUpdates(interval: interval, latency: latency, capacity: capacity).handing(
      to: handler)
  }

  /// The motion after each sample of the gyroscope, or of the accelerometer if there is no gyroscope; at most one in an interval.
  public func startDeviceMotionUpdates(
    interval: Double? = nil, latency: Double = 0.1, capacity: Int = defaultCapacity,
    handler: @escaping @Sendable (DeviceMotion) -> Void
  ) throws(SystemError) -> SampleStream<DeviceMotion> {
    try startDeviceMotionUpdates(interval: interval, latency: latency, capacity: capacity).handing(
      to: handler)
  }

  /// Counts a consumer in whose samples are pushed on the source's thread with the lock held.
  private func subscribe<Sample: Sendable>(
    _ updates: MotionUpdates, _ interval: Double?, _ latency: Double,
    _ outlets: any WritableKeyPath<State, [Outlet<Sample>]> & Sendable,
    _ outlet: SampleOutlet<Sample>
  ) -> Subscription {
    let request = interval.map { MotionRequest(updates, interval: $0, latency: latency) }
    let started: (consumer: MotionConsumer, demands: [SensorKind: SensorDemand])? = state.withLock { state in
      guard !state.isFinished else { return nil }
      let consumer = state.manager.startUpdates(request ?? MotionRequest(updates, latency: latency))
      state[keyPath: outlets].append(Outlet(consumer: consumer, interval: interval, outlet))
      return (consumer, state.manager.demands)
    }
    guard let (consumer, demands) = started else {
      outlet.finish()
      return Subscription {}
    }
    demandsChanged(demands)
    return Subscription(
      effectiveInterval: { [weak self] in self?.withManager { $0.effectiveInterval(for: consumer) } },
      stop: { [weak self] in self?.stop(consumer, outlets) })
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
private struct Outlet<Sample: Sendable>: Sendable {
  let consumer: MotionConsumer
  let interval: Double?
  let push: @Sendable (Sample) -> Void
  let finish: @Sendable () -> Void
  private var next: Timestamp?

  init(consumer: MotionConsumer, interval: Double?, _ outlet: SampleOutlet<Sample>) {
    (self.consumer, self.interval) = (consumer, interval)
    (push, finish) = (outlet.push, outlet.finish)
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
