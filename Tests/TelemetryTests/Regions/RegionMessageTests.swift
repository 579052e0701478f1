import JSON
import Spatial
import Telemetry
import Testing
import VehicleData

@Suite struct RegionMessageTests {
  private let time = UTCTime(nanoseconds: 1_795_248_930_125_000_000)

  private var event: RegionEvent {
    RegionEvent(
      kind: .enter, identifier: "depot \"north\"", timestamp: Timestamp(seconds: 5), time: time,
      coordinate: Coordinate(latitude: 48.1, longitude: -11.25), horizontalAccuracy: 3.456,
      confidence: 0.9991234)
  }

  @Test func payloadMatchesTheContract() throws {
    var message = RegionMessage(
      identity: MessageIdentity(epoch: "e", seq: 3), time: time, event: event,
      at: PrivacyPolicy.unrestricted(event.coordinate))
    #expect(
      String(decoding: message.payload, as: UTF8.self)
        == #"{"time":"2026-11-21T08:15:30.125Z","event":"enter","region":"depot \"north\"","latitude":48.1,"longitude":-11.25,"horizontalAccuracy":3.46,"confidence":0.999123,"epoch":"e","seq":3}"#
    )
    message.horizontalAccuracy = 3.46
    message.confidence = 0.999123
    #expect(try RegionMessage(json: JSONValue(parsing: message.payload)) == message)
  }

  @Test(arguments: RegionEvent.Kind.allCases)
  func roundTripsLateAndWithoutAccuracy(kind: RegionEvent.Kind) throws {
    var event = event
    (event.kind, event.horizontalAccuracy, event.isLate, event.confidence) = (kind, nil, true, 1)
    let message = RegionMessage(
      time: time, event: event, at: PrivacyPolicy.unrestricted(event.coordinate))
    #expect(String(decoding: message.payload, as: UTF8.self).contains(#""late":true"#))
    #expect(try RegionMessage(json: JSONValue(parsing: message.payload)) == message)
  }

  @Test(arguments: [
    (#"{"event":"enter","region":"a","latitude":1,"longitude":2}"#, "key \"time\""),
    (
      #"{"time":"2026-11-21T08:15:30Z","event":"leave","region":"a"}"#,
      "key \"event\": \"leave\" is not one of enter"
    ),
    (#"{"time":"2026-11-21T08:15:30Z","event":"exit"}"#, "key \"region\""),
    (#"{"time":"2026-11-21T08:15:30Z","event":"exit","region":""}"#, "key \"region\""),
    (
      #"{"time":"2026-11-21T08:15:30Z","event":"exit","region":"a","longitude":2}"#,
      "key \"latitude\": missing"
    ),
    (
      #"{"time":"2026-11-21T08:15:30Z","event":"exit","region":"a","latitude":1,"longitude":2,"confidence":2}"#,
      "key \"confidence\": 2"
    ),
  ])
  func invalidMessageNamesTheKey(text: String, problem: String) throws {
    let json = try JSONValue(parsing: Array(text.utf8))
    do {
      _ = try RegionMessage(json: json)
      Issue.record("expected an error for \(text)")
    } catch {
      #expect(error.description.hasPrefix(problem), "\(error)")
    }
  }
}
