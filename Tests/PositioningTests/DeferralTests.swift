import Positioning
import Spatial
import TestSupport
import Testing

@Suite struct DeferralTests {
  private func batch(_ events: [LocationEvent]) -> [Double]? {
    for case .batch(let fixes) in events {
      return fixes.map { ($0.timestamp.seconds * 1000).rounded() / 1000 }
    }
    return nil
  }

  private func ends(_ events: [LocationEvent]) -> [DeferralError?] {
    events.compactMap { event -> DeferralError?? in
      if case .deferredUpdatesFinished(let error) = event { .some(error) } else { nil }
    }
  }

  /// A vehicle at slightly more than 10 m/s; one fix per second from 0 s on.
  private func drive(_ manager: inout LocationManager, _ seconds: ClosedRange<Int>) -> [LocationEvent] {
    seconds.flatMap { manager.process(Place.location(Double($0), 10.001 * Double($0), speed: 10)) }
  }

  /// Deferred fixes may be delayed by ten seconds, except for the last ones before the deadline; all others are not delayed.
  @Test func collectedFixMayBeDelayed() {
    var manager = LocationManager(desiredAccuracy: .best)
    manager.startUpdatingLocation()
    _ = drive(&manager, 0...0)
    #expect(manager.needs.maxFixDelay == 0)
    _ = manager.allowDeferredLocationUpdates(
      untilTraveled: nil, timeout: 60, at: Timestamp(seconds: 0))
    let timeout = [(1, 10.0), (48, 10), (52, 6.5), (58, 0.5), (59, 0)].map { second, expected in
      _ = drive(&manager, second...second)
      return manager.needs.maxFixDelay == expected
    }
    #expect(timeout.allSatisfy { $0 })
    manager.requestLocation(accuracy: 1, timeLimit: 5, at: Timestamp(seconds: 59))
    #expect(manager.needs.maxFixDelay == 0)
    #expect(batch(manager.advance(to: Timestamp(seconds: 70))) == [1, 48, 52, 58, 59])
    #expect(manager.needs.maxFixDelay == 0)
  }

  // MARK: Distance and timeout

