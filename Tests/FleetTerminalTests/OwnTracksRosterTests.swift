import Fleet
import FleetFixtures
import FleetTerminal
import Spatial
import Telemetry
import Testing
import VehicleData

/// Messages of OwnTracks result in the same state of a vehicle as native messages.
@Suite struct OwnTracksRosterTests {
  private var roster = Roster(profile: .ownTracks)
  private let key = VehicleKey(fleet: "ann", vehicle: "phone")

  @discardableResult
  private mutating func receive(
    _ path: String, _ payload: [UInt8], retained: Bool = false, at seconds: Double
  ) -> Roster.Outcome {
    roster.apply(
      topic: "owntracks/ann/phone" + path, payload: payload, retained: retained, at: moment(seconds))
  }

  private func location(at seconds: Double, latitude: Double = 48.5, speed: Double? = nil) -> [UInt8] {
    var location = OwnTracksLocation(
      time: noon.advanced(bySeconds: seconds),
      coordinate: Coordinate(latitude: latitude, longitude: 11.25), trackerID: "an")
    location.speed = speed
    location.course = 90
    location.horizontalAccuracy = 12
    location.altitude = 520
    return location.payload
  }

  @Test mutating func aLocationIsReadInNativeUnits() throws {
    #expect(receive("", location(at: 0, speed: 10), at: 1) == .applied)
    let record = try #require(roster[key])
    let location = try #require(record.location?.message.location)
    #expect(location.coordinate == Coordinate(latitude: 48.5, longitude: 11.25))
    #expect(location.speed == 10 && location.course == 90 && location.horizontalAccuracy == 12)
    #expect(location.altitude == 520 && record.location?.message.time == noon)
    // The location is the only sign that the phone is online.
    #expect(record.state == .online && !record.isLocationStale(at: moment(1000)))
  }

  @Test mutating func aRetainedLocationIsNoPresence() throws {
    receive("", location(at: -3600), retained: true, at: 0)
    #expect(roster[key]?.state == .unknown && roster[key]?.isLocationStale(at: moment(1000)) == true)
  }

  @Test mutating func historyDoesNotReplaceNewerMessages() {
    receive("", location(at: 100), at: 100)
    #expect(receive("", location(at: 40, latitude: 47), at: 101) == .outdated)
    #expect(receive("", location(at: 100), at: 102) == .duplicate)
    #expect(roster[key]?.location?.message.location.coordinate.latitude == 48.5)
  }

  /// A will contains the start of its session, which is before the last location.
  @Test mutating func theWillTakesTheVehicleOfflineAndALocationBringsItBack() {
    receive("", location(at: 100), at: 100)
    #expect(receive("", OwnTracksStatus.lastWill(at: noon), at: 200) == .applied)
    #expect(roster[key]?.state == .offline && roster[key]?.isLocationStale(at: moment(1000)) == true)
    #expect(receive("", OwnTracksStatus.lastWill(at: noon), at: 201) == .duplicate)
    receive("", location(at: 300), at: 300)
    #expect(roster[key]?.state == .online)
    #expect(receive("", OwnTracksStatus.lastWill(at: noon.advanced(bySeconds: 250)), at: 400) == .applied)
    #expect(roster[key]?.state == .offline)
  }

  @Test mutating func transitionsWaypointsAndStatus() throws {
    let transition = { (event: OwnTracksTransition.Event) in
      OwnTracksTransition(
        event: event, time: noon, description: "depot", regionID: "d1", waypointTime: noon, trackerID: "an"
      ).payload
    }
    #expect(receive("/event", transition(.enter), at: 1) == .applied)
    #expect(roster[key]?.event?.message.summary == "enter depot")
    #expect(roster[key]?.insideRegions == ["depot"])
    let waypoint = { (name: String) in
      OwnTracksWaypoint(
        description: name, coordinate: Coordinate(latitude: 48, longitude: 11), radius: 50, time: noon,
        regionID: name)
    }
    #expect(receive("/waypoint", waypoint("depot").payload, at: 2) == .applied)
    #expect(receive("/waypoint", waypoint("yard").payload, at: 2) == .applied)
    #expect(roster[key]?.regions.map(\.identifier) == ["depot", "yard"])
    receive("/waypoints", OwnTracksWaypoint.payload(of: [waypoint("home")]), at: 3)
    #expect(roster[key]?.regions.map(\.identifier) == ["home"])
    let native = Array(statusJSON("asleep", at: 4, session: -100, epoch: "e", seq: 9).utf8)
    #expect(receive("/status", OwnTracksStatus.status(at: noon, native: native), at: 5) == .applied)
    #expect(roster[key]?.state == .asleep)
    // The will ends the session of the status.
    #expect(receive("", OwnTracksStatus.lastWill(at: noon.advanced(bySeconds: -200)), at: 6) == .applied)
    #expect(roster[key]?.state == .offline)
    #expect(receive("/event", transition(.leave), at: 7) == .duplicate)
  }

