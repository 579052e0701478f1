import LiveSensors
import Motion
import Platform
import Positioning
import Sensors
import Spatial
import TestSupport
import Testing

/// Asynchronous sequences of locations, headings and regions.
@Suite struct LiveLocationTests {
  /// Drives east at 10 m/s with one fix per second.
  private func drive(_ live: LiveLocation, _ seconds: Range<Int>) {
    for second in seconds {
      live.process(
        .position([Place.fix(Double(second), Double(second) * 10, speed: 10, course: 90)]))
    }
  }

  private func collect<Element>(_ elements: AsyncSamples<Element>) async -> [Element] {
    var collected: [Element] = []
    for await element in elements { collected.append(element) }
    return collected
  }

  private func seconds(_ range: Range<Int>) -> [Timestamp] { range.map { Timestamp(seconds: Double($0)) } }

  @Test func everyLocationArrivesInOrder() async {
    let live = LiveLocation()
    let updates = live.liveUpdates()
    drive(live, 0..<100)
    // The consumer starts to read after all locations have arrived.
    live.finish()
    #expect(await collect(updates).map(\.timestamp) == seconds(0..<100))
    #expect(updates.overflowCount == 0)
    #expect(await collect(live.liveUpdates()).isEmpty, "a later sequence ends immediately")
  }

  @Test func overflowIsCountedAndTheNewestAreRetained() async {
    let live = LiveLocation()
    let updates = live.liveUpdates(capacity: 10)
    drive(live, 0..<100)
    #expect(updates.overflowCount == 90)
    updates.stop()
    #expect(await collect(updates).map(\.timestamp) == seconds(90..<100))
  }

  @Test func managerDistanceFilterApplies() async {
    let live = LiveLocation(manager: LocationManager(distanceFilter: 45))
    let (first, second) = (live.liveUpdates(), live.liveUpdates())
    drive(live, 0..<50)
    live.withManager { $0.distanceFilter = nil }
    drive(live, 50..<60)
    live.finish()
    let told = await collect(first)
    #expect(told.count == 20 && told.last?.timestamp == Timestamp(seconds: 59))
    #expect(await collect(second) == told)
    #expect(live.filteredCount == 40)
  }

  @Test func pausesAreReported() async {
    let live = LiveLocation(manager: LocationManager(pausesLocationUpdatesAutomatically: true))
    let updates = live.liveUpdates(capacity: 1000)
    for second in 0..<300 { live.process(.position([Place.fix(Double(second), 0, speed: 0)])) }
    #expect(live.isPaused)
    for second in 300..<310 {
      live.process(.position([Place.fix(Double(second), Double(second - 300) * 10, speed: 10, course: 90)]))
    }
    live.finish()
    let told = await collect(updates)
    #expect(told.filter(\.isStationary).count == 1)
    #expect(told.last.map { $0.location != nil && !$0.isStationary } == true)
  }

  @Test func failuresAreReportedToCurrentAndLaterConsumers() async throws {
    let live = LiveLocation()
    let early = live.liveUpdates()
    let status = SourceStatus(
      timestamp: Timestamp(seconds: 1), source: "gpsd", kinds: [.positioning],
      state: .unavailable(reason: "nobody listens"))
    live.process(.position([Place.fix(0, 0)]))
    live.process(.status(status))
    let late = live.liveUpdates()
    live.process(.position([Place.fix(2, 0)]))
    live.finish()
    let failure = LocationFailure.receiverUnavailable(reason: "nobody listens")
    #expect(await collect(early).map(\.failure) == [nil, failure, nil])
    let told = await collect(late)
    #expect(told.map(\.failure) == [failure, nil])
    #expect(told.first?.isLocationUnavailable == true && told.first?.isAuthorizationDenied == false)
  }

