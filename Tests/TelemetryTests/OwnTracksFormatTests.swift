import JSON
import Sensors
import Spatial
import Telemetry
import Testing
import VehicleData

@Suite struct OwnTracksFormatTests {
  private static let time = UTCTime(nanoseconds: 1_795_248_930_925_000_000)

  private func format() throws -> OwnTracksFormat {
    OwnTracksFormat(topics: try OwnTracksTopics(user: "fleet", device: "van-1"), trackerID: "v1")
  }

  private func text(_ publication: Publication?) -> String {
    publication.map { String(decoding: $0.payload(identity: nil), as: UTF8.self) } ?? "nothing"
  }

  @Test func locationIsEncodedAsOwnTracksLocation() throws {
    var format = try format()
    var location = Location(
      timestamp: Timestamp(nanoseconds: 0),
      coordinate: Coordinate(latitude: 48.16350684, longitude: -11.5643883))
    location.speed = 13.25
    location.course = 359.7
    location.horizontalAccuracy = 2.1
    location.verticalAccuracy = 4
    location.altitude = 517.4
    let message = LocationMessage(
      identity: nil, time: Self.time, location: PrivacyPolicy.unrestricted(location))
    let publications = format.encode(.location(message))
    #expect(publications.count == 1 && publications.first?.topic == "owntracks/fleet/van-1")
    #expect(publications.first?.qos == 1 && publications.first?.retain == true)
    // 13.25 m/s are 47.7 km/h. The accuracy is rounded up, and 359.7° is rounded to 0.
    #expect(
      text(publications.first)
        == #"{"_type":"location","lat":48.1635068,"lon":-11.5643883,"tst":1795248930,"acc":3,"#
        + #""alt":517,"vac":4,"vel":48,"cog":0,"tid":"v1","t":"t"}"#)
    #expect(text(format.encode(.location(message) as OwnTracksAnswer).first).contains(#""t":"r""#))
    #expect(format.encode(.location(nil)).isEmpty)
  }

  /// Standard OwnTracks clients read the radius; Odograph's decoder also reads that the position is not a fix.
  @Test func coarsePositionIsDistinguishedFromAFix() throws {
    var format = try format()
    var location = Location(
      timestamp: Timestamp(nanoseconds: 0), coordinate: Coordinate(latitude: 48, longitude: 11))
    location.horizontalAccuracy = 420
    location.positionSource = .coarse
    let message = LocationMessage(
      identity: nil, time: Self.time, location: PrivacyPolicy.unrestricted(location))
    let payload = text(format.encode(.location(message)).first)
    #expect(payload.contains(#""acc":420"#) && payload.contains(#""positionSource":"coarse""#))
    let json = try JSONValue(parsing: Array(payload.utf8))
    guard case .location(let read) = try OwnTracksFormat.decode(json) else {
      Issue.record("no location")
      return
    }
    #expect(read.location.positionSource == .coarse)
  }

