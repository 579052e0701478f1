import JSON
import Sensors
import Spatial
import Telemetry
import Testing
import VehicleData

@Suite struct MessageTests {
  private let time = UTCTime(nanoseconds: 1_795_248_930_125_000_000)

  @Test func unknownLocationFieldsAreOmitted() throws {
    var location = Location(
      timestamp: Timestamp(nanoseconds: 0),
      coordinate: Coordinate(latitude: 48.1635068, longitude: -11.5643883))
    location.speed = 13.25
    location.course = 308.3
    location.horizontalAccuracy = 2.5
    let message = LocationMessage(
      identity: MessageIdentity(epoch: "a1b2", seq: 7), time: time,
      location: PrivacyPolicy.unrestricted(location))
    let text = String(decoding: message.payload, as: UTF8.self)
    #expect(
      text == #"{"time":"2026-11-21T08:15:30.125Z","latitude":48.1635068,"longitude":-11.5643883,"#
        + #""horizontalAccuracy":2.5,"speed":13.25,"course":308.3,"epoch":"a1b2","seq":7}"#)
    let back = try LocationMessage(json: JSONValue(parsing: message.payload))
    #expect(back.identity == message.identity)
    #expect(back.time == time)
    #expect(back.location.coordinate == location.coordinate)
    #expect(back.location.speed == 13.25)
    #expect(back.location.altitude == nil)
  }

  @Test func coarseAndContradictedPositionsAreMarked() throws {
    var location = Location(
      timestamp: Timestamp(nanoseconds: 0), coordinate: Coordinate(latitude: 48, longitude: 11))
    location.positionSource = .coarse
    let coarse = LocationMessage(identity: nil, time: time, location: PrivacyPolicy.unrestricted(location))
      .payload
    #expect(!String(decoding: coarse, as: UTF8.self).contains("contradictsBeacons"))
    #expect(try LocationMessage(json: JSONValue(parsing: coarse)).location.positionSource == .coarse)
    (location.positionSource, location.contradictsBeacons) = (.gnss, true)
    let contradicted = LocationMessage(
      identity: nil, time: time, location: PrivacyPolicy.unrestricted(location)
    ).payload
    #expect(try LocationMessage(json: JSONValue(parsing: contradicted)).location.contradictsBeacons)
  }