  /// Table: payloads that the roster ignores, and invalid ones.
  @Test mutating func otherPayloadsAreCounted() {
    #expect(receive("/cmd", Array(#"{"_type":"cmd","action":"dump"}"#.utf8), at: 0) == .ignored)
    #expect(receive("/info", Array(#"{"_type":"card"}"#.utf8), at: 0) == .ignored)
    #expect(receive("", Array(#"{"_type":"encrypted","data":"x"}"#.utf8), at: 0) == .ignored)
    #expect(roster[key] == nil)
    for wrong in [
      "", "[]", "{}", #"{"_type":7}"#, #"{"_type":"location"}"#,
      #"{"_type":"location","lat":91,"lon":0,"tst":1}"#, #"{"_type":"location","lat":1,"lon":0,"tst":1e300}"#,
      #"{"_type":"lwt","tst":"now"}"#, #"{"_type":"transition","event":"dwell","tst":1,"desc":"x"}"#,
      #"{"_type":"waypoints","waypoints":[{}]}"#,
    ] where !wrong.isEmpty {
      guard case .malformed = receive("", Array(wrong.utf8), at: 0) else {
        Issue.record("\(wrong) was accepted")
        continue
      }
    }
    #expect(roster.vehicles.map(\.unreadable) == [9] && roster.counters.malformed == 9)
    // Values of a phone for unknown quantities.
    receive(
      "",
      Array(
        #"{"_type":"location","lat":1,"lon":2,"tst":1,"vel":-1,"cog":-1,"batt":-1,"acc":-1,"vac":-1}"#.utf8),
      at: 0)
    #expect(roster[key]?.location?.message.location.speed == nil)
    #expect(roster[key]?.location?.message.location.course == nil)
    #expect(roster[key]?.location?.message.location.horizontalAccuracy == nil)
    #expect(roster[key]?.location?.message.location.verticalAccuracy == nil)
  }

  /// Positions are accepted on the topic of the device only.
  @Test mutating func aLocationOnAnotherTopicIsIgnored() {
    #expect(receive("/event", location(at: 1), at: 1) == .ignored)
    #expect(receive("/waypoint", location(at: 1), at: 1) == .ignored)
    #expect(roster[key] == nil)
  }

  /// Table: subscription filters of a selection.
  @Test func filtersAreTheFormats() throws {
    func filters(_ kinds: [MessageKind]) throws -> [String] {
      try FleetSelection(profile: .ownTracks, fleets: ["ann"], kinds: kinds).filters()
    }
    #expect(try filters([]) == ["owntracks/ann/+/#"])
    #expect(try filters([.location, .status]) == ["owntracks/ann/+", "owntracks/ann/+/status"])
    #expect(try filters([.region]) == ["owntracks/ann/+/event"])
    #expect(throws: FleetError.self) { try filters([.attitude]) }
  }

  @Test func statisticsCountThem() {
    var statistics = StreamStatistics(profile: .ownTracks)
    func note(_ path: String, _ payload: [UInt8]) {
      statistics.add(
        topic: "owntracks/ann/phone" + path, payload: payload, retained: false, at: moment(3))
    }
    note("", location(at: 1))
    note("", OwnTracksStatus.lastWill(at: noon.advanced(bySeconds: -1000)))
    note("/event", Array(#"{"_type":"transition","tst":1795262401}"#.utf8))
    #expect(statistics.byKind == [.location: 1, .status: 1, .region: 1])
    #expect(statistics.vehicles.first?.messages == 3 && statistics.unreadable == 0)
    // The will has no delay.
    #expect(statistics.delays.count == 2)
  }
}
