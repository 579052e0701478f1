import Navigation
import Sensors
import Spatial
import Testing

/// Text format of the odometer's state, and synchronization with the vehicle's own odometer.
@Suite struct OdometerStateTests {
  private let state = OdometerState(
    distance: 48_213_406.25, estimated: 1280.5, offset: -17.125,
    place: .init(coordinate: Coordinate(latitude: 48.123456789, longitude: -11.5), radius: 2.5),
    velocity: SIMD2(-3.25, 12.5), time: UTCTime(nanoseconds: 1_795_248_000_123_456_789),
    reported: 48_213_380.5)

  @Test func stateRoundTripsExactly() throws {
    #expect(try OdometerState(text: state.text) == state)
    let bare = OdometerState(distance: 3)
    #expect(try OdometerState(text: bare.text) == bare)
  }

  @Test func damagedTextNamesItsLine() throws {
    let text = state.text
    for index in text.indices {
      var damaged = text
      damaged.replaceSubrange(index...index, with: text[index] == "7" ? "8" : "7")
      #expect(throws: StoredStateError.self) { try OdometerState(text: damaged) }
    }
    for count in 0..<text.count {
      #expect(throws: StoredStateError.self) { try OdometerState(text: String(text.prefix(count))) }
    }
    #expect(throws: StoredStateError.self) {
      try OdometerState(text: OdometerState(distance: 3, estimated: 4).text)
    }
    do {
      _ = try OdometerState(text: OdometerState(distance: .nan).text)
      Issue.record("NaN was accepted")
    } catch {
      #expect(error.description.hasPrefix("line 2: ") && error.description.contains("set-odometer"))
    }
  }

  /// Drives the given distance at 20 m/s.
  private func drive(_ odometer: inout Odometer, metres: Double, from start: inout Double) {
    for _ in 0..<Int(metres / 20) {
      odometer.process(
        OdometerSample(
          timestamp: Timestamp(seconds: 100 + start), coordinate: Coordinate(latitude: 48, longitude: 11),
          accuracy: 3, speed: 20, course: 0))
      start += 1
    }
  }

  @Test func vehicleOdometerIsFollowedBetweenItsSteps() {
    var (odometer, vehicle, time) = (Odometer(), VehicleOdometer(), 0.0)
    // A single reading that differs by far can be an error; a second, equal reading is accepted.
    vehicle.process(metres: 84_200_000, step: 100, &odometer)
    #expect(odometer.reading == 0)
    vehicle.process(metres: 84_200_000, step: 100, &odometer)
    #expect(odometer.reading == 84_200_050)
    for kilometre in 1...40 {
      drive(&odometer, metres: 1000, from: &time)
      vehicle.process(metres: 84_200_000 + 1000 * Double(kilometre), step: 100, &odometer)
      let passed = odometer.reading - (84_200_000 + 1000 * Double(kilometre))
      #expect(passed >= 0 && passed <= 100)
    }
    #expect(vehicle.disagreement == nil)
  }

  /// With tyres of another size, the vehicle's odometer is followed, and its disagreement is reported.
  @Test func disagreementIsReported() throws {
    var (odometer, vehicle, time) = (Odometer(), VehicleOdometer(), 0.0)
    for kilometre in 0...11 {
      vehicle.process(metres: 920 * Double(kilometre), step: 5, &odometer)
      drive(&odometer, metres: 1000, from: &time)
    }
    let disagreement = try #require(vehicle.disagreement)
    #expect(abs(disagreement - 0.087) < 0.005)
    #expect(odometer.reading < 920 * 12 + 100)
    // Invalid readings are ignored. A replaced instrument is followed from its second reading on.
    let before = vehicle
    for metres in [Double.nan, -1, 1e12] { vehicle.process(metres: metres, step: 5, &odometer) }
    #expect(vehicle == before)
    let reading = odometer.reading
    vehicle.process(metres: 5, step: 5, &odometer)
    #expect(odometer.reading == reading)
    vehicle.process(metres: 5, step: 5, &odometer)
    #expect(odometer.reading == 10)
  }
}
