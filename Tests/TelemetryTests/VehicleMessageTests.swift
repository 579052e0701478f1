import Sensors
import Spatial
import Telemetry
import Testing
import VehicleData

/// Properties common to all messages of the contract.
@Suite struct VehicleMessageTests {
  private static let time = UTCTime(nanoseconds: 1_795_248_930_925_000_000)
  private static let identity = MessageIdentity(epoch: "a1b2", seq: 7)

  /// Messages of each kind, with their path, delivery lane and retain flag.
  private static let messages:
    [(message: VehicleMessage, path: String, lane: DeliveryLane?, retained: Bool)] = {
      var location = Location(
        timestamp: Timestamp(nanoseconds: time.nanoseconds),
        coordinate: Coordinate(latitude: 48.5, longitude: 11))
      location.time = time
      return [
        (.status(StatusMessage(state: .online, time: time, sessionStart: time)), "status", .state, true),
        (
          .location(
            LocationMessage(identity: nil, time: time, location: PrivacyPolicy.unrestricted(location))),
          "location", .tracks, true
        ),
        (
          .track(
            TrackMessage(
              identity: nil,
              fixes: [.init(time: time, coordinate: PrivacyPolicy.unrestricted(location.coordinate))])),
          "track", .tracks, false
        ),
        (.heading(HeadingMessage(time: time, magneticHeading: 12.5)), "heading", nil, false),
        (
          .attitude(
            AttitudeMessage(
              time: time, frame: .xTrueNorthZVertical, attitude: Attitude(quaternion: .identity))),
          "attitude", nil, true
        ),
        (
          .altitude(
            AltitudeMessage(
              time: time,
              data: AltitudeData(
                timestamp: Timestamp(nanoseconds: 0), relativeAltitude: -5.75, pressure: 95.3714),
              absolute: AbsoluteAltitudeData(
                timestamp: Timestamp(nanoseconds: 0), altitude: 508.25, accuracy: 2.25, precision: 0.25),
              floor: Floor(level: -2, confidence: 0.75, height: -5.5, heightAccuracy: 0.5))),
          "altitude", .state, true
        ),
        (.motion(MotionMessage(time: time, event: .activity(.moving))), "motion", .events, false),
        (
          .region(
            RegionMessage(
              time: time,
              event: RegionEvent(
                kind: .enter, identifier: "depot", timestamp: Timestamp(nanoseconds: 0),
                coordinate: location.coordinate, confidence: 1),
              at: PrivacyPolicy.unrestricted(location.coordinate))), "region", .events, false
        ),
        (
          .locationEvent(LocationEventMessage(time: time, event: .paused)), "location/event", .events, false
        ),
        (
          .trip(
            TripMessage(
              trip: JournalNumber(series: "0123456789abcdef", number: 41), revision: 4, phase: .ended,
              kind: .driven,
              start: .init(
                time: time, coordinate: PrivacyPolicy.unrestricted(location.coordinate),
                horizontalAccuracy: 2.5, odometer: 1200),
              end: .init(time: time.advanced(bySeconds: 60), odometer: 1700), distance: 500,
              estimated: 12.5,
              moving: 50, standing: 10, idling: 8.5, greatestSpeed: 13.25, meanSpeed: 10, fuel: 0.125,
              electricity: -0.5, events: ["harshBraking": 2], driver: "anna", purpose: "delivery",
              way: [
                .init(
                  time: time,
                  coordinate: PrivacyPolicy.unrestricted(
                    Coordinate(latitude: 48.137154, longitude: 11.575382))),
                .init(
                  time: time.advanced(bySeconds: 60),
                  coordinate: PrivacyPolicy.unrestricted(Coordinate(latitude: 48.1412, longitude: 11.5791))),
              ], bound: 5)), "trip", .events, false
        ),
        (
          .drivingEvent(
            DrivingEventMessage(
              time: time, event: .harshBraking, journal: JournalNumber(series: "0123456789abcdef", number: 7),
              isOngoing: true, trip: 41, coordinate: PrivacyPolicy.unrestricted(location.coordinate),
              horizontalAccuracy: 2.5,
              speed: 12.5,
              peak: 4.25, limit: 3, duration: 1.5, severity: .medium, confidence: 0.875, region: "depot")),
          "driving/event",
          .events, false
        ),
        (
          .trace(
            TraceMessage(
              time: time, trace: JournalNumber(series: "0123456789abcdef", number: 3), revision: 2,
              cause: .impact, state: .complete, before: 15, after: 14.75, size: 38_211, pieces: 3,
              checksum: 0x0a41_c08e, coordinate: PrivacyPolicy.unrestricted(location.coordinate),
              horizontalAccuracy: 2.5,
              impact: .init(
                severity: .moderate, speedBefore: 13.75, changeOfVelocity: Vector3(-0.5, -7.25, 0.25),
                isInVehicleFrame: true, direction: 3.5, peak: 112.5, isClipped: true, duration: 0.125,
                largestTilt: 97.5, hasRolledOver: true, rest: PrivacyPolicy.unrestricted(location.coordinate),
                restTime: time.advanced(bySeconds: 6)))), "trace", .events, false
        ),
        (
          .tracePiece(
            TracePieceMessage(
              time: time, trace: JournalNumber(series: "0123456789abcdef", number: 3), piece: 2, pieces: 3,
              bytes: Array(0...255))), "trace/piece", .traces, false
        ),
        (
          .vehicle(
            VehicleSignals(
              time: time,
              signals: [
                .init(path: "Vehicle.IsMoving", value: .flag(true), time: time),
                .init(path: "Vehicle.LowVoltageSystemState", value: .text("ON"), time: time),
                .init(path: "Vehicle.Speed", value: .number(52.3), time: time),
              ])), "vehicle", .state, true
        ),
        (
          .scan(
            ScanMessage(
              scans: [
                ScanMessage.Scan(
                  time: time, coordinate: PrivacyPolicy.unrestricted(location.coordinate), accuracy: 5,
                  sightings: [1, 2].compactMap { Beacon(accessPoint: $0) }.map {
                    BeaconSighting(beacon: $0, signal: -60)
                  })
              ].compactMap { $0 })), "scan", .other, false
        ),
        (
          .commandResponse(CommandResponseMessage(command: "locate", id: "4", time: time, state: .done)),
          "command/locate/response", nil, false
        ),
        (
          .configReported(ConfigReportedMessage(time: time, state: .applied)), "config/reported", .state, true
        ),
        (
          .regionsReported(RegionsReportedMessage(time: time, state: .refused)), "regions/reported", .state,
          true
        ),
        (
          .regionsState(
            RegionsStateMessage(
              time: time, source: .file, count: 1,
              regions: [RegionStatus(identifier: "depot", state: .inside, since: time, desiredAccuracy: 10)])),
          "regions/state", .state, true
        ),
        (
          .beaconsWanted(
            BeaconsWantedMessage(
              time: time,
              cells: ["u281", "u284"].compactMap { Geohash($0) }.map {
                .init($0, version: $0.text == "u281" ? "0123456789abcdef" : nil)
              }, refused: [.init(cell: "9q8y", reason: "cell 9q8y was not requested")])),
          "beacons/wanted", .state, true
        ),
      ]
    }()

