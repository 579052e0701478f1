import AgentCore
import JSON
import Testing

/// Lines of `odographd status` for orientation, level and other values.
@Suite struct StatusTextTests {
  private func lines(_ status: String) throws -> [String] {
    let motion = #"{"frame":"xMagneticNorthZVertical","attitude":true,"atRest":true}"#
    let text = #"{"vehicle":"van","version":"1","motion":\#(motion),"status":{\#(status)}}"#
    return StatusText.lines(try JSONValue(parsing: Array(text.utf8)))
  }

  @Test func levelAndOrientationAreShown() throws {
    let shown = try lines(#""orientation":"faceUp","level":{"tilt":20.01,"gravity":[0,0.34,-0.94]}"#)
    #expect(
      shown.contains("attitude      known, in xMagneticNorthZVertical, at rest, faceUp")
        && shown.contains("level         the device's tilt of 20.01° is removed"), "\(shown)")
  }

  @Test func presetIsShownWithTheVehicle() throws {
    let text = #"{"vehicle":"f/van","preset":"truck","version":"1"}"#
    let shown = StatusText.lines(try JSONValue(parsing: Array(text.utf8)))
    #expect(shown.first == "agent         f/van, preset truck, version 1")
  }

  @Test func vehicleBusIsShown() throws {
    let time = #""time":"2026-11-23T08:00:00.000Z""#
    let bus =
      #"{\#(time),"signals":{"Vehicle.Speed":{"value":52.31,\#(time)},"Vehicle.IsMoving":{"value":true,\#(time)}}}"#
    let text = #"{"vehicle":"f/van","version":"1","bus":\#(bus)}"#
    let shown = StatusText.lines(try JSONValue(parsing: Array(text.utf8)))
    #expect(shown.contains("vehicle bus   IsMoving true, Speed 52.3"), "\(shown)")
    #expect(try !lines(#""uptime":1"#).contains { $0.hasPrefix("vehicle bus") })
  }

  @Test func reasonForMissingPositionsIsShown() throws {
    let status = #""authorization":"authorized","services":{"location":"the receiver has no fix"}"#
    #expect(try lines(status).contains("location      none yet, authorized: the receiver has no fix"))
    let available = #""authorization":"authorized","services":{"location":"available"}"#
    #expect(try lines(available).contains("location      none yet, authorized"))
  }

  @Test func fullDiskIsAWarning() {
    #expect(EnvironmentCheck.space(in: "/x", free: 4096).map(\.severity) == [.warning])
    #expect(EnvironmentCheck.space(in: "/x", free: 1 << 30).isEmpty)
    #expect(EnvironmentCheck.space(in: "/x", free: nil).isEmpty)
  }

  @Test func odometerIsShown() throws {
    let shown = try lines(#""odometer":48213406,"odometerEstimated":1280,"odometerDisagreement":0.061"#)
    #expect(
      shown.contains("odometer      48213.4 km, 1.3 km of it estimated, the vehicle's own says 6.1 % less"),
      "\(shown)")
    #expect(try !lines(#""uptime":1"#).contains { $0.hasPrefix("odometer") })
  }

  @Test func missingValuesAreNotShown() throws {
    let shown = try lines(#""uptime":1"#)
    #expect(shown.contains("attitude      known, in xMagneticNorthZVertical, at rest"), "\(shown)")
    #expect(!shown.contains { $0.hasPrefix("level") })
  }

  @Test func servicesForOtherProgramsAreShown() throws {
    let service = #"{"service":"nmea 127.0.0.1:1","connections":3,"watching":2,"refused":0,"dropped":7}"#
    let text = #"{"vehicle":"f/v","version":"1","local":[\#(service)],"localReceiverSeconds":130}"#
    let shown = StatusText.lines(try JSONValue(parsing: Array(text.utf8)))
    #expect(
      shown.contains("local         nmea 127.0.0.1:1: 3 connected, 2 watching, 7 reports dropped"), "\(shown)"
    )
    #expect(shown.contains("local         the receiver was required for 2 min"), "\(shown)")
  }

  @Test func orientationOnDBusIsShown() throws {
    for (proxy, row) in [
      (
        #"{"connected":true,"accelerometer":2,"compass":0}"#,
        "local         D-Bus: accelerometer claimed by 2, compass claimed by 0"
      ),
      (
        #"{"connected":false,"accelerometer":0,"compass":0,"problem":"no bus is running"}"#,
        "local         D-Bus: no bus is running"
      ),
    ] {
      let text = #"{"vehicle":"f/v","version":"1","sensorProxy":\#(proxy)}"#
      let shown = StatusText.lines(try JSONValue(parsing: Array(text.utf8)))
      #expect(shown.contains(row), "\(shown)")
    }
  }
}
