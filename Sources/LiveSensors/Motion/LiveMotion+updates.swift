public import Motion
public import Platform
public import Spatial

// Intervals and latencies are seconds. If an interval is longer than the hardware's, samples are skipped; nil
// delivers every sample.

/// Updates that are read from properties: `accelerometerData`, `gyroData`, `magnetometerData`, `deviceMotion`. The sensor is powered
/// until the corresponding `stop`. A second start replaces the interval.
extension LiveMotion {
  public func startAccelerometerUpdates(interval: Double = 0.01, latency: Double = 0.1) {
    startPulling(.accelerometer, interval: interval, latency: latency)
  }

  public func startGyroUpdates(interval: Double = 0.01, latency: Double = 0.1) {
    startPulling(.gyro, interval: interval, latency: latency)
  }

  public func startMagnetometerUpdates(interval: Double = 0.01, latency: Double = 0.1) {
    startPulling(.magnetometer, interval: interval, latency: latency)
  }

  public func startDeviceMotionUpdates(interval: Double = 0.01, latency: Double = 0.1) {
    startPulling(.deviceMotion, interval: interval, latency: latency)
  }

  /// Starts device motion in another frame. The frame applies to all consumers.
  public func startDeviceMotionUpdates(
    using frame: AttitudeReferenceFrame, interval: Double = 0.01, latency: Double = 0.1
  ) {
    withManager { $0.frame = frame }
    startDeviceMotionUpdates(interval: interval, latency: latency)
  }

  public func stopAccelerometerUpdates() { stopPulling(.accelerometer) }
  public func stopGyroUpdates() { stopPulling(.gyro) }
  public func stopMagnetometerUpdates() { stopPulling(.magnetometer) }
  public func stopDeviceMotionUpdates() { stopPulling(.deviceMotion) }
}

/// Updates as asynchronous sequences. The sensor is powered while a sequence or a loop over it exists.
extension LiveMotion {
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

  /// Motion after each gyroscope sample; without a gyroscope, after each accelerometer sample.
  public func deviceMotionUpdates(
    interval: Double? = nil, latency: Double = 0.1, capacity: Int = defaultCapacity
  ) -> AsyncSamples<DeviceMotion> {
    AsyncSamples(capacity: capacity, backlog: backlog) {
      subscribe(.deviceMotion, interval, latency, \.deviceMotion, $0)
    }
  }
}

/// Updates as queues, for threads that may block. The sensor is powered while the queue exists. A
/// `LiveDevice` that replays a recording at the consumers' speed (`speed: nil`) does not wait for these
/// queues.
extension LiveMotion {
  public func accelerometerStream(
    interval: Double? = nil, latency: Double = 0.1, capacity: Int = defaultCapacity
  ) -> SampleStream<AccelerometerData> {
    stream(.accelerometer, interval, latency, capacity, \.accelerometer)
  }

  public func gyroStream(
    interval: Double? = nil, latency: Double = 0.1, capacity: Int = defaultCapacity
  ) -> SampleStream<GyroData> {
    stream(.gyro, interval, latency, capacity, \.gyro)
  }

  public func magnetometerStream(
    interval: Double? = nil, latency: Double = 0.1, capacity: Int = defaultCapacity
  ) -> SampleStream<MagnetometerData> {
    stream(.magnetometer, interval, latency, capacity, \.magnetometer)
  }

  /// Motion after each gyroscope sample; without a gyroscope, after each accelerometer sample.
  public func deviceMotionStream(
    interval: Double? = nil, latency: Double = 0.1, capacity: Int = defaultCapacity
  ) -> SampleStream<DeviceMotion> {
    stream(.deviceMotion, interval, latency, capacity, \.deviceMotion)
  }
}

/// Updates by handlers. Each handler runs on a thread of its own until the result is stopped or released. The
/// functions throw `SystemError` if no thread can be created.
extension LiveMotion {
  public func startAccelerometerUpdates(
    interval: Double? = nil, latency: Double = 0.1, capacity: Int = defaultCapacity,
    handler: @escaping @Sendable (AccelerometerData) -> Void
  ) throws(SystemError) -> SampleStream<AccelerometerData> {
    try stream(.accelerometer, interval, latency, capacity, \.accelerometer, backlog).handing(to: handler)
  }

  public func startGyroUpdates(
    interval: Double? = nil, latency: Double = 0.1, capacity: Int = defaultCapacity,
    handler: @escaping @Sendable (GyroData) -> Void
  ) throws(SystemError) -> SampleStream<GyroData> {
    try stream(.gyro, interval, latency, capacity, \.gyro, backlog).handing(to: handler)
  }

  public func startMagnetometerUpdates(
    interval: Double? = nil, latency: Double = 0.1, capacity: Int = defaultCapacity,
    handler: @escaping @Sendable (MagnetometerData) -> Void
  ) throws(SystemError) -> SampleStream<MagnetometerData> {
    try stream(.magnetometer, interval, latency, capacity, \.magnetometer, backlog).handing(to: handler)
  }

  /// Motion after each gyroscope sample; without a gyroscope, after each accelerometer sample.
  public func startDeviceMotionUpdates(
    interval: Double? = nil, latency: Double = 0.1, capacity: Int = defaultCapacity,
    handler: @escaping @Sendable (DeviceMotion) -> Void
  ) throws(SystemError) -> SampleStream<DeviceMotion> {
    try stream(.deviceMotion, interval, latency, capacity, \.deviceMotion, backlog).handing(to: handler)
  }
}

extension LiveMotion {
  /// - Parameter backlog: records that the consumer falls behind, so that the source can wait for it. If nil,
  ///   the source does not wait, and a full queue drops its oldest samples.
  func stream<Sample: Sendable>(
    _ updates: MotionUpdates, _ interval: Double?, _ latency: Double, _ capacity: Int,
    _ outlets: WritableKeyPath<MotionServices, [MotionOutlet<Sample>]>, _ backlog: Backlog? = nil
  ) -> SampleStream<Sample> {
    SampleStream(capacity: capacity, backlog: backlog) { subscribe(updates, interval, latency, outlets, $0) }
  }

  private func subscribe<Sample: Sendable>(
    _ updates: MotionUpdates, _ interval: Double?, _ latency: Double,
    _ outlets: WritableKeyPath<MotionServices, [MotionOutlet<Sample>]>, _ outlet: SampleOutlet<Sample>
  ) -> Subscription {
    let request =
      interval.map { MotionRequest(updates, interval: $0, latency: latency) }
      ?? MotionRequest(updates, latency: latency)
    return subscribe(MotionServices.Requirements(requests: [request]), outlet) { services, outlet, consumer in
      services[keyPath: outlets].append(MotionOutlet(outlet, as: consumer, interval: interval))
    }
  }
}