  @Test(arguments: [
    (#"{"latitude":1,"longitude":2}"#, "key \"time\": missing"),
    (#"{"time":"yesterday","latitude":1,"longitude":2}"#, "key \"time\": \"yesterday\" is not"),
    (#"{"time":"2026-11-21T08:15:30Z","latitude":91,"longitude":2}"#, "key \"latitude\": 91.0 is not within"),
    (#"{"time":"2026-11-21T08:15:30Z","latitude":"1","longitude":2}"#, "key \"latitude\": not a number"),
    (#"{"time":"2026-11-21T08:15:30Z","latitude":1,"longitude":2,"speed":-1}"#, "key \"speed\": -1.0"),
    (#"[1]"#, "key \"latitude\": missing"),
  ])
  func invalidLocationNamesTheKey(text: String, problem: String) throws {
    let json = try JSONValue(parsing: Array(text.utf8))
    do {
      _ = try LocationMessage(json: json)
      Issue.record("expected an error for \(text)")
    } catch {
      #expect(error.description.hasPrefix(problem), "\(error)")
    }
  }

  @Test func statusRoundTrips() throws {
    var status = StatusMessage(state: .online, time: time, sessionStart: time)
    status.identity = MessageIdentity(epoch: "e", seq: 1)
    status.version = "1.0"
    status.uptime = 12.5
    status.sources = [
      .init(name: "gpsd", state: "unavailable", reason: "connection refused"),
      .init(name: "iio", state: "active", rates: ["gyroscope": 104]),
    ]
    status.counters = ["fixes": 3, "dropped.live": 0]
    status.authorization = "authorized"
    status.services = ["location": "available", "heading": "no \"magnetometer\""]
    #expect(try StatusMessage(json: JSONValue(parsing: status.payload)) == status)
  }

  @Test func willMessageHasItsFlag() throws {
    let will = StatusMessage(state: .offline, time: time, sessionStart: time, isWill: true)
    let back = try StatusMessage(json: JSONValue(parsing: will.payload))
    #expect(back.isWill && back.state == .offline)
  }

  @Test func attitudeAndHeadingRoundTrip() throws {
    var attitude = AttitudeMessage(
      time: time, frame: .xTrueNorthZVertical,
      attitude: Attitude(quaternion: Quaternion(angle: 0.5, axis: Vector3(1, 2, 3))))
    attitude.rotationRate = Vector3(0.1, -0.2, 0.3)
    let back = try AttitudeMessage(json: JSONValue(parsing: attitude.payload))
    let (told, meant) = (try #require(back.attitude), try #require(attitude.attitude))
    #expect((told.quaternion.conjugate * meant.quaternion).angle < 2e-6)
    #expect(back.rotationRate == attitude.rotationRate)
    #expect(back.frame == .xTrueNorthZVertical)
    #expect(back.gravity == nil)
    var heading = HeadingMessage(time: time, magneticHeading: 359.99, trueHeading: 3.2, headingAccuracy: 5)
    #expect(String(decoding: heading.payload, as: UTF8.self).hasSuffix(#""cardinalPoint":"N"}"#))
    #expect(try HeadingMessage(json: JSONValue(parsing: heading.payload)) == heading)
    (heading.compass.isCalibrationWanted, heading.contradictsCourse) = (true, true)
    #expect(try HeadingMessage(json: JSONValue(parsing: heading.payload)) == heading)
    heading.compass.magneticField = Vector3(20.1, -3.4, 44)
    heading.compass.instruction = "drive a circle"
    for level in MagneticFieldCalibrationAccuracy.allCases {
      heading.compass.calibration = level
      #expect(try HeadingMessage(json: JSONValue(parsing: heading.payload)) == heading)
    }
    #expect(
      String(decoding: heading.payload, as: UTF8.self).contains(
        #""magneticField":[20.1,-3.4,44],"calibration":"high","calibrationWanted":true,"#
          + #""calibrationInstruction":"drive a circle""#))
    var status = StatusMessage(state: .online, time: time, sessionStart: time)
    status.compass = heading.compass
    #expect(try StatusMessage(json: JSONValue(parsing: status.payload)) == status)
  }

  @Test func locationEventRoundTrips() throws {
    var message = LocationEventMessage(
      time: time, event: .failed, error: "positionUnknown", reason: "no fix", remedy: "look up")
    message.suppressed = 3
    #expect(try LocationEventMessage(json: JSONValue(parsing: message.payload)) == message)
    let unknown = try LocationEventMessage(
      json: JSONValue(parsing: Array(#"{"time":"\#(time.rfc3339)","event":"future","error":7}"#.utf8)))
    #expect(unknown.event == .other("future") && unknown.error == nil)
    #expect(throws: JSONError.self) { try LocationEventMessage(json: JSONValue(parsing: Array("{}".utf8))) }
  }

  @Test func lineIsOneJSONObject() throws {
    let message = Publication(
      topic: "a/\"b\"", payload: Array("{\"x\":1}".utf8), lane: .events, retain: true)
    #expect(
      String(decoding: message.line(identity: nil), as: UTF8.self)
        == #"{"topic":"a/\"b\"","qos":1,"retain":true,"payload":{"x":1}}"#)
  }

  @Test func sharedReasonIsListedOnce() throws {
    var status = StatusMessage(
      state: .online, time: UTCTime(nanoseconds: 0), sessionStart: UTCTime(nanoseconds: 0))
    let reason = "no accelerometer and no gyroscope; attach them"
    for name in ["activity", "attitude", "gravity", "impact", "shake"] { status.services[name] = reason }
    status.services["location"] = "available"
    status.services["altitude"] = "available"
    let text = String(decoding: status.payload, as: UTF8.self)
    #expect(text.ranges(of: reason).count == 1)
    #expect(text.contains(#""activity":"see attitude","altitude":"available","attitude":"no accelerometer"#))
    #expect(try StatusMessage(json: JSONValue(parsing: status.payload)).services == status.services)
  }
}
