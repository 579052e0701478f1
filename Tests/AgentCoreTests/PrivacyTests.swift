import AgentCore
import JSON
import Pipeline
import Positioning
import Sensors
import Settings
import Spatial
import Telemetry
import TestSupport
import Testing

/// Data passed to the store and the broker on a drive through a private zone.
@Suite struct PrivacyTests {
  private static let start = UTCTime(nanoseconds: 1_795_248_000_000_000_000)

  private func configuration(_ settings: String...) throws -> AgentConfiguration {
    try AgentConfiguration(
      settings: ["vehicle.id=v", "input.mode=simulation", "location.reporting=distance"] + settings)
  }

  /// Drives north at 11 m/s for 400 s, through 48.02° after 200 s. Returns all payloads as text with their kinds.
  private func drive(_ configuration: AgentConfiguration) -> [(kind: MessageKind?, text: String)] {
    var pipeline = AgentPipeline(
      configuration: configuration.pipeline, start: Timestamp(nanoseconds: 0), time: Self.start, version: "1")
    var messages: [(kind: MessageKind?, text: String)] = []
    drive(&pipeline) { messages.append(($0, $1)) }
    return messages
  }

  private func drive(
    _ pipeline: inout AgentPipeline, _ take: (MessageKind?, String) throws -> Void
  ) rethrows {
    for second in 0..<400 {
      let time = Timestamp(seconds: Double(second))
      var fix = PositionFix(
        timestamp: time, time: Self.start.advanced(bySeconds: Double(second)), mode: .threeDimensional,
        coordinate: Coordinate(latitude: 48 + Double(second) * 1e-4, longitude: 11.00777))
      (fix.speed, fix.course, fix.altitudeMeanSeaLevel) = (11, 0, 513.25)
      var messages: [VehicleMessage] = []
      pipeline.process(.position([fix])) { messages.append($0) }
      for message in messages {
        let payload = message.encode(identity: MessageIdentity(epoch: "e", seq: 1))
        try take(message.kind, String(decoding: payload, as: UTF8.self))
      }
    }
  }

  private func latitudes(_ messages: [(kind: MessageKind?, text: String)]) throws -> [Double] {
    try messages.filter { $0.kind == .location }.map {
      try LocationMessage(json: JSONValue(parsing: Array($0.text.utf8))).location.coordinate.latitude
    }
  }

  @Test func withholdingZonePublishesNoPosition() throws {
    let zone = Coordinate(latitude: 48.02, longitude: 11.00777)
    let told = try latitudes(
      drive(configuration("privacy.zones=48.02 11.00777 500 withhold", "location.distance_filter=0")))
    #expect(!told.isEmpty)
    for latitude in told {
      #expect(Coordinate(latitude: latitude, longitude: 11.00777).distance(to: zone) > 500)
    }
    // 500 m are about 45 fixes on either side of the centre.
    let all = try latitudes(drive(configuration()))
    #expect((88...92).contains(all.count - told.count))
  }

  @Test func blurringZonePublishesOnlyTheCell() throws {
    let messages = try drive(configuration("privacy.zones=48.02 11.00777 5000 blur"))
    #expect(messages.contains { $0.kind == .location })
    for message in messages {
      #expect(!message.text.contains("11.00777") && !message.text.contains("513.25"), "\(message.text)")
      #expect(!message.text.contains("\"speed\"") && !message.text.contains("\"course\""))
    }
    #expect(Set(try latitudes(messages)).count <= 2)
  }

  @Test func reducedAccuracyAppliesToAllOutputs() throws {
    let messages = try drive(configuration("privacy.accuracy=3000"))
    #expect(Set(try latitudes(messages)).count <= 3)
    for message in messages where message.kind == .location {
      let location = try LocationMessage(json: JSONValue(parsing: Array(message.text.utf8))).location
      #expect((1500...3500).contains(location.horizontalAccuracy ?? 0))
    }
  }

