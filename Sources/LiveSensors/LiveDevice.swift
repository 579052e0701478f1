public import Motion
public import Positioning
public import Sensors
internal import SensorsIIO
public import Spatial

/// A device with running sensors: connects hardware, a recording or a simulation to `LiveMotion` and
/// `LiveLocation`.
///
/// ```swift
/// let device = try LiveDevice(.gpsd())
/// let updates = device.location.liveUpdates()
/// try device.start()
/// for await update in updates { … }
/// ```
///
/// One thread processes the events of the sources, and passes the results to the consumers' sequences. No
/// thread of the cooperative pool waits for hardware. Each source gets the combined demands of all consumers;
/// a sensor without a consumer sleeps.
///
/// The device runs until `stop`, the end of a recording, or the release of both the device and its last
/// sequence. A task that iterates over a sequence retains the sequence. When the device stops, each sequence
/// ends after its queued elements. A device runs once: after `stop` or the end of a recording, create another
/// one.
public final class LiveDevice: Sendable {
  /// Samples of the accelerometer, gyroscope and magnetometer, and device motion fused from them.
  public let motion: LiveMotion
  /// Locations, headings and regions.
  public let location: LiveLocation
  private let run: DeviceRun

  /// - Parameters:
  ///   - input: the source of the sensor data.
  ///   - speed: the speed of a recording or simulation relative to real time; its events then have times of
  ///     the machine's clock. Nil replays it at the consumers' speed, with its own times from 0: it waits for
  ///     the first consumer and for slow tasks, so that no event is lost. A sequence that is retained but not
  ///     iterated over then stops the replay. Ignored for hardware.
  ///   - motion: settings of the fusion.
  ///   - location: settings of location updates.
  ///   - monitor: the monitored regions.
  ///   - heading: settings of headings.
  ///   - beacons: the map for positions from Wi-Fi and cells, as read by `BeaconTable(path:)`; nil for none.
  ///     With a map, the radios of the input scan before the receiver's first fix. Later they scan if they
  ///     are accurate enough and use less energy than the receiver.
  /// - Throws: an error with file, line and remedy for an unreadable recording, `SourceError` for an
  ///   input without a source, `SystemError` if the process has too many open files. Missing hardware is no
  ///   error: an update reports it, and the source retries.
  public convenience init(
    _ input: SensorInput, speed: Double? = 1,
    motion: MotionManager = MotionManager(frame: .xMagneticNorthZVertical),
    location: LocationManager = LocationManager(), monitor: RegionMonitor = RegionMonitor(),
    heading: HeadingManager = HeadingManager(), beacons: (any BeaconMap)? = nil
  ) throws {
    let contexts: [IIOConfiguration] = if case .hardware(let hardware) = input { hardware.iio } else { [] }
    let feed = try SensorFeed(input, speed: speed)
    // An unreadable part of a recording is reported when the replay has reached it.
    let startTime: UTCTime? = if case .live = feed { nil } else { try? feed.startOfTime(input).time }
    self.init(
      feed, startTime: startTime, contexts: contexts, motion: motion, location: location, monitor: monitor,
      heading: heading, beacons: beacons)
  }

  /// Creates a device with other live sources than those of `SensorInput`.
  public convenience init(
    sources: [any SensorSource], motion: MotionManager = MotionManager(frame: .xMagneticNorthZVertical),
    location: LocationManager = LocationManager(), monitor: RegionMonitor = RegionMonitor(),
    heading: HeadingManager = HeadingManager(), beacons: (any BeaconMap)? = nil
  ) {
    self.init(
      .live(sources), startTime: nil, contexts: [], motion: motion, location: location, monitor: monitor,
      heading: heading, beacons: beacons)
  }

  private init(
    _ feed: SensorFeed, startTime: UTCTime?, contexts: [IIOConfiguration], motion: MotionManager,
    location: LocationManager, monitor: RegionMonitor, heading: HeadingManager, beacons: (any BeaconMap)?
  ) {
    run = DeviceRun(
      feed, startTime: startTime, contexts: contexts, motion: motion, location: location, monitor: monitor,
      heading: heading, beacons: beacons)
    self.motion = run.motion
    self.location = run.location
  }

  deinit { run.release() }

  /// Starts the sources; repeated calls have no effect. A sensor without a consumer is not powered.
  /// - Throws: an error of a source that cannot run, `SourceError` after `stop`, and `SystemError` if no thread
  ///   can be created.
  public func start() throws { try run.start() }

  /// Starts the sources, and returns when each of them has reported its hardware, or after a time limit. No
  /// sensor is powered. Afterwards `motion.isAccelerometerAvailable`,
  /// `motion.availableAttitudeReferenceFrames`, `location.headingAvailable`, `location.authorizationStatus`
  /// and similar properties reflect the hardware.
  /// - Parameter seconds: the time limit in s.
  /// - Returns: the availability of the location services, with reasons and remedies.
  /// - Throws: the same errors as `start`.
  @discardableResult
  public func discover(within seconds: Double = 10) async throws -> ServiceAvailability {
    try await run.discover(within: seconds)
    return location.availability
  }

  /// The current time on the clock of all timestamps of samples and locations.
  public var now: Timestamp { location.now }

  /// Signals of the vehicle's CAN bus in order of time. The device never sends on the bus.
  /// - Parameter capacity: the maximum number of queued signals.
  public func vehicleReadings(capacity: Int = 1024) -> AsyncSamples<VehicleReading> {
    AsyncSamples(capacity: capacity, backlog: run.backlog, run.readings.vehicle)
  }

  /// Scans of the radios: access points and cells, each with its signal strength. The radios scan while the
  /// sequence exists.
  /// - Parameters:
  ///   - interval: the time in s between scans, at least 1. A radio scans at most every 5 s.
  ///   - capacity: the maximum number of queued scans.
  public func radioScans(interval: Double = 60, capacity: Int = 64) -> AsyncSamples<RadioScan> {
    AsyncSamples(capacity: capacity, backlog: run.backlog) { run.readings.radio(interval, $0) }
  }

  /// Stops the sources, powers the hardware down, and ends all sequences after their queued elements. Returns
  /// when the device has stopped.
  public func stop() { run.stop() }

  /// Number of events that were dropped because they arrived too fast; the oldest are dropped first.
  public var droppedEvents: Int { run.droppedEvents }

  /// The error that ended a pulled recording early, with file and line; nil if there is none. Location
  /// updates report it, too.
  public var failure: (any Error)? { run.failure }
}
