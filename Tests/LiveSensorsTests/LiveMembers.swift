import LiveSensors
import Motion
import Platform
import Positioning
import SensorFixtures
import Sensors
import SensorsGPSD
import SensorsIIO
import Spatial
import TestSupport

/// A device on live hardware with one consumer of each kind, and the elements that they received.
final class LiveMembers: Sendable {
  struct Seen: Sendable {
    var updates: [LocationUpdate] = []
    var handledUpdates: [LocationUpdate] = []
    /// Updates with a distance filter of 30 m and automatic pauses.
    var filtered: [LocationUpdate] = []
    /// Updates at reduced accuracy.
    var reduced: [LocationUpdate] = []
    var significant: [Location] = []
    var headings: [Heading] = []
    /// Headings of the right side, with a filter of 30°.
    var rightHeadings: [Heading] = []
    var regions: [RegionEvent] = []
    var failures: [LocationFailure] = []
    var accelerations: [AccelerometerData] = []
    /// Accelerations at an interval of 0.1 s.
    var slowAccelerations: [AccelerometerData] = []
    var rates: [GyroData] = []
    var fields: [MagnetometerData] = []
    var motions: [DeviceMotion] = []
    var shakes: [ShakeDetector.Event] = []
    var impacts: [Impact] = []
    var orientations: [DeviceOrientation] = []
    var activities: [MotionActivity] = []
    var altitudes: [AltitudeData] = []
    var absoluteAltitudes: [AbsoluteAltitudeData] = []
    var requested: Location?
    var recording: RecordedHistory?
    var readings = 0
  }

  let device: LiveDevice
  let state = Locked(Seen())
  /// Subscriptions with handlers.
  private let handlers = Locked<[any Sendable]>([])
  private let tasks = Locked<[Task<Void, Never>]>([])

  /// Regions `gate` 300 m to the east, `depot` at the end of the drive, and `removed`.
  static func regions(end: Double) -> [Region] {
    func region(_ name: String, _ east: Double, dwell: Double? = nil) -> Region {
      var region = Region(
        identifier: name, center: LiveVehicle.start.destination(distance: east, bearing: 90), radius: 60)
      region.dwell = dwell
      return region
    }
    return [region("gate", 300), region("depot", end, dwell: 5), region("removed", 300)]
  }

  init(_ vehicle: LiveVehicle, end: Double) throws {
    device = try LiveDevice(
      .hardware(
        SensorInput.Hardware(
          gpsd: GPSDAddress(port: vehicle.receiver.port),
          iio: [IIOConfiguration(uri: vehicle.sensors.uri)])))
    let (location, motion) = (device.location, device.motion)
    for region in Self.regions(end: end) { try location.add(region) }
    location.remove("removed")
    observe(location.liveUpdates(), \.updates)
    observe(
      location.liveUpdates(LocationManager(distanceFilter: 30, pausesLocationUpdatesAutomatically: true)),
      \.filtered)
    observe(location.liveUpdates(LocationManager(desiredAccuracy: .reduced)), \.reduced)
    observe(location.significantLocationChanges(), \.significant)
    observe(location.headingUpdates(), \.headings)
    observe(location.regionEvents(), \.regions)
    observe(location.failures(), \.failures)
    observe(motion.accelerometerUpdates(), \.accelerations)
    observe(motion.accelerometerUpdates(interval: 0.1), \.slowAccelerations)
    observe(motion.gyroUpdates(), \.rates)
    observe(motion.magnetometerUpdates(), \.fields)
    observe(motion.deviceMotionUpdates(), \.motions)
    observe(motion.shakes(), \.shakes)
    observe(motion.orientationUpdates(), \.orientations)
    observe(motion.activityUpdates(), \.activities)
    observe(motion.relativeAltitudeUpdates(), \.altitudes)
    keep(try location.startUpdatingLocation(handler: handler(\.handledUpdates)))
    keep(
      try location.startUpdatingHeading(
        HeadingManager(headingFilter: 30, headingOrientation: .landscapeRight),
        handler: handler(\.rightHeadings)))
    keep(try motion.startImpactUpdates(handler: handler(\.impacts)))
    keep(try motion.startAbsoluteAltitudeUpdates(handler: handler(\.absoluteAltitudes)))
    motion.startAccelerometerUpdates()
    motion.startGyroUpdates()
    motion.startMagnetometerUpdates()
    motion.startDeviceMotionUpdates(using: .xTrueNorthZVertical)
  }

  /// Calls the methods that return a result. Requires a fix.
  func request(recordingTo path: String) {
    perform { members in
      let location = try? await members.device.location.requestLocation(accuracy: 30, timeLimit: 30)
      members.state.withLock { $0.requested = location }
    }
    perform { members in
      _ = try? await members.device.motion.recordAccelerometer(forDuration: 1, path: path)
      let history = try? SensorRecorder(reading: path).accelerometerData(
        from: UTCTime(nanoseconds: 0), to: UTCTime(nanoseconds: .max))
      members.state.withLock { $0.recording = history }
    }
    device.location.allowDeferredLocationUpdates(untilTraveled: nil, timeout: 2)
  }

  func stop() {
    device.motion.stopAccelerometerUpdates()
    device.stop()
    for task in tasks.withLock({ $0 }) { task.cancel() }
  }

  private func perform(_ body: @escaping @Sendable (LiveMembers) async -> Void) {
    let task = Task { [weak self] in if let self { await body(self) } }
    tasks.withLock { $0.append(task) }
  }

  private func keep(_ handler: some Sendable) { handlers.withLock { $0.append(handler) } }

  private func observe<Element: Sendable>(
    _ elements: AsyncSamples<Element>, _ list: any WritableKeyPath<Seen, [Element]> & Sendable
  ) {
    let state = state
    let task = Task { for await element in elements { state.withLock { $0[keyPath: list].append(element) } } }
    tasks.withLock { $0.append(task) }
  }

  private func handler<Element: Sendable>(
    _ list: any WritableKeyPath<Seen, [Element]> & Sendable
  ) -> @Sendable (Element) -> Void {
    let state = state
    return { element in state.withLock { $0[keyPath: list].append(element) } }
  }
}
