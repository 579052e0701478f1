import JSON
import Recordings
import Sensors
import Spatial
import Telemetry
import TestSupport
import Testing
import VehicleData

@Suite struct TrackMessageTests {
  private let time = UTCTime(nanoseconds: 1_795_248_930_125_000_000)

  /// Example of the polyline format's documentation by Google, precision 5.
  @Test func pointsAreEncodedAsPolyline() throws {
    let places = [(38.5, -120.2), (40.7, -120.95), (43.252, -126.453)]
    let fixes = places.enumerated().map { index, place in
      TrackMessage.Fix(
        time: time.advanced(bySeconds: Double(index)),
        coordinate: PrivacyPolicy.unrestricted(Coordinate(latitude: place.0, longitude: place.1)),
        horizontalAccuracy: index == 1 ? nil : 2.5)
    }
    let message = TrackMessage(
      identity: MessageIdentity(epoch: "e", seq: 3), fixes: fixes, precision: 5, bound: 10)
    #expect(
      String(decoding: message.payload, as: UTF8.self)
        == #"{"time":"2026-11-21T08:15:30.125Z","count":3,"precision":5,"bound":10,"#
        + #""points":"_p~iF~ps|U_ulLnnqC_mqNvxq`@","times":"?o}@?","accuracies":"s@r@s@","epoch":"e","seq":3}"#
    )
    #expect(try TrackMessage(json: JSONValue(parsing: message.payload)) == message)
  }

  @Test func altitudesAndSpeedsAreSeparateLists() throws {
    let values: [(Double?, Double?)] = [
      (-9999.9, 0), (nil, 13.37), (520.3, nil), (2e5, -1), (99_999.9, 10_000),
    ]
    let fixes = values.enumerated().map { index, value in
      TrackMessage.Fix(
        time: time.advanced(bySeconds: Double(index)),
        coordinate: PrivacyPolicy.unrestricted(Coordinate(latitude: 48, longitude: 11)),
        altitude: value.0, speed: value.1)
    }
    let message = TrackMessage(identity: nil, fixes: fixes)
    let text = String(decoding: message.payload, as: UTF8.self)
    #expect(text.hasSuffix(#""altitudes":"CBgnlEfnlE_mcbA","speeds":"AqrArrA?ac`|@"}"#), "\(text)")
    let back = try TrackMessage(json: JSONValue(parsing: message.payload)).fixes
    // Values out of range are read as nil.
    #expect(back.map(\.altitude) == [-9999.9, nil, 520.3, nil, 99_999.9])
    #expect(back.map(\.speed) == [0, 13.37, nil, nil, 10_000])
  }

  @Test func emptyTrackRoundTrips() throws {
    let message = TrackMessage(identity: nil, fixes: [])
    let back = try TrackMessage(json: JSONValue(parsing: message.payload))
    #expect(back.fixes.isEmpty && back.bound == nil && back.precision == 7)
  }

  @Test(arguments: [
    (#""precision":9,"points":"??","times":"?""#, "key \"precision\": 9.0 is not within"),
    (#""precision":5,"times":"?""#, "key \"points\": missing"),
    (#""precision":5,"points":"?","times":"?""#, "key \"points\": does not contain 1 values"),
    (#""precision":5,"points":"???","times":"?""#, "key \"points\": does not contain 1 values"),
    (#""precision":5,"points":"_?","times":"?""#, "key \"points\": does not contain 1 values"),
    (#""precision":5,"points":"?_","times":"?""#, "key \"points\": invalid encoding"),
    (#""precision":5,"points":"?!","times":"?""#, "key \"points\": invalid encoding"),
    (#""precision":1,"points":"~~~~?","times":"?""#, "key \"points\": does not contain 1 values"),
    (#""precision":1,"points":"_~~~?","times":"?""#, "key \"points\": "),
    (#""precision":5,"points":"??","times":"~~~~~~~~~~~~~~?""#, "key \"times\": invalid encoding"),
    (#""precision":5,"points":"??","times":"?","accuracies":"??""#, "key \"accuracies\": does not contain"),
  ])
  func invalidTrackNamesTheKey(members: String, problem: String) throws {
    let text = #"{"time":"2026-11-21T08:15:30Z","count":1,"# + members + "}"
    let json = try JSONValue(parsing: Array(text.utf8))
    do {
      _ = try TrackMessage(json: json)
      Issue.record("expected an error for \(text)")
    } catch {
      #expect(error.description.hasPrefix(problem), "\(error)")
    }
  }

  @Test(.needs(.recordings("tracks")), arguments: ["mtv_ublox_f9k_slim2025.nmea", "munich_2025.nmea"])
  func recordedDriveTakesAtMost12BytesPerFix(name: String) throws {
    var recording = try NMEARecording(path: Shared.file("data/tracks/\(name)"))
    var fixes: [TrackMessage.Fix] = []
    while let event = try recording.next() {
      guard case .position(let block) = event else { continue }
      for fix in block {
        guard let coordinate = fix.coordinate, let time = fix.time else { continue }
        let accuracy = (fix.horizontalDilution ?? 1) * 2.5
        fixes.append(
          .init(time: time, coordinate: PrivacyPolicy.unrestricted(coordinate), horizontalAccuracy: accuracy))
      }
    }
    for batch in stride(from: 0, to: fixes.count - 120, by: 120).map({ Array(fixes[$0..<($0 + 120)]) }) {
      let message = TrackMessage(identity: MessageIdentity(epoch: "a1b2c3d4", seq: 1_000_000), fixes: batch)
      let payload = message.payload
      #expect(payload.count <= 12 * batch.count, "\(Double(payload.count) / Double(batch.count)) bytes a fix")
      let back = try TrackMessage(json: JSONValue(parsing: payload))
      #expect(back.fixes.count == batch.count)
      for (a, b) in zip(back.fixes, batch) {
        #expect(a.time == b.time)
        #expect(a.coordinate.distance(to: b.coordinate) <= TrackMessage.roundingError(precision: 7))
        let (kept, given) = (a.horizontalAccuracy ?? -1, b.horizontalAccuracy ?? -1)
        #expect(kept >= given - 1e-6 && kept < given + 0.1)
      }
    }
  }

  @Test func predictionRoundTripsWithTheReport() throws {
    var location = Location(
      timestamp: Timestamp(nanoseconds: 0), coordinate: Coordinate(latitude: 48, longitude: 11))
    location.speed = 13
    let report = ReportPredictor(
      moment: Timestamp(nanoseconds: time.nanoseconds),
      coordinate: Coordinate(latitude: 48.00001234, longitude: 11.00004321), velocity: SIMD2(-3.125, 12.5),
      bound: 20, delay: 5)
    let message = LocationMessage(
      identity: nil, time: time, location: PrivacyPolicy.unrestricted(location), report: report)
    #expect(
      String(decoding: message.payload, as: UTF8.self)
        == #"{"time":"2026-11-21T08:15:30.125Z","latitude":48.00001234,"longitude":11.00004321,"speed":13,"#
        + #""predict":{"velocityEast":-3.125,"velocityNorth":12.5,"bound":20,"delay":5}}"#)
    #expect(try LocationMessage(json: JSONValue(parsing: message.payload)).predictor == report)
    // Later versions add `validity` and `growth`.
    var dated = report
    (dated.validity, dated.growth) = (1.5, 102.25)
    let again = LocationMessage(
      identity: nil, time: time, location: PrivacyPolicy.unrestricted(location), report: dated)
    #expect(
      String(decoding: again.payload, as: UTF8.self)
        .hasSuffix(#""bound":20,"delay":5,"validity":1.5,"growth":102.25}}"#))
    #expect(try LocationMessage(json: JSONValue(parsing: again.payload)).predictor == dated)
  }
}
