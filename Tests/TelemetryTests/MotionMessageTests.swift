import JSON
import Spatial
import Telemetry
import Testing
import VehicleData

@Suite struct MotionMessageTests {
  private let time = UTCTime(nanoseconds: 1_795_248_930_125_000_000)

  @Test(arguments: [
    (MotionMessage.Event.shake(.began, axis: nil), #""event":"shake","phase":"began""#),
    (.shake(.ended, axis: .horizontal), #""event":"shake","phase":"ended","axis":"horizontal""#),
    (.shake(.cancelled, axis: .vertical), #""event":"shake","phase":"cancelled","axis":"vertical""#),
    (
      .impact(side: .front, peak: 4.25, direction: Vector3(0, 1, 0)),
      #""event":"impact","side":"front","peak":4.25,"direction":[0,1,0]"#
    ),
    (.orientation(.landscapeLeft), #""event":"orientation","orientation":"landscapeLeft""#),
    (.activity(.stationary), #""event":"stationary""#),
    (.activity(.moving), #""event":"moving""#),
    // An event of a later version.
    (.other("dance"), #""event":"dance""#),
  ])
  func roundTrips(event: MotionMessage.Event, text: String) throws {
    let message = MotionMessage(identity: MessageIdentity(epoch: "e", seq: 3), time: time, event: event)
    #expect(
      String(decoding: message.payload, as: UTF8.self)
        == #"{"time":"2026-11-21T08:15:30.125Z","# + text + #","epoch":"e","seq":3}"#)
    #expect(try MotionMessage(json: JSONValue(parsing: message.payload)) == message)
  }

  @Test(arguments: [
    (#"{"event":"shake","phase":"began"}"#, "key \"time\""),
    (#"{"time":"2026-11-21T08:15:30Z"}"#, "key \"event\""),
    (
      #"{"time":"2026-11-21T08:15:30Z","event":"shake","phase":"middle"}"#,
      "key \"phase\": must be one of began"
    ),
    (#"{"time":"2026-11-21T08:15:30Z","event":"impact","side":"front"}"#, "key \"peak\": missing"),
    (#"{"time":"2026-11-21T08:15:30Z","event":"impact","side":"front","peak":-1}"#, "key \"peak\": -1"),
  ])
  func invalidMessageNamesTheKey(text: String, problem: String) throws {
    let json = try JSONValue(parsing: Array(text.utf8))
    do {
      _ = try MotionMessage(json: json)
      Issue.record("expected an error for \(text)")
    } catch {
      #expect(error.description.hasPrefix(problem), "\(error)")
    }
  }
}