  /// The OwnTracks Recorder crashes on a transition without `desc`.
  @Test(arguments: [
    (
      #""event":"enter","region":"depot","name":"The depot","defined":"2026-01-02T03:04:05.678Z""#, "enter",
      "The depot", 1_767_323_045
    ),
    (#""event":"exit","region":"depot""#, "leave", "depot", 0),
  ])
  func regionEventBecomesTransitionWithRegionName(
    fields: String, event: String, name: String, waypointTime: Int
  ) throws {
    var format = try format()
    let json =
      #"{"time":"2026-11-21T08:15:30.925Z",\#(fields),"latitude":48.5,"longitude":11.5,"#
      + #""horizontalAccuracy":7.2}"#
    let publications = format.encode(.region(try RegionMessage(json: JSONValue(parsing: Array(json.utf8)))))
    #expect(publications.first?.topic == "owntracks/fleet/van-1/event" && publications.first?.retain == false)
    #expect(
      text(publications.first)
        == #"{"_type":"transition","wtst":\#(waypointTime),"tst":1795248930,"event":"\#(event)","acc":8,"#
        + #""desc":"\#(name)","lat":48.5,"lon":11.5,"tid":"v1","t":"c","rid":"depot"}"#)
    let location = Location(
      timestamp: Timestamp(nanoseconds: 0), coordinate: Coordinate(latitude: 48.5, longitude: 11.5))
    let after = format.encode(
      .location(
        LocationMessage(
          identity: nil, time: Self.time.advanced(bySeconds: 1),
          location: PrivacyPolicy.unrestricted(location))))
    let names = #""inregions":["The depot"],"inrids":["depot"]"#
    #expect(text(after.first).contains(names) == (event == "enter"))
  }

  @Test func trackBecomesUnretainedLocations() throws {
    var format = try format()
    let fixes = (0..<3).map {
      TrackMessage.Fix(
        time: Self.time.advanced(bySeconds: Double($0)),
        coordinate: PrivacyPolicy.unrestricted(Coordinate(latitude: 48, longitude: 11)))
    }
    let publications = format.encode(.track(TrackMessage(identity: nil, fixes: fixes)))
    #expect(
      publications.count == 3 && publications.allSatisfy { !$0.retain && $0.topic == "owntracks/fleet/van-1" }
    )
    #expect(text(publications.last).contains(#""tst":1795248932"#))
    // A position without an accuracy must not count as exact.
    #expect(text(publications.last).contains(#""acc":1000,"#))
  }

  @Test func transitionsAndLocationsHaveTheSameUnstatedAccuracy() throws {
    var format = try format()
    let json =
      #"{"time":"2026-11-21T08:15:30.925Z","event":"enter","region":"depot","latitude":48,"longitude":11}"#
    let publications = format.encode(.region(try RegionMessage(json: JSONValue(parsing: Array(json.utf8)))))
    #expect(text(publications.first).contains(#""event":"enter","acc":1000,"#))
  }

  @Test func lastStatusBecomesLastWill() throws {
    var format = try format()
    func status(_ state: StatusMessage.State) -> VehicleMessage {
      .status(StatusMessage(state: state, time: Self.time, sessionStart: Self.time))
    }
    #expect(format.encode(status(.online)).isEmpty)
    let last = format.encode(status(.offline))
    #expect(text(last.first) == #"{"_type":"lwt","tst":1795248930}"#)
    #expect(last.first?.topic == "owntracks/fleet/van-1" && last.first?.retain == false)
  }

  @Test(arguments: [
    (#"{"_type":"cmd","action":"reportLocation"}"#, OwnTracksCommand.reportLocation),
    (#"{"_type":"cmd","action":"dump","extra":1}"#, .dump),
    (
      #"{"_type":"cmd","action":"setWaypoints","waypoints":{"_type":"waypoints","waypoints":[{"_type":"waypoint","desc":"A","lat":1,"lon":2,"rad":30,"tst":5}]}}"#,
      .setWaypoints([
        OwnTracksWaypoint(
          description: "A", coordinate: Coordinate(latitude: 1, longitude: 2), radius: 30,
          time: UTCTime(nanoseconds: 5_000_000_000), regionID: "A")
      ])
    ),
  ])
  func readsCommands(text: String, command: OwnTracksCommand) throws {
    #expect(try OwnTracksCommand(json: JSONValue(parsing: Array(text.utf8))) == command)
  }

  @Test(arguments: [
    (#"{"action":"dump"}"#, "key \"_type\""), (#"{"_type":"cmd"}"#, "key \"action\": \"\" is not one of"),
    (#"{"_type":"cmd","action":"setWaypoints"}"#, "key \"waypoints\""),
    (
      #"{"_type":"cmd","action":"setWaypoints","waypoints":{"waypoints":[{"desc":"A","lat":91,"lon":2,"rad":30,"tst":5}]}}"#,
      "waypoint 0: key \"lat\""
    ),
  ])
  func invalidCommandsAreRejected(text: String, problem: String) throws {
    let json = try JSONValue(parsing: Array(text.utf8))
    do throws(JSONError) {
      _ = try OwnTracksCommand(json: json)
      Issue.record("accepted \(text)")
    } catch { #expect(error.description.hasPrefix(problem), "\(error)") }
  }
}
