public import Platform
internal import Sensors

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