  struct Row: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var distance: Double?
    var timeout: Double?
    /// The second of the fix that ends the deferral; nil if none of the first hundred does.
    var end: Int?
  }

  @Test(arguments: [
    Row(testDescription: "until travelled", distance: 200, timeout: 60, end: 20),
    Row(testDescription: "until timeout", distance: 2000, timeout: 60, end: 60),
    Row(testDescription: "no timeout", distance: 500, timeout: nil, end: 50),
    Row(testDescription: "no distance", distance: nil, timeout: 30, end: 30),
    Row(testDescription: "both simultaneously", distance: 300, timeout: 30, end: 30),
    Row(testDescription: "no limit", distance: nil, timeout: nil, end: nil),
  ])
  func endsAtDistanceOrTimeout(row: Row) throws {
    var manager = LocationManager.updating()
    #expect(
      manager.allowDeferredLocationUpdates(
        untilTraveled: row.distance, timeout: row.timeout, at: Timestamp(seconds: 0)
      ).isEmpty)
    for second in 0...100 {
      let events = drive(&manager, second...second)
      guard second == row.end else {
        #expect(events.isEmpty, "second \(second)")
        continue
      }
      #expect(batch(events) == (0...second).map(Double.init))
      #expect(ends(events) == [nil])
      #expect(events.count == 2 && !manager.isDeferring)
      // Later updates arrive one by one.
      #expect(drive(&manager, (second + 1)...(second + 1)).count == 1)
      return
    }
    #expect(row.end == nil)
  }

  @Test func timeoutNeedsNoFix() {
    var manager = LocationManager.updating()
    _ = manager.allowDeferredLocationUpdates(untilTraveled: nil, timeout: 60, at: Timestamp(seconds: 0))
    _ = drive(&manager, 0...10)
    #expect(manager.nextDeadline == Timestamp(seconds: 60) && manager.needs.deadline == manager.nextDeadline)
    #expect(manager.advance(to: Timestamp(seconds: 59.9)).isEmpty)
    let events = manager.advance(to: Timestamp(seconds: 60))
    #expect(batch(events)?.count == 11 && ends(events) == [nil])
    #expect(manager.nextDeadline == nil)
  }

  @Test func fixAfterTheTimeoutIsNotInTheBatch() {
    var manager = LocationManager.updating()
    _ = manager.allowDeferredLocationUpdates(untilTraveled: nil, timeout: 10, at: Timestamp(seconds: 0))
    _ = drive(&manager, 0...5)
    let events = drive(&manager, 90...90)
    #expect(batch(events) == [0, 1, 2, 3, 4, 5])
    #expect(events.last == .location(Place.shown(90, 900.09, speed: 10)))
  }

  @Test func deferralWithoutFixHasNoBatch() {
    var manager = LocationManager.updating()
    _ = manager.allowDeferredLocationUpdates(untilTraveled: nil, timeout: 10, at: Timestamp(seconds: 0))
    #expect(manager.advance(to: Timestamp(seconds: 10)) == [.deferredUpdatesFinished(nil)])
  }

  @Test func distanceCountsFromTheStartOfTheDeferral() {
    var manager = LocationManager.updating()
    _ = drive(&manager, 0...100)
    _ = manager.allowDeferredLocationUpdates(untilTraveled: 100, timeout: nil, at: Timestamp(seconds: 100))
    #expect(batch(drive(&manager, 101...109)) == nil)
    #expect(batch(drive(&manager, 110...110))?.count == 10)
  }

  @Test func memoryIsBounded() {
    var manager = LocationManager.updating()
    _ = manager.allowDeferredLocationUpdates(untilTraveled: nil, timeout: nil, at: Timestamp(seconds: 0))
    let events = (0..<8000).flatMap { manager.process(Place.location(Double($0), 0)) }
    #expect(batch(events)?.count == 7200 && ends(events) == [nil])
  }

  // MARK: Errors

  @Test(
    arguments: [
      (LocationManager(), DeferralError.notUpdating),
      (.updating(.hundredMeters), .accuracyTooLow), (.updating(.nearestTenMeters), .accuracyTooLow),
      (.updating(.reduced), .accuracyTooLow), (.updating(distanceFilter: 10), .distanceFiltered),
      (.updating(.best), nil), (.updating(.bestForNavigation), nil),
    ] as [(LocationManager, DeferralError?)])
  func deferralIsAcceptedOrRejected(manager: LocationManager, error: DeferralError?) {
    var manager = manager
    let events = manager.allowDeferredLocationUpdates(
      untilTraveled: 100, timeout: 100, at: Timestamp(seconds: 0))
    #expect(ends(events) == (error.map { [$0] } ?? []))
    #expect(manager.isDeferring == (error == nil))
  }

  @Test func deferralIsRejectedWhilePaused() {
    var manager = LocationManager.updating(pauses: true)
    _ = (0...200).flatMap { manager.process(Place.location(Double($0), 0, speed: 0)) }
    #expect(manager.isPaused)
    #expect(
      ends(manager.allowDeferredLocationUpdates(untilTraveled: 1, timeout: 1, at: Timestamp(seconds: 200)))
        == [.notUpdating])
  }

  @Test func deferralIsRejectedWithoutAReceiver() {
    var manager = LocationManager.updating()
    _ = manager.fail(.receiverUnavailable(reason: "unplugged"))
    #expect(
      ends(manager.allowDeferredLocationUpdates(untilTraveled: 1, timeout: 1, at: Timestamp(seconds: 0)))
        == [.failed])
  }

  /// A cause that ends a deferral; the deferred fixes are delivered first.
  struct Cut: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var error: DeferralError
    var act: @Sendable (inout LocationManager) -> [LocationEvent]
  }

  @Test(arguments: [
    Cut(testDescription: "a newer call", error: .cancelled) {
      $0.allowDeferredLocationUpdates(untilTraveled: 1000, timeout: nil, at: Timestamp(seconds: 5))
    },
    Cut(testDescription: "disallowed", error: .cancelled) { $0.disallowDeferredLocationUpdates() },
    Cut(testDescription: "updates stopped", error: .cancelled) { $0.stopUpdatingLocation() },
    Cut(testDescription: "receiver lost", error: .failed) { $0.fail(.receiverUnavailable(reason: "gone")) },
    Cut(testDescription: "switched off", error: .failed) { $0.fail(.denied) },
    Cut(testDescription: "accuracy lowered", error: .accuracyTooLow) {
      $0.desiredAccuracy = .kilometer
      return $0.process(Place.location(6, 60))
    },
    Cut(testDescription: "filter set", error: .distanceFiltered) {
      $0.distanceFilter = 5
      return $0.process(Place.location(6, 60))
    },
  ])
  func stoppingCancelsTheDeferral(cut: Cut) {
    var manager = LocationManager.updating()
    _ = manager.allowDeferredLocationUpdates(untilTraveled: 1000, timeout: 1000, at: Timestamp(seconds: 0))
    _ = drive(&manager, 0...4)
    let events = cut.act(&manager)
    #expect(batch(events) == [0, 1, 2, 3, 4])
    #expect(ends(events) == [cut.error])
    guard case .batch? = events.first else {
      Issue.record("the batch is not the first event")
      return
    }
  }

  @Test func newerCallRestartsTheDeferral() {
    var manager = LocationManager.updating()
    _ = manager.allowDeferredLocationUpdates(untilTraveled: nil, timeout: 10, at: Timestamp(seconds: 0))
    _ = drive(&manager, 0...4)
    _ = manager.allowDeferredLocationUpdates(untilTraveled: nil, timeout: 10, at: Timestamp(seconds: 5))
    #expect(batch(drive(&manager, 5...14)) == nil)
    #expect(batch(drive(&manager, 15...15)) == (5...15).map(Double.init))
  }

  @Test func pauseEndsTheDeferral() {
    var manager = LocationManager.updating(pauses: true)
    _ = manager.allowDeferredLocationUpdates(untilTraveled: nil, timeout: nil, at: Timestamp(seconds: 0))
    let events = (0...200).flatMap { manager.process(Place.location(Double($0), 0, speed: 0)) }
    #expect(ends(events) == [.notUpdating])
    #expect(batch(events)?.count == 180)
  }

  @Test func errorsDescribeTheCause() {
    #expect(DeferralError.allCases.count == 5)
    #expect(Set(DeferralError.allCases.map(\.description)).count == 5)
  }

  /// Every fix of a recorded drive is in exactly one batch, in order.
  @Test(.needs(.recordings("tracks")), arguments: Place.tracks.prefix(2)) func recordedDriveLosesNoFix(
    track: String
  ) throws {
    let locations = try Place.recordedFixes(track).compactMap { Location(fix: $0) }
    var manager = LocationManager.updating()
    var told: [Location] = []
    var batches = 0
    func take(_ events: [LocationEvent]) {
      for event in events {
        switch event {
        case .batch(let fixes):
          told += fixes.map(\.location)
          batches += 1
        // The first fix after a silence in which the timeout expired.
        case .location(let shown): told.append(shown.location)
        default: break
        }
      }
    }
    for location in locations {
      if !manager.isDeferring {
        take(
          manager.allowDeferredLocationUpdates(untilTraveled: 500, timeout: 60, at: location.timestamp))
      }
      take(manager.process(location))
    }
    take(manager.stopUpdatingLocation())
    #expect(told == locations)
    #expect(batches > 15 && batches < 60)
  }
}
