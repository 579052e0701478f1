public import Motion
public import Positioning
public import Sensors
internal import SensorsIIO
public import Spatial

/// A device with running sensors: connects hardware, a recording or a simulation to `LiveMotion` and `LiveLocation`.
///
/// ```swift
/// let device = try LiveDevice(.gpsd())
/// let updates = device.location.liveUpdates()
/// try device.start()
/// for await update in updates { … }
/// ```
///
/// One thread processes the events of the sources and pushes into the consumers' sequences. No thread of the cooperative pool waits for
/// hardware. The union of the consumers' demands is set on the sources: a sensor without a consumer sleeps.
///
/// The device runs until `stop`, the end of a recording, or the release of both the device and the last sequence; a loop over a sequence
/// retains it. Then each sequence ends after its queued elements.
public final class LiveDevice: Sendable {
  /// Motion: samples of the accelerometer, gyroscope and magnetometer, and their fusion.
  public let motion: LiveMotion
  /// Locations, headings and regions.
  public let location: LiveLocation
  private let run: DeviceRun

  /// - Parameters:
  ///   - input: source of the sensor data.
  ///   - speed: seconds of a recording or a simulation that pass in one second, on the machine's time line. Nil
  ///     pulls it at the consumers' speed, on its own time line: it waits for slow tasks and for the first
  ///     consumer, so that nothing is lost. A sequence that is retained and not iterated stops it. Ignored for
  ///     hardware.
  ///   - motion: settings of the fusion.
  ///   - location: settings of location updates.
  ///   - monitor: the monitored regions.
  ///   - heading: settings of headings.
  ///   - beacons: the map for positions by Wi-Fi and cells, as `BeaconTable(path:)` reads it; nil for none. The radios of the input
  ///     then scan where they are accurate enough and cheaper than the receiver, and before the receiver's first fix.
  /// - Throws: an error that names file, line and remedy for a recording that cannot be read, `SensorInputError` for an input that names
  ///   nothing, `SystemError` when the process has no descriptor left. Hardware that is not there is no error: an update says so, and
  ///   it is tried again.
  public convenience init(
    _ input: SensorInput, speed: Double? = 1,
    motion: MotionManager = MotionManager(frame: .xMagneticNorthZVertical),
    location: LocationManager = LocationManager(), monitor: RegionMonitor = RegionMonitor(),
    heading: HeadingManager = HeadingManager(), beacons: (any BeaconMap)? = nil
  ) throws {
    let contexts: [IIOConfiguration] = if case .hardware(let hardware) = input { hardware.iio } else { [] }
    self.init(
      try SensorFeed(input, speed: speed), contexts: contexts, motion: motion, location: location,
      monitor: monitor, heading: heading, beacons: beacons)
  }

  /// Creates a device with live sources other than those of `SensorInput`.
  public convenience init(
    sources: [any SensorSource], motion: MotionManager = MotionManager(frame: .xMagneticNorthZVertical),
    location: LocationManager = LocationManager(), monitor: RegionMonitor = RegionMonitor(),
    heading: HeadingManager = HeadingManager(), beacons: (any BeaconMap)? = nil
  ) {
    self.init(
      .live(sources), contexts: [], motion: motion, location: location, monitor: monitor, heading: heading,
      beacons: beacons)
  }

  private init(
    _ feed: SensorFeed, contexts: [IIOConfiguration], motion: MotionManager, location: LocationManager,
    monitor: RegionMonitor, heading: HeadingManager, beacons: (any BeaconMap)?
  ) {
    run = DeviceRun(
      feed, contexts: contexts, motion: motion, location: location, monitor: monitor, heading: heading,
      beacons: beacons)
    self.motion = run.motion
    self.location = run.location
  }

  deinit { run.release() }

  /// Starts the sources. No sensor is powered without a consumer. Idempotent.
  /// - Throws: an error of a source that cannot run, and `SystemError` if no thread can be created.
  public func start() throws { try run.start() }

  /// Starts the sources and returns when each has reported its hardware, or after the time limit. No sensor is powered. From then on
  /// `motion.isAccelerometerAvailable`, `motion.availableAttitudeReferenceFrames`, `location.headingAvailable`,
  /// `location.authorizationStatus` and the like reflect the hardware.
  /// - Parameter seconds: the time limit.
  /// - Returns: the availability of the location services, with reasons and remedies.
  /// - Throws: as `start`.
  @discardableResult
  public func discover(within seconds: Double = 10) async throws -> ServiceAvailability {
    try await run.discover(within: seconds)
    return location.availability
  }

  /// The time on the device's time line, which timestamps of samples and locations use.
  public var now: Timestamp { location.now }

  /// Signals of the vehicle's CAN bus, in order. The device only receives from a bus.
  public func vehicleReadings(capacity: Int = 1024) -> AsyncSamples<VehicleReading> {
    AsyncSamples(capacity: capacity, backlog: run.backlog, run.readings.vehicle)
  }

  /// Scans of the radios: access points and cells, each with its signal strength. The radios scan while the sequence exists.
  /// - Parameter interval: seconds between scans, at least 1; radios scan every 5 s at most.
  public func radioScans(interval: Double = 60, capacity: Int = 64) -> AsyncSamples<RadioScan> {
    AsyncSamples(capacity: capacity, backlog: run.backlog) { run.readings.radio(interval, $0) }
  }

  /// Stops the sources, powers the hardware down and ends all sequences after their queued elements. Returns when that is done.
  public func stop() { run.stop() }

  /// Number of events dropped because they arrived too fast, oldest first.
  public var droppedEvents: Int { run.droppedEvents }

  /// Reason for the early end of a pulled recording, with file and line; nil if there is none. Location updates report it, too.
  public var failure: (any Error)? { run.failure }
}