  /// `odograph forget` deletes the messages on these topics.
  @Test func retainedPathsAreThoseOfAllRetainedMessages() {
    let retained = Self.messages.filter { $0.0.isRetained }.map { $0.0.path }
    #expect(retained.contains("attitude"))
    #expect(
      TopicScheme.retainedPaths.sorted()
        == Set(retained).union(["config/desired", "regions/desired"]).sorted())
  }

  @Test(arguments: messages.indices) func everyMessageRoundTripsFromItsTopicWithIdentity(index: Int) throws {
    let (message, path, lane, retained) = Self.messages[index]
    #expect(message.path == path && message.lane == lane && message.isRetained == retained)
    #expect((message.qos == 0) == (path == "heading" || path == "attitude"))
    #expect((message.expiry == nil) == (message.qos == 1 || message.isRetained))
    // Scans have no identity.
    let identity = lane == nil || path == "scan" ? nil : Self.identity
    let decoded = try VehicleMessage.decode(path: path, payload: message.encode(identity: identity))
    let read = try #require(decoded)
    #expect(read.identity == identity)
    #expect(try VehicleMessage.decode(path: path, payload: message.encode(identity: nil)) == message)
    // Encoding again gives the same bytes.
    #expect(read.encode(identity: identity) == message.encode(identity: identity))
  }

  @Test func everyKindHasAMessage() {
    let paths = Set(Self.messages.map(\.path))
    for kind in MessageKind.allCases { #expect(paths.contains(kind.rawValue), "\(kind)") }
    #expect(Self.messages.count { $0.message.kind == nil } == 6)
  }

  @Test(arguments: ["", "config/desired", "regions/desired", "command/locate", "locations", "status/x"])
  func topicsNotPublishedByVehiclesAreNoMessages(path: String) throws {
    #expect(try VehicleMessage.decode(path: path, payload: Array("{}".utf8)) == nil)
  }

  @Test func responseIsSentToTheRequestedTopic() throws {
    let topics = try TopicScheme(fleet: "f", vehicle: "v")
    var response = CommandResponseMessage(command: "status", time: Self.time, state: .done)
    #expect(
      Publication(.commandResponse(response), in: topics).topic == "odograph/v1/f/v/command/status/response")
    response.replyTo = .init(topic: nil, correlation: [1])
    #expect(
      Publication(.commandResponse(response), in: topics).topic == "odograph/v1/f/v/command/status/response")
    response.replyTo = .init(topic: "me/answers", correlation: [1, 2])
    let publication = Publication(.commandResponse(response), in: topics)
    #expect(publication.topic == "me/answers" && publication.correlation == [1, 2])
    #expect(publication.lane == nil && publication.qos == 1 && !publication.retain)
  }

  /// Responses to remote settings use the native format, even if all other messages use another format.
  @Test func responsesStayNativeWithASingleFormat() throws {
    var formats = MessageFormats(
      topics: try TopicScheme(fleet: "f", vehicle: "v"), isNative: false,
      ownTracks: OwnTracksFormat(topics: try OwnTracksTopics(user: "f", device: "v"), trackerID: "v"))
    for (message, path, _, _) in Self.messages {
      let topics = formats.encode(message).map(\.topic)
      switch path {
      case "location", "track": #expect(topics == ["owntracks/f/v"])
      case "region": #expect(topics == ["owntracks/f/v/event"])
      case "status", "heading", "attitude", "altitude", "motion", "location/event", "trip", "driving/event",
        "trace", "trace/piece", "vehicle", "scan", "regions/state":
        #expect(topics.isEmpty)
      default: #expect(topics == ["odograph/v1/f/v/\(path)"])
      }
    }
  }
}