  @Test(arguments: [
    "48 11", "48 11 x", "91 11 100", "48 181 100", "48 11 0", "48 11 100 hide", "48 11 100 blur more", "",
    "nan 11 100",
  ])
  func invalidZonesAreRejected(text: String) {
    let layer = ConfigurationLayer(
      ["vehicle.id": .text("v"), "privacy.zones": .texts([text])], place: "test.toml:1")
    do {
      _ = try AgentConfiguration(layers: [layer], file: "test.toml")
      Issue.record("accepted")
    } catch {
      #expect(
        "\(error)".contains("key privacy.zones: \"\(text)\" is not \"LATITUDE LONGITUDE RADIUS"), "\(error)")
    }
  }

  @Test func allZoneFormsAreAccepted() throws {
    let layer = ConfigurationLayer(
      [
        "vehicle.id": .text("v"),
        "privacy.zones": .texts(["48.5 -11 100", "-48, 11.25, 200, blur", "0 0 1e3 withhold"]),
      ], place: "test.toml:1")
    let zones = try AgentConfiguration(layers: [layer], file: nil).pipeline.privacy.zones
    #expect(zones.map(\.treatment) == [.withhold, .blur, .withhold])
    let circles = [(48.5, -11.0, 100.0), (-48, 11.25, 200), (0, 0, 1000)].map { latitude, longitude, radius in
      Circle(center: Coordinate(latitude: latitude, longitude: longitude), radius: radius).map(Area.circle)
    }
    #expect(zones.map(\.area) == circles)
  }

  // MARK: Zone files

  private static let yard =
    #""geometry":{"type":"Polygon","coordinates":[[[11,48.019],[11.02,48.019],[11.02,48.021],[11,48.021]]]}"#

  private func zones(_ features: String) throws -> AgentConfiguration {
    let directory = try TemporaryDirectory()
    let path = try directory.write(
      "private.geojson", #"{"type":"FeatureCollection","features":[\#(features)]}"#)
    return try configuration("privacy.path=\(path)", "privacy.zones=0 0 100")
  }

  @Test func zoneFileHasAllShapes() throws {
    let configuration = try zones(
      #"{"type":"Feature","id":"yard","properties":null,\#(Self.yard)}"#
        + #",{"type":"Feature","id":"home","properties":{"radius":50,"privacy":"blur"},"geometry":{"type":"Point","coordinates":[12,49]}}"#
    )
    #expect(configuration.pipeline.privacy.zones.map(\.treatment) == [.withhold, .withhold, .blur])
    let told = try latitudes(drive(configuration))
    #expect(told.count > 350 && told.allSatisfy { $0 <= 48.019 || $0 >= 48.021 })
  }

  @Test(arguments: [
    (#"{"type":"Feature","id":"yard","properties":{"privacy":"hide"},\#(yard)}"#, "\"withhold\" or \"blur\""),
    (#"{"type":"Feature",\#(yard)}"#, "feature 0: has no identifier"),
    (
      #"{"type":"Feature","id":"p","geometry":{"type":"Polygon","coordinates":[[[11,48],[12,48]]]}}"#,
      "feature 0 (\"p\")"
    ),
  ])
  func invalidZoneIsNotIgnored(feature: String, problem: String) {
    let error = #expect(throws: ConfigurationError.self) { try zones(feature) }
    #expect(error?.description.contains(problem) == true, "\(String(describing: error))")
    #expect(error?.description.contains("private.geojson") == true)
  }

  @Test func missingZoneFileIsAnError() {
    let error = #expect(throws: ConfigurationError.self) {
      try configuration("privacy.path=/nowhere/private.geojson")
    }
    #expect(error?.description.contains("key privacy.path: /nowhere/private.geojson") == true)
  }

  // MARK: Regions

  /// Regions inside a private zone, around it, across its edge, and far from it.
  @Test(arguments: [false, true]) func regionsRevealNoPrivatePosition(isPrivate: Bool) throws {
    var pipeline = AgentPipeline(
      configuration: try isPrivate
        ? configuration("privacy.zones=48.02 11.00777 500 withhold").pipeline : configuration().pipeline,
      start: Timestamp(nanoseconds: 0), time: Self.start, version: "1")
    for (name, latitude, radius) in [
      ("within", 48.02, 200.0), ("around", 48.02, 900), ("edge", 48.0245, 100), ("far", 48.035, 200),
    ] {
      let center = Coordinate(latitude: latitude, longitude: 11.00777)
      try pipeline.regions.add(
        Region(identifier: name, center: center, radius: radius, dwell: name == "around" ? 100 : nil))
    }
    var events: [String: [RegionMessage]] = [:]
    try drive(&pipeline) { kind, text in
      guard kind == .region else { return }
      let event = try RegionMessage(json: JSONValue(parsing: Array(text.utf8)))
      events[event.region, default: []].append(event)
    }
    #expect(events["far"]?.map(\.event) == [.enter, .exit])
    #expect(events["around"]?.map(\.event) == [.enter, .dwell, .exit])
    let zone = Coordinate(latitude: 48.02, longitude: 11.00777)
    if isPrivate {
      #expect(events["within"] == nil)
      // The entry is inside the zone. It is reported with the first position outside the zone.
      #expect(events["edge"]?.map(\.event) == [.enter, .exit])
      for event in events.values.joined() {
        #expect(try #require(event.coordinate).distance(to: zone) > 500, "\(event)")
      }
    } else {
      #expect(events["within"]?.map(\.event) == [.enter, .exit])
      #expect(events.values.joined().contains { $0.coordinate.map { $0.distance(to: zone) < 500 } ?? false })
    }
  }

  /// With reduced accuracy, events of regions that the 5 km cell decides have the cell's centre, and those of
  /// smaller regions are missing.
  @Test func regionEventsHaveReducedPositions() throws {
    var pipeline = AgentPipeline(
      configuration: try configuration("location.desired_accuracy=reduced").pipeline,
      start: Timestamp(nanoseconds: 0), time: Self.start, version: "1")
    for (name, radius) in [("yard", 300.0), ("state", 100_000)] {
      let center = Coordinate(latitude: 48.02, longitude: 11.00777)
      try pipeline.regions.add(Region(identifier: name, center: center, radius: radius, dwell: 100))
    }
    var events: [RegionMessage] = []
    var cells: Set<Coordinate> = []
    try drive(&pipeline) { kind, text in
      let json = try JSONValue(parsing: Array(text.utf8))
      if kind == .region { events.append(try RegionMessage(json: json)) }
      if kind == .location { cells.insert(try LocationMessage(json: json).location.coordinate) }
    }
    #expect(!events.isEmpty && events.allSatisfy { $0.region == "state" }, "\(events)")
    for event in events {
      #expect(cells.contains(try #require(event.coordinate)), "\(event)")
      #expect(event.horizontalAccuracy ?? 0 > 2500)
    }
  }

  /// Positions measured before accuracy is reduced, a zone is added, or locations are disabled are not
  /// published afterwards.
  @Test(arguments: [
    "location.desired_accuracy=reduced", "privacy.zones=48.0399 11.00777 500 blur", "location.enabled=false",
  ])
  func positionsBeforeAChangeStayPrivate(setting: String) throws {
    func dwells(_ setting: String? = nil) throws -> [RegionMessage] {
      var pipeline = AgentPipeline(
        configuration: try configuration().pipeline, start: Timestamp(nanoseconds: 0), time: Self.start,
        version: "1")
      // The drive ends in the yard after 400 s.
      let yard = Coordinate(latitude: 48.0399, longitude: 11.00777)
      try pipeline.regions.add(Region(identifier: "yard", center: yard, radius: 200, dwell: 100))
      drive(&pipeline) { _, _ in }
      #expect(pipeline.regions.state(of: "yard") == .inside)
      var events: [RegionMessage] = []
      func take(_ message: VehicleMessage) { if case .region(let event) = message { events.append(event) } }
      let new = try setting.map { try configuration($0) } ?? configuration()
      pipeline.reconfigure(new.pipeline, into: take)
      for second in 400..<600 { pipeline.advance(to: Timestamp(seconds: Double(second)), into: take) }
      return events
    }
    #expect(try dwells().map(\.event) == [.dwell])
    #expect(try dwells(setting).isEmpty)
  }

  /// With locations disabled, a region added later does not reveal the position, and stored positions are private.
  @Test func disabledLocationsDecideNoRegion() throws {
    var pipeline = AgentPipeline(
      configuration: try configuration().pipeline, start: Timestamp(nanoseconds: 0), time: Self.start,
      version: "1")
    drive(&pipeline) { _, _ in }
    let last = try #require(pipeline.lastKnown).location.coordinate
    #expect(pipeline.shown(stored: last) != nil)
    pipeline.reconfigure(try configuration("location.enabled=false").pipeline) { _ in }
    #expect(pipeline.lastKnown == nil && pipeline.shown(stored: last) == nil && !pipeline.hasLocations)
    try pipeline.regions.add(Region(identifier: "later", center: last, radius: 5000))
    var messages: [VehicleMessage] = []
    pipeline.requestRegionStates { messages.append($0) }
    for second in 400..<500 {
      pipeline.advance(to: Timestamp(seconds: Double(second))) { messages.append($0) }
    }
    #expect(pipeline.regions.state(of: "later") == .unknown, "\(messages)")
    #expect(!messages.contains { $0.kind == .region })
  }

  /// If a vehicle drives into a private zone, subscribers see it stop at the edge instead of continuing indefinitely.
  @Test func boundedPredictionEndsAtThePrivacyZone() throws {
    var pipeline = AgentPipeline(
      configuration: try configuration(
        "privacy.zones=48.02 11.00777 500 withhold", "location.reporting=bounded", "location.delay_bound=0"
      ).pipeline,
      start: Timestamp(nanoseconds: 0), time: Self.start, version: "1")
    var reports: [LocationMessage] = []
    try drive(&pipeline) { kind, text in
      if kind == .location { reports.append(try LocationMessage(json: JSONValue(parsing: Array(text.utf8)))) }
    }
    let zone = Coordinate(latitude: 48.02, longitude: 11.00777)
    #expect(reports.allSatisfy { $0.location.coordinate.distance(to: zone) > 500 })
    let standing = try #require(reports.first { $0.predictor?.velocity == .zero })
    #expect(standing.location.coordinate.distance(to: zone) < 530)
    #expect(reports.last?.location.coordinate.latitude ?? 0 > 48.024)
  }
}
