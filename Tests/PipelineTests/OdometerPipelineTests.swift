import JSON
import Navigation
import Pipeline
import Positioning
import Sensors
import Spatial
import Telemetry
import Testing

/// Odometer in messages, with a receiver, a CAN bus and a privacy policy.
@Suite struct OdometerPipelineTests {
  private static let start = UTCTime(nanoseconds: 1_795_248_000_000_000_000)

  private func pipeline(_ settings: [Setting] = []) throws -> AgentPipeline {
    let configuration = PipelineConfiguration(settings)
    return AgentPipeline(
      configuration: configuration, start: Timestamp(seconds: 0), time: Self.start, version: "1")
  }

  private func fix(_ second: Int, speed: Double = 10, jump: Double = 0) -> SensorEvent {
    var fix = PositionFix(
      timestamp: Timestamp(seconds: Double(second)), time: Self.start.advanced(bySeconds: Double(second)),
      mode: .threeDimensional,
      coordinate: Coordinate(latitude: 48, longitude: 11)
        .destination(distance: speed * Double(second) + jump, bearing: 0))
    (fix.speed, fix.course, fix.horizontalError) = (speed, 0, 3)
    return .position([fix])
  }

  private func bus(_ second: Int, kilometres: Double) -> SensorEvent {
    .vehicle([
      VehicleReading(
        timestamp: Timestamp(seconds: Double(second)), path: "Vehicle.TraveledDistance",
        value: .number(kilometres), resolution: 0.1)
    ])
  }

  @Test func locationsTracksAndStatusHaveTheOdometer() throws {
    var pipeline = try pipeline([
      { $0.location.policy = .distance(nil) },
      { $0.location.deferral = .init(distance: nil, timeout: 60, error: nil) },
    ])
    var (locations, tracks): ([LocationMessage], [TrackMessage]) = ([], [])
    for second in 0...200 {
      pipeline.process(fix(second)) {
        switch $0 {
        case .location(let message): locations.append(message)
        case .track(let message): tracks.append(message)
        default: break
        }
      }
    }
    let readings = locations.compactMap(\.location.odometer?.distance)
    #expect(readings.count == locations.count && readings == readings.sorted())
    #expect(abs(try #require(readings.last) - 2000) < 800)
    let track = try #require(tracks.last)
    let end = try #require(track.fixes.last?.time).seconds(since: Self.start)
    #expect(abs(try #require(track.odometer).distance - 10 * end) < 20)
    let status = pipeline.report(.online, at: Timestamp(seconds: 200))
    #expect(abs(try #require(status.odometer).distance - 2000) < 10)
    // On the wire, distances are whole metres, and the estimated distance is omitted if zero.
    let json = try JSONValue(parsing: status.payload)
    #expect(json["odometer"]?.integer != nil && json["odometerEstimated"] == nil)
    #expect(try StatusMessage(json: json).odometer?.distance == json["odometer"]?.double)
    #expect(try TrackMessage(json: JSONValue(parsing: track.payload)).odometer != nil)
  }

  /// A jump of 456 m that is accepted in the end adds no distance.
  @Test func jumpAddsNoDistance() throws {
    var pipeline = try pipeline()
    for second in 0...200 { pipeline.process(fix(second, jump: second < 100 ? 0 : 456)) { _ in } }
    let odometer = try #require(pipeline.report(.online, at: Timestamp(seconds: 200)).odometer)
    #expect(abs(odometer.distance - 2000) < 15)
    #expect(odometer.estimated == 0)
  }

  @Test func vehicleOdometerIsFollowed() throws {
    var pipeline = try pipeline([{ $0.vehicle = .init() }])
    for second in 0...1300 {
      if second % 10 == 0 {
        // 8 % less than the driven distance.
        let kilometres = 84_200 + 0.1 * (0.092 * Double(second)).rounded(.down)
        pipeline.process(bus(second, kilometres: kilometres)) { _ in }
      }
      pipeline.process(fix(second)) { _ in }
    }
    let status = pipeline.report(.online, at: Timestamp(seconds: 1300))
    #expect(abs(try #require(status.odometer).distance - 84_211_960) < 250)
    let disagreement = try #require(status.odometerDisagreement)
    #expect(abs(disagreement - 0.087) < 0.02)
  }

  /// While positions are reduced to cells, a distance accurate to 1 m could reveal the road.
  @Test func privacyAppliesToTheOdometer() throws {
    var pipeline = try pipeline([{ $0.location.desiredAccuracy = .reduced }])
    var locations: [LocationMessage] = []
    for second in 0...700 {
      pipeline.process(fix(second, speed: 20)) {
        if case .location(let message) = $0 { locations.append(message) }
      }
    }
    #expect(!locations.isEmpty && locations.allSatisfy { $0.location.odometer == nil })
    let told = try #require(pipeline.report(.online, at: Timestamp(seconds: 700)).odometer)
    #expect(told.distance.truncatingRemainder(dividingBy: 1000) == 0 && told.distance >= 12_000)
    #expect(pipeline.odometerToKeep?.place == nil)
  }

  @Test func commandSetsTheOdometer() throws {
    var pipeline = try pipeline()
    for second in 0...100 { pipeline.process(fix(second)) { _ in } }
    let before = pipeline.setOdometer(reading: 48_213_400)
    #expect(abs(try #require(before) - 1000) < 10)
    #expect(pipeline.report(.online, at: Timestamp(seconds: 100)).odometer?.distance == 48_213_400)
    // The odometer can be set to a lower value.
    _ = pipeline.setOdometer(reading: 12)
    #expect(pipeline.report(.online, at: Timestamp(seconds: 100)).odometer?.distance == 12)
    var off = try self.pipeline([{ $0.location.isEnabled = false }])
    let none = off.setOdometer(reading: 12)
    #expect(none == nil && !off.hasOdometer && pipeline.hasOdometer)
    // Indoors, before the first fix.
    var indoors = try self.pipeline()
    _ = indoors.setOdometer(reading: 48_213_400)
    #expect(indoors.report(.online, at: Timestamp(seconds: 0)).odometer?.distance == 48_213_400)
    #expect(indoors.odometerToKeep.map { $0.distance + $0.offset } == 48_213_400)
    #expect(
      try RemoteCommand(
        name: "set-odometer", arguments: JSONValue(parsing: Array(#"{"odometer":48213400}"#.utf8)))
        == .setOdometer(reading: 48_213_400))
    for text in ["{}", #"{"odometer":-1}"#, #"{"odometer":"many"}"#, #"{"odometer":1e11}"#] {
      #expect(throws: JSONError.self) {
        try RemoteCommand(name: "set-odometer", arguments: JSONValue(parsing: Array(text.utf8)))
      }
    }
  }
}
