import Foundation
import LiveSensors
import Motion
import Platform
import Positioning
import Sensors
import Simulation
import Spatial
import TestSupport
import Testing

/// Sources, managers and consumers combined in a live device.
@Suite struct LiveDeviceTests {
  private func simulation(seconds: Double?, seed: UInt64 = 3) -> SimulatedDrive.Configuration {
    var configuration = SimulatedDrive.Configuration()
    (configuration.seed, configuration.duration) = (seed, seconds)
    configuration.startTime = UTCTime(nanoseconds: 1_795_248_000_000_000_000)
    return configuration
  }

  private func collect<Element>(_ elements: AsyncSamples<Element>, pausing: Bool = false) async throws
    -> [Element]
  {
    var collected: [Element] = []
    for await element in elements {
      collected.append(element)
      if pausing, collected.count % 20 == 0 { try await Task.sleep(for: .milliseconds(1)) }
    }
    return collected
  }

  /// A discovery may finish before its caller starts to wait for it.
  @Test(.timeLimit(.minutes(2))) func everyDiscoveryEnds() async throws {
    let configuration = simulation(seconds: 60)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<300 {
        group.addTask {
          let device = try LiveDevice(.simulation(configuration), speed: nil)
          try await device.discover()
          device.stop()
        }
      }
      try await group.waitForAll()
    }
  }

  @Test(.timeLimit(.minutes(2)), arguments: [1.0, nil])
  func everyDiscoveryReportsTheSensorsOfASimulation(speed: Double?) async throws {
    let configuration = simulation(seconds: 60)
    let missing = Locked(0)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<100 {
        group.addTask {
          let device = try LiveDevice(.simulation(configuration), speed: speed)
          try await device.discover()
          if !device.motion.isDeviceMotionAvailable || !device.motion.isMagnetometerAvailable {
            missing.withLock { $0 += 1 }
          }
          device.stop()
        }
      }
      try await group.waitForAll()
    }
    #expect(missing.withLock { $0 } == 0)
  }

  /// A pulled recording waits for slow consumers: each receives all elements, the same as without threads.
  @Test func pulledRecordingLosesNoElement() async throws {
    let configuration = simulation(seconds: 300)
    var drive = try SimulatedDrive(configuration)
    let live = LiveLocation()
    let expected = live.liveUpdates(capacity: 1000)
    while let event = drive.next() { live.process(event) }
    live.finish()

    let device = try LiveDevice(.simulation(configuration), speed: nil)
    let (slow, quick) = (device.location.liveUpdates(capacity: 4), device.location.liveUpdates(capacity: 4))
    let samples = device.motion.accelerometerUpdates(capacity: 100)
    try device.start()
    async let first = collect(slow, pausing: true)
    async let second = collect(quick)
    async let third = collect(samples)
    let locations = try await collect(expected).compactMap(\.location?.coordinate)
    #expect(try await first.compactMap(\.location?.coordinate) == locations)
    #expect(try await second.count == locations.count && locations.count > 200)
    #expect(try await third.count == 30_001)
    #expect(slow.overflowCount + quick.overflowCount + samples.overflowCount + device.droppedEvents == 0)
  }

  /// Samples arrive in blocks that are larger than these queues.
  @Test(arguments: [1, 4, 16]) func noCapacityIsTooSmallForAPulledRecording(capacity: Int) async throws {
    let device = try LiveDevice(.simulation(simulation(seconds: 400)), speed: nil)
    let samples = device.motion.accelerometerUpdates(capacity: capacity)
    let updates = device.location.liveUpdates(capacity: capacity)
    let count = Locked(0)
    let handler = try device.motion.startGyroUpdates(capacity: capacity) { _ in count.withLock { $0 += 1 } }
    async let all = collect(samples)
    try device.start()
    var (fixes, ends) = (0, 0)
    for await update in updates {
      if update.location != nil { fixes += 1 }
      if fixes == 3, update.location != nil {
        device.location.allowDeferredLocationUpdates(untilTraveled: nil, timeout: 300)
      }
      if update.didFinishDeferredUpdates { ends += 1 }
    }
    let other = try LiveDevice(.simulation(simulation(seconds: 400)), speed: nil)
    let expected = other.location.liveUpdates(capacity: 1000)
    try other.start()
    #expect(try await collect(expected).count { $0.location != nil } == fixes)
    #expect(try await all.count == 40_001 && fixes > 300 && ends == 1)
    try await eventually { count.withLock { $0 } == 40_001 }
    #expect(samples.overflowCount + updates.overflowCount + handler.overflowCount == 0)
  }

  /// A pulled recording waits for the recorder, which is slower.
  @Test func everySampleOfAPulledRecordingIsRecorded() async throws {
    let scratch = try ScratchFolder()
    let device = try LiveDevice(.simulation(simulation(seconds: 300)), speed: nil)
    // A fix sets the civil time.
    let fixes = device.location.liveUpdates(capacity: 1000)
    var settings = SensorRecorder.Settings()
    settings.interval = nil
    async let lost = device.motion.recordAccelerometer(
      forDuration: 120, path: scratch.path + "/history", settings: settings)
    try await eventually { device.motion.isAccelerometerActive }
    try device.start()
    #expect(try await lost == 0)
    let history = try SensorRecorder(reading: scratch.path + "/history").accelerometerData(
      from: UTCTime(nanoseconds: 0), to: UTCTime(nanoseconds: .max))
    #expect(history.samples.count == 12_001 && history.gaps.isEmpty && history.undatedSegments == 0)
    device.stop()
    withExtendedLifetime(fixes) {}
  }

  /// A recorder that is the only consumer powers no receiver, and its samples have the times of the recording.
  @Test(.timeLimit(.minutes(1)), arguments: [20.0, nil])
  func recordingWithoutPositionsIsDated(speed: Double?) async throws {
    let scratch = try ScratchFolder()
    let configuration = simulation(seconds: 60)
    let start = try #require(configuration.startTime)
    let device = try LiveDevice(.simulation(configuration), speed: speed)
    try device.start()
    try await device.motion.recordAccelerometer(forDuration: 10, path: scratch.path + "/history")
    let recorder = try SensorRecorder(reading: scratch.path + "/history")
    let recorded = recorder.recordedSpan
    let span = try #require(recorded)
    let history = try recorder.accelerometerData(from: start, to: start.advanced(bySeconds: 60))
    #expect(history.undatedSegments == 0 && (450...550).contains(history.samples.count))
    #expect(span.start >= start && span.end < start.advanced(bySeconds: 60))
    device.stop()
  }

  /// A pulled recording waits for handlers, too.
  @Test func handlersOfAPulledRecordingLoseNothing() async throws {
    let device = try LiveDevice(.simulation(simulation(seconds: 60)), speed: nil)
    let count = Locked(0)
    let updates = try device.motion.startAccelerometerUpdates(capacity: 20) { _ in
      count.withLock { $0 += 1 }
    }
    try device.start()
    try await eventually { count.withLock { $0 } == 6001 }
    #expect(updates.overflowCount == 0)
  }

  /// Until the first event, the device uses the time of the machine.
  @Test(.timeLimit(.minutes(1)), arguments: [1000.0, nil])
  func aRequestBeforeTheFirstEventHasItsTimeLimit(speed: Double?) async throws {
    let device = try LiveDevice(.simulation(simulation(seconds: 600)), speed: speed)
    async let location = device.location.requestLocation(accuracy: 50, timeLimit: 120)
    try await eventually { device.location.hasConsumers }
    try device.start()
    #expect(try await location.coordinate.isValid)
  }

  @Test func headingsAndRegionEventsComeFromOneDrive() async throws {
    let configuration = simulation(seconds: 240)
    var monitor = RegionMonitor()
    let start = configuration.route.waypoints[0].coordinate
    try monitor.add(Region(identifier: "start", center: start, radius: 60))
    let device = try LiveDevice(.simulation(configuration), speed: nil, monitor: monitor)
    let (headings, events) = (device.location.headingUpdates(), device.location.regionEvents())
    try device.start()
    async let told = collect(headings)
    #expect(try await collect(events).first?.kind == .exit)
    let known = try await told.filter { $0.trueHeading != nil }
    #expect(known.count > 1000)
  }

  /// A function may return the sequence and release the device.
  @Test func loopKeepsItsDeviceRunning() async throws {
    func updates() throws -> AsyncSamples<LocationUpdate> {
      let device = try LiveDevice(.simulation(simulation(seconds: 120)), speed: nil)
      try device.start()
      return device.location.liveUpdates()
    }
    #expect(try await collect(updates()).count > 60)
  }

  /// After the device and its consumers are released, its thread ends and releases its objects.
  @Test(arguments: [1000.0, nil]) func releasedDeviceEndsItsThread(speed: Double?) async throws {
    weak var location: LiveLocation?
    do {
      let device = try LiveDevice(.simulation(simulation(seconds: nil)), speed: speed)
      location = device.location
      let updates = device.location.liveUpdates()
      try device.start()
      let task = Task { try await collect(updates).count }
      for await _ in device.motion.gyroUpdates() { break }
      task.cancel()
      _ = try await task.value
      #expect(!device.location.hasConsumers)
    }
    try await eventually { location == nil }
  }

  @Test func releasedDeviceEndsItsLoops() async throws {
    let updates = try LiveDevice(.simulation(simulation(seconds: 20))).location.liveUpdates()
    #expect(try await collect(updates).isEmpty)
  }

  @Test(arguments: [1.0, nil]) func stopEndsSequencesAfterTheirPendingElements(speed: Double?) async throws {
    let device = try LiveDevice(.simulation(simulation(seconds: nil)), speed: speed)
    let (updates, motion) = (
      device.location.liveUpdates(), device.motion.deviceMotionUpdates(capacity: 20_000)
    )
    let handed = device.motion.accelerometerStream()
    try device.start()
    var iterator = updates.makeAsyncIterator()
    #expect(await iterator.next() != nil)
    device.stop()
    device.stop()
    while await iterator.next() != nil {}
    _ = try await collect(motion)
    while handed.next() != nil {}
    #expect(!device.location.hasConsumers && !device.motion.isAccelerometerActive)
  }

  /// A program that requests only device motion reaches true north.
  @Test(.timeLimit(.minutes(1)), arguments: [20.0, nil])
  func trueNorthPowersTheReceiverUntilItsFirstFix(speed: Double?) async throws {
    let device = try LiveDevice(
      .simulation(simulation(seconds: 120)), speed: speed, motion: MotionManager(frame: .xTrueNorthZVertical))
    let motions = device.motion.deviceMotionUpdates(interval: 0.5)
    #expect(device.motion.demands[.positioning]?.isOn == true)
    try device.start()
    var reasons: Set<String?> = []
    for await motion in motions {
      #expect((motion.frame == .xTrueNorthZVertical) == (motion.degradation == nil))
      reasons.insert(motion.degradation)
      if motion.frame == .xTrueNorthZVertical { break }
    }
    #expect(reasons.contains(nil) && device.motion.declination != nil && !device.location.hasConsumers)
    #expect(device.motion.demands[.positioning]?.isOn != true)
    device.stop()
  }

  @Test(arguments: [true, false]) func stoppedDeviceCannotBeStarted(hasRun: Bool) async throws {
    let device = try LiveDevice(.simulation(simulation(seconds: 60)), speed: nil)
    if hasRun {
      try device.start()
      try device.start()
    }
    device.stop()
    #expect { try device.start() } throws: { "\($0)".contains("create another one") }
    await #expect(throws: SourceError.self) { try await device.discover() }
    device.stop()
  }

  private func report(_ second: Int) -> String {
    #"{"class":"TPV","mode":3,"time":"2026-11-21T08:00:0\#(second).000Z","lat":48,"lon":11}"#
  }

  /// Unreadable lines are skipped; all other lines are read.
  @Test func aDamagedLineIsSkipped() async throws {
    let scratch = try ScratchFolder()
    let path = try scratch.write(Data("\(report(1))\n{\"class\":]\n\(report(2))\n".utf8), to: "drive.json")
    let device = try LiveDevice(.recording(SensorInput.Recording(position: path)), speed: nil)
    let updates = device.location.liveUpdates()
    try device.start()
    #expect(try await collect(updates).count { $0.location != nil } == 2)
    #expect(device.failure == nil)
  }

  @Test func aRecordingWithoutAPositionIsAFailure() async throws {
    let scratch = try ScratchFolder()
    let text = #"{"class":"TPV","mode":1}"# + "\n"
    let path = try scratch.write(Data(text.utf8), to: "drive.json")
    let device = try LiveDevice(.recording(SensorInput.Recording(position: path)), speed: nil)
    let updates = device.location.liveUpdates()
    try device.start()
    let told = try await collect(updates)
    #expect(told.last.map { "\($0.failure.map(\.description) ?? "")".contains("drive.json") } == true)
    #expect(device.failure != nil)
  }

  /// Discovery, requests and consumers with their own settings behave identically for a simulation that is
  /// pulled or runs at a pace.
  @Test(.timeLimit(.minutes(1)), arguments: [100.0, nil])
  func aSimulationIsDiscoveredAndAnswersRequests(speed: Double?) async throws {
    let device = try LiveDevice(.simulation(simulation(seconds: 600)), speed: speed)
    let availability = try await device.discover()
    #expect(availability.authorizationStatus == .authorized)
    #expect(device.location.locationServicesEnabled && device.location.headingAvailable)
    #expect(device.motion.isAccelerometerAvailable && device.motion.isDeviceMotionAvailable)
    #expect(device.motion.availableAttitudeReferenceFrames.count == 4)
    let location = try await device.location.requestLocation(accuracy: 50, timeLimit: 120)
    #expect(location.coordinate.isValid && location.horizontalAccuracy.map { $0 <= 50 } == true)
    #expect(!device.location.hasConsumers)
    let all = device.location.liveUpdates(capacity: 1000)
    let far = device.location.liveUpdates(LocationManager(distanceFilter: 300), capacity: 1000)
    async let farther = collect(far)
    let near = try await collect(all).compactMap(\.location)
    let rare = try await farther.compactMap(\.location)
    #expect(near.count > 3 * rare.count && rare.count >= 2)
    for (before, after) in zip(rare, rare.dropFirst()) {
      #expect(before.coordinate.distance(to: after.coordinate) >= 300)
    }
    #expect(device.now > location.timestamp)
  }

  @Test func missingFileIsReported() throws {
    #expect(throws: (any Error).self) {
      try LiveDevice(.recording(SensorInput.Recording(position: "/nonexistent/drive.nmea")))
    }
    #expect(throws: SourceError.self) { try LiveDevice(.recording(SensorInput.Recording())) }
    #expect(throws: SourceError.self) {
      try LiveDevice(.hardware(SensorInput.Hardware(gpsd: nil, iio: [])))
    }
  }
}
