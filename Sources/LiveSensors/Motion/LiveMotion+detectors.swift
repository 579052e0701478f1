public import Motion
public import Platform

/// Gestures, orientation, rest and altitude, each with settings per consumer: as asynchronous sequences, and
/// with handlers that run on their own threads until the result is stopped or released.
extension LiveMotion {
  /// Capacity of a consumer's queue.
  public static let defaultEventCapacity = 64

  /// Shakes. The corresponding calls of UIKit are `motionBegan(_:with:)`, `motionEnded(_:with:)` and
  /// `motionCancelled(_:with:)`.
  public func shakes(
    settings: ShakeDetector.Settings = ShakeDetector.Settings(), capacity: Int = defaultEventCapacity
  ) -> AsyncSamples<ShakeDetector.Event> {
    sequence(capacity) { detect(ShakeDetector(settings: settings), Self.gesture, $0) }
  }

  public func startShakeUpdates(
    settings: ShakeDetector.Settings = ShakeDetector.Settings(), capacity: Int = defaultEventCapacity,
    handler: @escaping @Sendable (ShakeDetector.Event) -> Void
  ) throws(SystemError) -> SampleStream<ShakeDetector.Event> {
    try stream(capacity) { detect(ShakeDetector(settings: settings), Self.gesture, $0) }.handing(to: handler)
  }

  /// Impacts with peak and side.
  public func impacts(
    settings: ImpactDetector.Settings = ImpactDetector.Settings(), capacity: Int = defaultEventCapacity
  ) -> AsyncSamples<Impact> {
    sequence(capacity) { detect(ImpactDetector(settings: settings), Self.gesture, $0) }
  }

  public func startImpactUpdates(
    settings: ImpactDetector.Settings = ImpactDetector.Settings(), capacity: Int = defaultEventCapacity,
    handler: @escaping @Sendable (Impact) -> Void
  ) throws(SystemError) -> SampleStream<Impact> {
    try stream(capacity) { detect(ImpactDetector(settings: settings), Self.gesture, $0) }.handing(to: handler)
  }

  /// Orientations of the device. UIKit reports them by `orientationDidChangeNotification`. Only the
  /// accelerometer is powered.
  public func orientationUpdates(
    settings: OrientationDetector.Settings = OrientationDetector.Settings(),
    capacity: Int = defaultEventCapacity
  ) -> AsyncSamples<DeviceOrientation> {
    sequence(capacity) { detect(OrientationDetector(settings: settings), Self.slow, $0) }
  }

  public func startOrientationUpdates(
    settings: OrientationDetector.Settings = OrientationDetector.Settings(),
    capacity: Int = defaultEventCapacity, handler: @escaping @Sendable (DeviceOrientation) -> Void
  ) throws(SystemError) -> SampleStream<DeviceOrientation> {
    try stream(capacity) { detect(OrientationDetector(settings: settings), Self.slow, $0) }.handing(
      to: handler)
  }

  /// Rest and motion, as `CMMotionActivityManager` reports them. Only the accelerometer is powered.
  public func activityUpdates(
    settings: StationaryDetector.Settings = StationaryDetector.Settings(),
    capacity: Int = defaultEventCapacity
  ) -> AsyncSamples<MotionActivity> {
    sequence(capacity) { detect(StationaryDetector(settings: settings), Self.slow, $0) }
  }

  public func startActivityUpdates(
    settings: StationaryDetector.Settings = StationaryDetector.Settings(),
    capacity: Int = defaultEventCapacity, handler: @escaping @Sendable (MotionActivity) -> Void
  ) throws(SystemError) -> SampleStream<MotionActivity> {
    try stream(capacity) { detect(StationaryDetector(settings: settings), Self.slow, $0) }.handing(
      to: handler)
  }

  /// Height since the first pressure, once a second. Only the barometer is powered.
  public func relativeAltitudeUpdates(capacity: Int = defaultEventCapacity) -> AsyncSamples<AltitudeData> {
    sequence(capacity, relativeAltitude)
  }

  public func startRelativeAltitudeUpdates(
    capacity: Int = defaultEventCapacity, handler: @escaping @Sendable (AltitudeData) -> Void
  ) throws(SystemError) -> SampleStream<AltitudeData> {
    try stream(capacity, relativeAltitude).handing(to: handler)
  }

  /// Height above mean sea level, once a second. Barometer and receiver are powered.
  public func absoluteAltitudeUpdates(
    capacity: Int = defaultEventCapacity
  ) -> AsyncSamples<AbsoluteAltitudeData> {
    sequence(capacity, absoluteAltitude)
  }

  public func startAbsoluteAltitudeUpdates(
    capacity: Int = defaultEventCapacity, handler: @escaping @Sendable (AbsoluteAltitudeData) -> Void
  ) throws(SystemError) -> SampleStream<AbsoluteAltitudeData> {
    try stream(capacity, absoluteAltitude).handing(to: handler)
  }

  /// Failures of motion sensors, with reasons and remedies. A consumer of failures powers no sensor. A consumer
  /// that subscribes during a failure receives that failure immediately. A missing sensor is reported when it is
  /// requested, or by `LiveDevice.discover(within:)`.
  public func failures(capacity: Int = defaultEventCapacity) -> AsyncSamples<MotionFailure> {
    sequence(capacity) { outlet in
      subscribe(MotionServices.Requirements(), outlet) { services, outlet, consumer in
        services.failures.add(outlet, as: consumer)
        for failure in services.currentFailures { outlet.push(failure) }
      }
    }
  }

  // MARK: Subscriptions

  /// Gravity must follow rotations, so gestures require the gyroscope, too.
  private static let gesture = [MotionUpdates.accelerometer, .gyro].map {
    MotionRequest($0, interval: 1 / MotionManager.fusionRate, latency: 0.1)
  }
  /// Orientation and rest are determined from frequencies below 4 Hz, so 25 samples per second are
  /// sufficient.
  private static let slow = [MotionRequest(.accelerometer, interval: 0.04, latency: 0.2)]

  private func sequence<Element>(
    _ capacity: Int, _ make: (SampleOutlet<Element>) -> Subscription
  ) -> AsyncSamples<Element> {
    AsyncSamples(capacity: capacity, backlog: backlog, make)
  }

  private func stream<Element>(
    _ capacity: Int, _ make: (SampleOutlet<Element>) -> Subscription
  ) -> SampleStream<Element> {
    SampleStream(capacity: capacity, backlog: backlog, make)
  }

  private func detect<Detector: MotionDetector>(
    _ detector: Detector, _ requests: [MotionRequest], _ outlet: SampleOutlet<Detector.Event>
  ) -> Subscription {
    subscribe(MotionServices.Requirements(requests: requests), outlet) { services, outlet, consumer in
      services.detectors.append(TypedDetectorOutlet(consumer: consumer, outlet: outlet, detector: detector))
    }
  }

  private func relativeAltitude(_ outlet: SampleOutlet<AltitudeData>) -> Subscription {
    subscribe(MotionServices.Requirements(altitude: .relative), outlet) { $0.altitude.add($1, as: $2) }
  }

  private func absoluteAltitude(_ outlet: SampleOutlet<AbsoluteAltitudeData>) -> Subscription {
    subscribe(MotionServices.Requirements(altitude: .absolute), outlet) {
      $0.absoluteAltitude.add($1, as: $2)
    }
  }
}
