public import Motion
public import Positioning
public import Sensors
public import Spatial

/// A device whose sensors run: what wires hardware, a recording or a simulation to `LiveMotion` and `LiveLocation`.
///
/// ```swift
/// let device = try LiveDevice(.gpsd())
/// let updates = device.location.liveUpdates()
/// try device.start()
/// for await update in updates { … }
/// ```
///
/// A thread of its own takes what the sources hand over, fuses, screens and decides, and pushes into the consumers' sequences; no
/// cooperative thread ever waits for hardware. What the consumers need flows back to the sources: a sensor that nobody needs sleeps.
///
/// The device runs until `stop`, the end of a recording, or until both the device and the last sequence have been let go of; a loop over a
/// sequence keeps it alive. Then each sequence ends after what waits in it.
public final class LiveDevice: Sendable {
  /// Motion: samples of the accelerometer, gyroscope and magnetometer, and what they say together.
  public let motion: LiveMotion
  /// Locations, headings and regions.
  public let location: LiveLocation
  private let run: DeviceRun

  /// - Parameters:
  ///   - input: where the sensor data comes from.
  ///   - speed: how many seconds of a recording or a simulation pass in one second, on the machine's time line. Nil pulls it as fast as
  ///     the consumers take it, on a time line of its own: it waits for tasks that have fallen behind, and while there is none, so
  ///     that nothing is lost. A sequence that is held and not iterated holds it up. Hardware has its own.
  ///   - motion: the settings of what is fused.
  ///   - location: the settings of location updates.
  ///   - monitor: the regions that are watched from the beginning.
  ///   - heading: the settings of headings.
  /// - Throws: an error that names file, line and remedy for a recording that cannot be read, `SensorInputError` for an input that names
  ///   nothing, `SystemError` when the process has no descriptor left. Hardware that is not there is no error: an update says so, and
  ///   it is tried again.
  public convenience init(
    _ input: SensorInput, speed: Double? = 1,
    motion: MotionManager = MotionManager(frame: .xMagneticNorthZVertical),
    location: LocationManager = LocationManager(), monitor: RegionMonitor = RegionMonitor(),
    heading: HeadingManager = HeadingManager()
  ) throws {
    self.init(
      try SensorFeed(input, speed: speed), motion: motion, location: location, monitor: monitor,
      heading: heading)
  }

  /// A device of other sources than those of `SensorInput`, live; the rest as above.
  public convenience init(
    sources: [any SensorSource], motion: MotionManager = MotionManager(frame: .xMagneticNorthZVertical),
    location: LocationManager = LocationManager(), monitor: RegionMonitor = RegionMonitor(),
    heading: HeadingManager = HeadingManager()
  ) {
    self.init(.live(sources), motion: motion, location: location, monitor: monitor, heading: heading)
  }

  private init(
    _ feed: SensorFeed, motion: MotionManager, location: LocationManager, monitor: RegionMonitor,
    heading: HeadingManager
  ) {
    run = DeviceRun(feed, motion: motion, location: location, monitor: monitor, heading: heading)
    self.motion = run.motion
    self.location = run.location
  }

  deinit { run.release() }

  /// Starts the sources. Nothing is powered until somebody waits for it. Once is enough.
  /// - Throws: an error of a source that cannot run at all, and `SystemError` when the kernel has no room for another thread.
  public func start() throws { try run.start() }

  /// Stops the sources, powers the hardware down and ends all sequences, after what waits in them; returns when that is done.
  public func stop() { run.stop() }

  /// Events that were dropped because they came faster than they could be processed, oldest first.
  public var droppedEvents: Int { run.droppedEvents }

  /// Why a recording that is pulled ended before its end, with file and line; nil when nothing was wrong. Locations tell it, too.
  public var failure: (any Error)? { run.failure }
}
