import JSON
import Spatial
import Telemetry
import Testing
import VehicleData

@Suite struct RegionsStateMessageTests {
  private static let time = UTCTime(nanoseconds: 1_795_248_930_925_000_000)

  private func text(_ message: RegionsStateMessage) -> String {
    String(decoding: message.payload, as: UTF8.self)
  }

  private func many(_ count: Int, length: Int = 8) -> [RegionStatus] {
    (0..<count).map { index in
      let name = "r\(index)"
      return RegionStatus(
        identifier: name + String(repeating: "x", count: max(0, length - name.utf8.count)), state: .outside)
    }
  }

  @Test func unknownValuesAreOmitted() {
    let message = RegionsStateMessage(
      identity: MessageIdentity(epoch: "e", seq: 4), time: Self.time, source: .remote, count: 2,
      regions: [
        RegionStatus(identifier: "depot", state: .inside, since: Self.time, desiredAccuracy: 7.5),
        RegionStatus(identifier: "yard", state: .unknown),
      ])
    let time = "2026-11-21T08:15:30.925Z"
    #expect(
      text(message)
        == #"{"time":"\#(time)","source":"remote","count":2,"regions":[{"region":"depot","state":"inside","since":"\#(time)","desiredAccuracy":7.5},{"region":"yard","state":"unknown"}],"epoch":"e","seq":4}"#
    )
    let none = RegionsStateMessage(time: Self.time, source: nil, count: 0, regions: [])
    #expect(text(none) == #"{"time":"\#(time)","count":0,"regions":[]}"#)
  }

  /// The size has an upper limit for any number of regions and any length of name; omitted regions are counted.
  @Test(arguments: [(200, 8, 200), (201, 8, 200), (100_000, 8, 200), (200, 100, 163), (3, 20_000, 0)])
  func sizeIsBounded(count: Int, length: Int, listed: Int) throws {
    let message = RegionsStateMessage(
      time: Self.time, source: .file, count: count, regions: many(min(count, 300), length: length))
    #expect(message.regions.count == listed && message.omitted == count - listed)
    #expect(message.payload.count < 40_000)
    let read = try RegionsStateMessage(json: JSONValue(parsing: message.payload))
    #expect(read == message)
    #expect(text(message).contains(#""omitted":\#(count - listed),"#) == (count > listed))
  }

  @Test(arguments: [
    ("{}", "key \"regions\": missing"), (#"{"regions":[{"state":"inside"}]}"#, "regions[0].region"),
    (#"{"regions":[{"region":"a","state":"gone"}]}"#, "not one of unknown, inside, outside"),
    (#"{"regions":[]}"#, "time"),
  ])
  func errorsNameTheKey(text: String, cause: String) throws {
    let error = try #require(throws: JSONError.self) {
      try RegionsStateMessage(json: JSONValue(parsing: Array(text.utf8)))
    }
    #expect("\(error)".contains(cause), "\(error)")
  }
}
