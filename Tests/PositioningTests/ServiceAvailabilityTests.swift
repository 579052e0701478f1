import Positioning
import Sensors
import Testing

@Suite struct ServiceAvailabilityTests {
  @Test(
    arguments: [
      (true, nil, AuthorizationStatus.notDetermined), (true, [:], .authorized), (false, nil, .denied),
      (false, [:], .denied), (true, ["/dev/ttyUSB0": .positioning], .restricted),
      // Motion sensors are not part of location.
      (true, ["/dev/iio:device0": nil], .authorized),
    ] as [(Bool, [String: SensorKind?]?, AuthorizationStatus)])
  func authorization(isEnabled: Bool, denied: [String: SensorKind?]?, status: AuthorizationStatus) {
    let services = ServiceAvailability(isLocationEnabled: isEnabled, deniedNodes: denied)
    #expect(services.authorizationStatus == status)
  }

  @Test func everyServiceIsAvailableOrHasAReason() {
    let all = ServiceAvailability(deniedNodes: [:])
    #expect(LocationService.allCases.allSatisfy(all.isAvailable))

    let off = ServiceAvailability(isLocationEnabled: false, deniedNodes: [:])
    #expect(
      LocationService.allCases.filter { !off.isAvailable($0) }
        == [.location, .deferredUpdates, .significantChanges, .regions])
    #expect(off.reason(against: .regions)?.contains("location.enabled") == true)

    let blind = ServiceAvailability(
      deniedNodes: [:], unavailable: [.positioning: "no receiver", .magnetometer: "no magnetometer"])
    #expect(blind.reason(against: .location) == "no receiver")
    #expect(blind.reason(against: .heading) == "no magnetometer" && blind.isAvailable(.motionActivity))

    let locked = ServiceAvailability(deniedNodes: ["/dev/iio:device1": nil, "/dev/iio:device0": nil])
    #expect(locked.isAvailable(.location))
    #expect(locked.reason(against: .motionActivity)?.contains("/dev/iio:device0") == true)
    #expect(locked.reason(against: .heading) != nil)
  }
}