  @Test func regionEventsArriveInOrder() async throws {
    let live = LiveLocation()
    let events = live.regionEvents()
    try live.add(Region(identifier: "depot", center: Place.coordinate(400), radius: 100))
    try live.add(Region(identifier: "gone", center: Place.coordinate(400), radius: 100))
    live.remove("gone")
    #expect(throws: RegionError.invalidRadius(-1)) {
      try live.add(Region(identifier: "none", center: Place.origin, radius: -1))
    }
    drive(live, 0..<80)
    live.finish()
    let told = await collect(events)
    #expect(told.map(\.kind) == [.enter, .exit] && told.allSatisfy { $0.identifier == "depot" })
  }

  /// The receiver is powered for region events even without a consumer of locations.
  @Test func demandsFollowTheConsumers() async throws {
    let calls = Locked(0)
    let live = LiveLocation { calls.withLock { $0 += 1 } }
    let now = Timestamp(seconds: 1)
    #expect(live.demands(at: now).values.allSatisfy { !$0.isOn })
    try live.add(Region(identifier: "depot", center: Place.origin, radius: 100))
    #expect(live.demands(at: now)[.positioning] == .off)
    let events = live.regionEvents()
    #expect(live.demands(at: now)[.positioning]?.isOn == true)
    let headings = live.headingUpdates()
    #expect(live.isHeadingWanted && live.demands(at: now)[.gyroscope]?.isOn == true)
    headings.stop()
    #expect(!live.isHeadingWanted && live.demands(at: now)[.gyroscope] == .off)
    events.stop()
    events.stop()
    #expect(live.demands(at: now).values.allSatisfy { !$0.isOn } && !live.hasConsumers)
    #expect(calls.withLock { $0 } == 5)
  }

  /// A loop that ends, by break or cancellation, removes its consumer.
  @Test func endedLoopRemovesItsConsumer() async throws {
    let live = LiveLocation()
    do {
      let updates = live.liveUpdates()
      drive(live, 0..<1)
      for await _ in updates { break }
    }
    #expect(!live.hasConsumers)
    let updates = live.liveUpdates()
    let task = Task { await collect(updates).count }
    task.cancel()
    #expect(await task.value == 0)
    #expect(!live.hasConsumers)
    // A loop over a sequence without other references continues until its task is cancelled.
    let other = Task {
      var count = 0
      for await _ in live.significantLocationChanges() { count += 1 }
      return count
    }
    try await eventually { live.hasConsumers }
    drive(live, 1..<2)
    other.cancel()
    #expect(await other.value <= 1)
    #expect(!live.hasConsumers)
  }

  @Test func deinitializationEndsTheLoops() async {
    weak var gone: LiveLocation?
    let updates: AsyncSamples<LocationUpdate>
    do {
      let live = LiveLocation()
      gone = live
      updates = live.liveUpdates()
      drive(live, 0..<3)
    }
    #expect(gone == nil)
    #expect(await collect(updates).count == 3)
  }

  /// At the end, the fixes of an unfinished deferral are reported.
  @Test func deferredLocationsAreReportedAtTheEnd() async {
    let live = LiveLocation()
    let updates = live.liveUpdates()
    drive(live, 0..<1)
    live.update {
      $0.allowDeferredLocationUpdates(untilTraveled: nil, timeout: 600, at: Timestamp(seconds: 0))
    }
    drive(live, 1..<6)
    live.finish()
    let told = await collect(updates)
    #expect(told.compactMap(\.location?.timestamp) == seconds(0..<6))
    #expect(told.last?.didFinishDeferredUpdates == true && told.last?.deferralError == .cancelled)
  }

  /// The consumer receives the end of a deferral and its refusal. No call needs a timestamp.
  @Test func endOfADeferralIsReported() async {
    let live = LiveLocation()
    let updates = live.liveUpdates()
    drive(live, 0..<1)
    live.allowDeferredLocationUpdates(untilTraveled: nil, timeout: 5)
    drive(live, 1..<8)
    live.withManager { $0.distanceFilter = 10 }
    live.allowDeferredLocationUpdates(untilTraveled: 100, timeout: nil)
    live.finish()
    let told = await collect(updates)
    let ends = told.filter(\.didFinishDeferredUpdates)
    #expect(ends.map(\.deferralError) == [nil, .distanceFiltered])
    #expect(told.firstIndex { $0.didFinishDeferredUpdates } == 6, "after its six locations")
  }

  /// The fixes of a deferral count as one element, so that a short queue does not drop the oldest of them.
  @Test func everyFixOfALongDeferralArrives() async throws {
    let live = LiveLocation()
    let (updates, short) = (live.liveUpdates(), live.liveUpdates(capacity: 2))
    let own = live.liveUpdates(LocationManager(), capacity: 2)
    let handled = Locked<[Timestamp]>([])
    let handler = try live.startUpdatingLocation(capacity: 2) { update in
      if let location = update.location { handled.withLock { $0.append(location.timestamp) } }
    }
    drive(live, 0..<1)
    live.allowDeferredLocationUpdates(untilTraveled: nil, timeout: 300)
    drive(live, 1..<300)
    #expect(own.overflowCount == 298, "a consumer without a deferral receives single fixes")
    drive(live, 300..<301)
    var iterator = short.makeAsyncIterator()
    #expect(await iterator.next()?.timestamp == Timestamp(seconds: 1))
    live.finish()
    // A second loop continues the batch.
    let rest = await collect(short)
    #expect(rest.compactMap(\.location?.timestamp) == seconds(2..<301))
    #expect(rest.last?.didFinishDeferredUpdates == true && short.overflowCount == 1)
    #expect(await collect(updates).compactMap(\.location?.timestamp) == seconds(0..<301))
    #expect(updates.overflowCount == 0)
    #expect(waitUntil { handled.withLock { $0.suffix(300) == seconds(1..<301) } })
    withExtendedLifetime(handler) {}
  }

  /// Each consumer has its own accuracy, filter and pauses. The receiver serves the most demanding one.
  @Test func consumersHaveIndependentSettings() async {
    let live = LiveLocation(manager: LocationManager(distanceFilter: 45))
    let shared = live.liveUpdates()
    let all = live.liveUpdates(LocationManager(desiredAccuracy: .bestForNavigation))
    let rare = live.liveUpdates(LocationManager(desiredAccuracy: .kilometer, distanceFilter: 185))
    drive(live, 0..<60)
    #expect(live.demands(at: Timestamp(seconds: 60))[.positioning]?.isOn == true)
    all.stop()
    live.finish()
    #expect(await collect(shared).count == 12)
    #expect(await collect(all).count == 60)
    #expect(await collect(rare).count == 4)
    #expect(!live.hasConsumers)
  }

  /// A second consumer without a filter keeps the receiver on. After it stops, the receiver sleeps between the
  /// coarse positions.
  @Test func receiverFollowsTheUnionOfDemands() {
    let live = LiveLocation(manager: LocationManager(desiredAccuracy: .kilometer))
    let coarse = live.liveUpdates()
    let fine = live.liveUpdates(LocationManager(desiredAccuracy: .best))
    #expect(live.demands(at: Timestamp(seconds: 0))[.positioning]?.isOn == true)
    drive(live, 0..<30)
    #expect(live.demands(at: Timestamp(seconds: 29.5))[.positioning]?.isOn == true)
    fine.stop()
    #expect(live.demands(at: Timestamp(seconds: 29.5))[.positioning] == .off)
    withExtendedLifetime(coarse) {}
  }

  /// Stopping a device powers down all sensors, including those of consumers with their own settings.
  @Test func stopRemovesEveryConsumer() throws {
    let calls = Locked(0)
    let live = LiveLocation { calls.withLock { $0 += 1 } }
    let updates = try live.startUpdatingLocation(LocationManager(desiredAccuracy: .best)) { _ in }
    let headings = try live.startUpdatingHeading(HeadingManager()) { _ in }
    let now = Timestamp(seconds: 1)
    #expect(live.demands(at: now)[.positioning]?.isOn == true && live.isHeadingWanted)
    let before = calls.withLock { $0 }
    live.finish()
    #expect(!live.hasConsumers && live.demands(at: now).values.allSatisfy { !$0.isOn })
    #expect(calls.withLock { $0 } == before + 1)
    live.finish()
    #expect(calls.withLock { $0 } == before + 1)
    withExtendedLifetime((updates, headings)) {}
  }

  // MARK: Radios

  private func withRadios() throws -> LiveLocation {
    let beacons = try (0..<5).map { number in
      MappedBeacon(
        beacon: try Self.beacon(number), coordinate: Place.coordinate(15 * Double(number - 2)), reach: 50,
        sightings: 100, lastSeen: Int(Place.start.nanoseconds / 86_400_000_000_000))
    }
    return LiveLocation(
      manager: LocationManager(), monitor: RegionMonitor(), heading: HeadingManager(), backlog: nil,
      utcOffset: { Place.start.nanoseconds }, beacons: BeaconTable(beacons), radios: [.wifi],
      needsChanged: {})
  }

  private static func beacon(_ number: Int) throws -> Beacon {
    try #require(Beacon(accessPoint: 0x0011_2200_0000 + UInt64(number)))
  }

  private func scan(_ seconds: Double, isComplete: Bool = true) throws -> SensorEvent {
    let sightings = try (0..<5).map { BeaconSighting(beacon: try Self.beacon($0), signal: -78) }
    return .radio([
      RadioScan(
        timestamp: Timestamp(seconds: seconds), sightings: sightings, kind: .wifi, isComplete: isComplete)
    ])
  }

  /// If an accuracy of one kilometre is sufficient, a scan gives the position and the receiver sleeps.
  @Test func radiosServeACoarseConsumer() async throws {
    let live = try withRadios()
    let updates = live.liveUpdates(LocationManager(desiredAccuracy: .kilometer))
    try live.add(Region(identifier: "far", center: Place.coordinate(20_000), radius: 100))
    #expect(live.demands(at: Timestamp(seconds: 0))[.wifi]?.isOn == true)
    #expect(live.process(try scan(3, isComplete: false)).isEmpty)
    #expect(live.demands(at: Timestamp(seconds: 3))[.wifi]?.isOn == true)
    #expect(live.process(try scan(4)).count == 1)
    let demands = live.demands(at: Timestamp(seconds: 4))
    #expect(demands[.wifi] == .off && demands[.positioning] == .off)
    #expect(live.state(of: "far") == .outside)
    live.finish()
    let told = await collect(updates)
    let location = try #require(told.first?.location)
    #expect(told.count == 1 && location.positionSource == .coarse)
    #expect(location.coordinate.distance(to: Place.origin) < 30 && location.time != nil)
    #expect(location.horizontalAccuracy.map { $0 > 10 } == true && location.speed == nil)
  }

  /// A consumer of the best accuracy receives a position from radios before the first fix, and none after it.
  @Test func radiosServeUntilTheFirstFix() async throws {
    let live = try withRadios()
    let updates = live.liveUpdates()
    #expect(live.demands(at: Timestamp(seconds: 0))[.wifi]?.isOn == true)
    live.process(try scan(4))
    #expect(live.demands(at: Timestamp(seconds: 4))[.positioning]?.isOn == true)
    drive(live, 5..<8)
    live.process(try scan(8))
    live.finish()
    let sources = await collect(updates).map { $0.location?.positionSource }
    #expect(sources.count == 4 && sources.first == .coarse)
    #expect(sources.dropFirst().allSatisfy { $0 != .coarse })
  }

  @Test func noRadioIsPoweredWithoutAMap() throws {
    let live = LiveLocation()
    let updates = live.liveUpdates(LocationManager(desiredAccuracy: .threeKilometers))
    #expect(live.demands(at: Timestamp(seconds: 0))[.wifi] == .off)
    #expect(live.process(try scan(4)).isEmpty)
    withExtendedLifetime(updates) {}
  }

  @Test func requestIsAnsweredOnce() async throws {
    let live = LiveLocation()
    let request = Task { try await live.requestLocation(accuracy: 20, timeLimit: 10) }
    try await eventually { live.hasConsumers }
    #expect(live.demands(at: Timestamp(seconds: 0))[.positioning]?.isOn == true)
    drive(live, 0..<3)
    #expect(try await request.value.timestamp == Timestamp(seconds: 0))
    try await eventually { !live.hasConsumers }
    #expect(live.demands(at: Timestamp(seconds: 4))[.positioning] == .off)
    let failed = Task { try await live.requestLocation(accuracy: 20, timeLimit: 10) }
    try await eventually { live.hasConsumers }
    live.advance(to: Timestamp(seconds: 30))
    live.advance(to: Timestamp(seconds: 41))
    await #expect(throws: LocationFailure.requestTimedOut(seconds: 10)) { try await failed.value }
    let late = Task { try await live.requestLocation() }
    try await eventually { live.hasConsumers }
    live.finish()
    await #expect(throws: LocationFailure.self) { try await late.value }
  }

  /// Time does not advance in this test, so that no time limit is reached.
  @Test(.timeLimit(.minutes(1))) func deniedRequestFailsImmediately() async throws {
    let live = LiveLocation()
    func report(_ state: SourceStatus.State, _ access: PositionAccess) {
      live.process(
        .status(
          SourceStatus(
            timestamp: Timestamp(seconds: 1), source: "agent", kinds: [.positioning], state: state,
            access: access)))
    }
    let denial = LocationFailure.restricted(reason: "no access")
    let early = Task { try await live.requestLocation(timeLimit: 3600) }
    try await eventually { live.hasConsumers }
    report(.unavailable(reason: "no access"), .denied)
    await #expect(throws: denial) { try await early.value }
    await #expect(throws: denial) { try await live.requestLocation(timeLimit: 3600) }
    #expect(!live.hasConsumers)
    // After the access was restored, a request waits for a location.
    report(.idle, .exact)
    let late = Task { try await live.requestLocation(timeLimit: 3600) }
    try await eventually { live.hasConsumers }
    drive(live, 2..<3)
    #expect(try await late.value.timestamp == Timestamp(seconds: 2))
  }

  /// A request through the shared manager is answered to the consumers of updates.
  @Test func managerRequestsAreReportedAsUpdates() async {
    let live = LiveLocation(manager: LocationManager(distanceFilter: 1000))
    let updates = live.liveUpdates()
    drive(live, 0..<2)
    live.withManager { $0.requestLocation(accuracy: 100, timeLimit: 5, at: live.now) }
    drive(live, 2..<4)
    live.finish()
    let told = await collect(updates)
    #expect(told.map(\.isRequested) == [false, true])
    #expect(told.last?.location?.timestamp == Timestamp(seconds: 2))
  }

  @Test func failuresReachConsumersOfRegions() async {
    let live = LiveLocation()
    let failures = live.failures()
    #expect(!live.hasConsumers, "consumers of failures need no sensor")
    let events = live.regionEvents()
    live.process(
      .status(
        SourceStatus(
          timestamp: Timestamp(seconds: 1), source: "gpsd", kinds: [.positioning],
          state: .unavailable(reason: "connection refused"))))
    live.finish()
    #expect(await collect(failures) == [.receiverUnavailable(reason: "connection refused")])
    #expect(await collect(events).isEmpty)
  }

  @Test func availabilityFollowsTheSources() {
    let live = LiveLocation()
    #expect(live.authorizationStatus == .notDetermined && !live.locationServicesEnabled)
    live.observe(ServiceAvailability(deniedNodes: [:], unavailable: [.magnetometer: "none"]))
    #expect(live.authorizationStatus == .authorized && live.locationServicesEnabled)
    #expect(!live.headingAvailable && live.isAvailable(.regions))
    func status(_ kind: SensorKind, _ state: SourceStatus.State) {
      live.process(
        .status(SourceStatus(timestamp: Timestamp(seconds: 1), source: "test", kinds: [kind], state: state)))
    }
    status(.magnetometer, .idle)
    status(.positioning, .unavailable(reason: "unplugged"))
    #expect(live.headingAvailable && !live.locationServicesEnabled)
    #expect(live.availability.reason(against: .regions) == "unplugged")
    status(.positioning, .active(rates: [:]))
    #expect(live.locationServicesEnabled)
  }

  /// Without a discovery, the first fix and the answer of an agent show what is available.
  @Test func firstFixAndAgentCountAsDiscovery() {
    let receiver = LiveLocation()
    drive(receiver, 0..<1)
    #expect(receiver.authorizationStatus == .authorized && receiver.locationServicesEnabled)
    #expect(receiver.isAvailable(.regions) && !receiver.headingAvailable)
    let agent = LiveLocation()
    func report(_ access: PositionAccess, _ state: SourceStatus.State) {
      agent.process(
        .status(
          SourceStatus(
            timestamp: Timestamp(seconds: 1), source: "agent", kinds: [.positioning], state: state,
            access: access)))
    }
    report(.undetermined, .unavailable(reason: "connection refused"))
    #expect(agent.authorizationStatus == .notDetermined && !agent.locationServicesEnabled)
    report(.reduced, .idle)
    #expect(agent.authorizationStatus == .authorized && agent.locationServicesEnabled)
    report(.denied, .unavailable(reason: "no access"))
    #expect(agent.authorizationStatus == .denied && !agent.locationServicesEnabled)
  }

  @Test func headingConsumersHaveIndependentFilters() async {
    let live = LiveLocation(heading: HeadingManager(headingFilter: 10))
    let (shared, all) = (live.headingUpdates(), live.headingUpdates(HeadingManager()))
    for degree in 0..<50 {
      let turn = Quaternion(angle: (90 - Double(degree)).radians, axis: Vector3(0, 0, 1)).conjugate
      live.process(
        attitude: Attitude(quaternion: turn), accuracy: 2, at: Timestamp(seconds: Double(degree) / 10))
    }
    live.finish()
    #expect(await collect(shared).count == 5)
    #expect(await collect(all).count == 50)
  }

  /// Each handler runs on its own thread.
  @Test func handlersReceiveLocationsAndRegions() throws {
    let live = LiveLocation()
    try live.add(Region(identifier: "depot", center: Place.coordinate(400), radius: 100))
    let (locations, events) = (Locked(0), Locked<[RegionEvent.Kind]>([]))
    let updates = try live.startUpdatingLocation { update in
      if update.location != nil { locations.withLock { $0 += 1 } }
    }
    let regions = try live.startMonitoringRegions { event in events.withLock { $0.append(event.kind) } }
    drive(live, 0..<80)
    #expect(waitUntil { locations.withLock { $0 } == 80 && events.withLock { $0 } == [.enter, .exit] })
    updates.stop()
    regions.stop()
    #expect(!live.hasConsumers)
  }

  @Test func headingsPassTheManagerFilter() async {
    let live = LiveLocation(heading: HeadingManager(headingFilter: 10))
    let headings = live.headingUpdates()
    drive(live, 0..<1)
    for degree in 0..<100 {
      // With magnetic north as reference, x points north; the top of the device is its y axis.
      let turn = Quaternion(angle: (90 - Double(degree)).radians, axis: Vector3(0, 0, 1)).conjugate
      live.process(
        attitude: Attitude(quaternion: turn), accuracy: 2, at: Timestamp(seconds: 1 + Double(degree) / 10))
    }
    live.finish()
    let told = await collect(headings)
    #expect(told.count == 10)
    #expect(told.allSatisfy { $0.trueHeading != nil }, "the declination follows from the fix")
  }
}
