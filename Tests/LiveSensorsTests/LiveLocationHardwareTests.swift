import Foundation
import LiveSensors
import Motion
import Platform
import Positioning
import Sensors
import SensorsGPSD
import Spatial
import TestSupport
import Testing

/// Locations of live hardware: a real gpsd with a receiver at real-time pace that sleeps while no client watches.
@Suite(.serialized, .timeLimit(.minutes(1))) struct LiveLocationHardwareTests {
  private static let start = Coordinate(latitude: 48.1374, longitude: 11.5755)

  /// Drives east at 20 m/s, starting at the next second.
  private func drive(_ receiver: LiveReceiver, seconds: Int = 120) {
    let epochs = (0..<seconds).map { second in
      let place = Self.start.destination(distance: Double(second) * 20, bearing: 90)
      return LiveReceiver.Epoch(
        latitude: place.latitude, longitude: place.longitude, speed: 20, course: 90)
    }
    receiver.play(epochs, from: Int(Date().timeIntervalSince1970) + 1)
  }

  private func receiver() throws -> LiveReceiver {
    try LiveReceiver(
      at: LiveReceiver.Epoch(
        latitude: Self.start.latitude, longitude: Self.start.longitude, speed: 0, course: 0),
      language: .ubx)
  }

  private func device(_ receiver: LiveReceiver) throws -> LiveDevice {
    try LiveDevice(.gpsd(GPSDAddress(port: receiver.port)))
  }

  private func first<Element>(
    _ elements: AsyncSamples<Element>, where isLast: (Element) -> Bool
  ) async -> [Element] {
    var collected: [Element] = []
    for await element in elements {
      collected.append(element)
      if isLast(element) { break }
    }
    return collected
  }

  @Test func discoveryReportsTheReceiver() async throws {
    let receiver = try receiver()
    let device = try device(receiver)
    #expect(device.location.authorizationStatus == .notDetermined)
    #expect(!device.location.locationServicesEnabled)
    let availability = try await device.discover()
    #expect(device.location.authorizationStatus == .authorized && device.location.locationServicesEnabled)
    #expect(device.location.isAvailable(.regions) && !device.location.headingAvailable)
    #expect(availability.reason(against: .heading) != nil)
    #expect(!receiver.isUnwatched, "discovery does not watch the receiver")

    let port: UInt16 = try FreePort.next()
    let nothing = try LiveDevice(.gpsd(GPSDAddress(port: port)))
    let none = try await nothing.discover()
    #expect(!nothing.location.locationServicesEnabled)
    #expect(none.reason(against: .location)?.contains("\(port)") == true)
  }

  /// A request powers the receiver for one location.
  @Test func requestPowersTheReceiver() async throws {
    let receiver = try receiver()
    let device = try device(receiver)
    try device.start()
    let location = try await device.location.requestLocation(accuracy: 10, timeLimit: 20)
    #expect(location.coordinate.distance(to: Self.start) < 5)
    #expect(location.horizontalAccuracy.map { $0 <= 10 } == true)
    try await eventually { receiver.isUnwatched && !device.location.hasConsumers }
    // Concurrent requests are each answered.
    async let second = device.location.requestLocation(accuracy: 100)
    async let third = device.location.requestLocation(accuracy: 10)
    #expect(try await second.coordinate == third.coordinate)
  }

  @Test func aRequestFailsWithItsReason() async throws {
    let port: UInt16 = try FreePort.next()
    let device = try LiveDevice(.gpsd(GPSDAddress(port: port)))
    try device.start()
    let failures = device.location.failures()
    await #expect {
      try await device.location.requestLocation(timeLimit: 1)
    } throws: {
      if case LocationFailure.receiverUnavailable(let reason) = $0 {
        reason.contains("\(port)")
      } else {
        false
      }
    }
    #expect(await first(failures) { _ in true }.count == 1)
    let task = Task { try await device.location.requestLocation(timeLimit: 60) }
    try await eventually { device.location.hasConsumers }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(!device.location.hasConsumers)
  }

  /// Each consumer has its own accuracy, filter and handler.
  @Test func consumersHaveIndependentSettings() async throws {
    let receiver = try receiver()
    let device = try device(receiver)
    let all = device.location.liveUpdates()
    let far = device.location.liveUpdates(LocationManager(distanceFilter: 50))
    let handled = Locked<[LocationUpdate]>([])
    let updates = try device.location.startUpdatingLocation(
      LocationManager(desiredAccuracy: .hundredMeters, distanceFilter: 70)
    ) { update in handled.withLock { $0.append(update) } }
    drive(receiver)
    try device.start()
    func isFar(_ update: LocationUpdate) -> Bool {
      update.location.map { $0.coordinate.distance(to: Self.start) > 170 } ?? false
    }
    async let farther = first(far, where: isFar)
    let near = await first(all, where: isFar)
    func steps(_ updates: [LocationUpdate]) -> [Double] {
      let places = updates.compactMap(\.location?.coordinate)
      return zip(places, places.dropFirst()).map { $0.distance(to: $1) }
    }
    #expect(steps(near).filter { $0 > 1 }.allSatisfy { $0 < 25 }, "\(steps(near))")
    #expect(await steps(farther).allSatisfy { $0 >= 49 }, "each 60 m")
    try await eventually { handled.withLock { $0.count } >= 2 }
    #expect(steps(handled.withLock { $0 }).allSatisfy { $0 >= 69 })
    for stop in [all.stop, far.stop, updates.stop] { stop() }
    try await eventually { receiver.isUnwatched }
  }

  @Test func deferredUpdatesEndWithAnUpdate() async throws {
    let receiver = try receiver()
    let device = try device(receiver)
    let updates = device.location.liveUpdates()
    try device.start()
    _ = await first(updates) { $0.location != nil }
    let again = device.location.liveUpdates()
    device.location.allowDeferredLocationUpdates(untilTraveled: nil, timeout: 3)
    let told = await first(again) { $0.didFinishDeferredUpdates }
    #expect(told.last?.deferralError == nil)
    #expect(told.count >= 3, "expected three fixes before the end")
    // A distance filter contradicts a deferral.
    device.location.withManager { $0.distanceFilter = 10 }
    let refused = device.location.liveUpdates()
    device.location.allowDeferredLocationUpdates(untilTraveled: nil, timeout: 3)
    #expect(await first(refused) { $0.didFinishDeferredUpdates }.last?.deferralError == .distanceFiltered)
  }

  @Test func regionsReportEntriesToAHandler() async throws {
    let receiver = try receiver()
    let device = try device(receiver)
    try device.location.add(
      Region(
        identifier: "depot", center: Self.start.destination(distance: 150, bearing: 90), radius: 60))
    let seen = Locked<[RegionEvent]>([])
    let updates = try device.location.startMonitoringRegions { event in seen.withLock { $0.append(event) } }
    try device.start()
    try await eventually { device.location.state(of: "depot") == .outside }
    drive(receiver)
    try await eventually { seen.withLock { $0.count } == 2 }
    #expect(seen.withLock { $0.map(\.kind) } == [.enter, .exit])
    updates.stop()
    try await eventually { receiver.isUnwatched }
  }
}
