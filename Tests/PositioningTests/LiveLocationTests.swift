import Motion
import Platform
import Positioning
import Sensors
import Spatial
import TestSupport
import Testing

/// The asynchronous form of locations, headings and regions.
@Suite struct LiveLocationTests {
  /// Eastward at 10 m/s, a fix each second.
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

  @Test func everyLocationArrivesInOrderAndTheLastOneToo() async {
    let live = LiveLocation()
    let updates = live.liveUpdates()
    drive(live, 0..<100)
    // The consumer was busy all the time; only now it looks.
    live.finish()
    #expect(await collect(updates).map(\.timestamp) == seconds(0..<100))
    #expect(updates.overflowCount == 0)
    #expect(await collect(live.liveUpdates()).isEmpty, "who comes later finds the end")
  }

  @Test func whatATaskCannotHoldIsCountedAndTheNewestStay() async {
    let live = LiveLocation()
    let updates = live.liveUpdates(capacity: 10)
    drive(live, 0..<100)
    #expect(updates.overflowCount == 90)
    updates.stop()
    #expect(await collect(updates).map(\.timestamp) == seconds(90..<100))
  }

  @Test func theDistanceFilterOfTheManagerDecides() async {
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

  @Test func pausesAreTold() async {
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

  @Test func failuresAreToldAndToThoseWhoComeLater() async throws {
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

  /// A region's edge is watched by the receiver whether locations are wanted or not.
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

  /// Whatever way a loop ends, its consumer is counted out.
  @Test func aLoopThatEndsCountsItsConsumerOut() async throws {
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
    // A loop over a sequence that nobody else holds goes on until its task is cancelled.
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

  @Test func letGoOfItEndsTheLoops() async {
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

  /// The fixes of a deferral that nobody ended.
  @Test func whatWasDeferredIsToldAtTheEnd() async {
    let live = LiveLocation()
    let updates = live.liveUpdates()
    drive(live, 0..<1)
    live.update {
      $0.allowDeferredLocationUpdates(untilTraveled: nil, timeout: 600, at: Timestamp(seconds: 0))
    }
    drive(live, 1..<6)
    live.finish()
    #expect(await collect(updates).map(\.timestamp) == seconds(0..<6))
  }

  @Test func headingsPassTheFilterOfTheirManager() async {
    let live = LiveLocation(heading: HeadingManager(headingFilter: 10))
    let headings = live.headingUpdates()
    drive(live, 0..<1)
    for degree in 0..<100 {
      // Attitudes against magnetic north have x to the north; the device's top is its y axis.
      let turn = Quaternion(angle: (90 - Double(degree)).radians, axis: Vector3(0, 0, 1)).conjugate
      live.process(
        attitude: Attitude(quaternion: turn), accuracy: 2, at: Timestamp(seconds: 1 + Double(degree) / 10))
    }
    live.finish()
    let told = await collect(headings)
    #expect(told.count == 10)
    #expect(told.allSatisfy { $0.trueHeading != nil }, "the fix gave the declination")
  }
}
