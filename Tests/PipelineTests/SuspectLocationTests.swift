import JSON
import Navigation
import Pipeline
import Positioning
import Sensors
import Simulation
import Spatial
import Telemetry
import TestSupport
import Testing

/// Positions that contradict other measurements, from the receiver's report to the messages.
@Suite struct SuspectLocationTests {
  private static let start = UTCTime(nanoseconds: 1_795_248_000_000_000_000)
  private static let origin = Coordinate(latitude: 48, longitude: 11)
  private static let policies: [[Setting]] = [
    [{ $0.location.policy = .distance(20) }],
    [{ $0.location.setBounds() }],
    [
      { $0.location.policy = .distance(nil) },
      { $0.location.deferral = .init(distance: nil, timeout: 20, error: nil) },
    ],
  ]

  private func pipeline(_ settings: [Setting] = [], regions: [Region] = []) throws -> AgentPipeline {
    let configuration = PipelineConfiguration(settings)
    var pipeline = AgentPipeline(
      configuration: configuration, start: Timestamp(seconds: 0), time: Self.start, version: "1")
    pipeline.regions.replaceAll(regions)
    return pipeline
  }

  /// Returns a fix of a drive to the east at 10 m/s, displaced `north` metres to the north.
  private func fix(_ second: Int, north: Double = 0, speed: Double = 10) -> SensorEvent {
    let place = Self.origin.destination(distance: speed * Double(second), bearing: 90)
    var fix = PositionFix(
      timestamp: Timestamp(seconds: Double(second)), time: Self.start.advanced(bySeconds: Double(second)),
      mode: .threeDimensional, coordinate: place.destination(distance: north, bearing: 0))
    (fix.speed, fix.course, fix.horizontalError, fix.receiver) = (speed, 90, 3, "/dev/ttyS0")
    return .position([fix])
  }

  private func north(_ message: LocationMessage) -> Double {
    (message.location.coordinate.latitude - Self.origin.latitude) * 111_200
  }

  /// Messages published in a run.
  private struct Output {
    var locations: [LocationMessage] = []
    var events: [LocationEventMessage] = []
    var regions: [RegionMessage] = []
    var tracks: [TrackMessage] = []

    var suspicions: [LocationEventMessage] {
      events.filter { $0.event == .suspect || $0.event == .plausible }
    }

    var hasFarTrack: Bool {
      tracks.contains { track in track.fixes.contains { abs($0.coordinate.latitude - 48) > 0.01 } }
    }

    mutating func add(_ message: VehicleMessage) {
      switch message {
      case .location(let message): locations.append(message)
      case .locationEvent(let message): events.append(message)
      case .region(let message): regions.append(message)
      case .track(let message): tracks.append(message)
      default: break
      }
    }
  }

  private func run(_ pipeline: inout AgentPipeline, _ events: [SensorEvent]) -> Output {
    var output = Output()
    for event in events { pipeline.process(event) { output.add($0) } }
    pipeline.finish { output.add($0) }
    return output
  }

  private static let street = Region(
    identifier: "street", center: origin.destination(distance: 500, bearing: 90), radius: 2000)

  @Test(arguments: policies, [3, 4]) func fewDistantFixesAreNotPublished(
    settings: [Setting], count: Int
  )
    throws
  {
    var pipeline = try pipeline(settings, regions: [Self.street])
    let output = run(
      &pipeline, (0..<100).map { fix($0, north: (50..<(50 + count)).contains($0) ? 5500 : 0) })
    #expect(!output.locations.isEmpty && output.locations.allSatisfy { abs(north($0)) < 100 })
    #expect(!output.hasFarTrack)
    #expect(output.events.allSatisfy { $0.event != .suspect } && output.regions.isEmpty)
  }

  @Test(arguments: policies) func distantJumpIsFlaggedAndTriggersNoRegion(settings: [Setting])
    throws
  {
    var pipeline = try pipeline(settings, regions: [Self.street])
    let output = run(&pipeline, (0..<100).map { fix($0, north: (50..<70).contains($0) ? 111_000 : 0) })
    let far = output.locations.filter { north($0) > 1000 }
    #expect(!far.isEmpty)
    for message in far {
      #expect(message.location.suspicion?.reason == .jump && message.prediction == nil)
      #expect((message.location.horizontalAccuracy ?? 0) > 100_000)
      let json = try JSONValue(parsing: message.payload)
      #expect(json["suspect"]?.string == "jump")
      #expect(try LocationMessage(json: json).location.suspicion?.reason == .jump)
    }
    #expect(!output.hasFarTrack)
    #expect(output.regions.isEmpty)
    let told = output.suspicions
    #expect(told.map(\.event) == [.suspect, .plausible] && told.first?.error == "jump")
    // The retained position is plausible again immediately.
    let end = try #require(told.last?.time)
    let back = output.locations.filter { $0.time == end && $0.location.suspicion == nil }
    #expect(back.contains { abs(north($0)) < 100 })
    let status = pipeline.report(.online, at: Timestamp(seconds: 100))
    #expect(try #require(status.counters["fixes.suspect"]) > 10)
  }

  private static let moved: [[Setting]] = [
    [], [{ $0.location.desiredAccuracy = .reduced }], [{ $0.privacy.accuracy = 1000 }],
    [{ $0.privacy.accuracy = 1000 }, { $0.location.desiredAccuracy = .reduced }],
  ]

  /// The first plausible location is published once, even if privacy or reduced accuracy displaces it.
  /// Displaced suspect locations are marked, too.
  @Test(arguments: policies.indices, moved.indices) func locationAfterASuspicionIsPublishedOnce(
    policy: Int, moved: Int
  ) throws {
    var pipeline = try pipeline(Self.policies[policy] + Self.moved[moved])
    let output = run(&pipeline, (0..<100).map { fix($0, north: (50..<70).contains($0) ? 111_000 : 0) })
    let end = try #require(output.suspicions.last).time
    #expect(output.suspicions.map(\.event) == [.suspect, .plausible])
    let back = output.locations.filter { abs($0.time.seconds(since: end)) < 0.5 }
    // A bounded report with a prediction can follow after its delay.
    #expect(!back.isEmpty && back.count { $0.prediction == nil } <= 1, "\(back)")
    #expect(back.allSatisfy { $0.location.suspicion == nil }, "\(back)")
    let far = output.locations.filter { north($0) > 50_000 }
    #expect(!far.isEmpty && far.allSatisfy { $0.location.suspicion?.reason == .jump }, "\(far)")
  }

  /// A change of the settings does not leave `suspect` without its end.
  @Test func suspicionEndsAfterAChangeOfTheSettings() throws {
    var pipeline = try pipeline(Self.policies[0])
    var output = Output()
    for second in 0..<130 {
      if second == 65 {
        pipeline.reconfigure(PipelineConfiguration(Self.policies[1])) { output.add($0) }
      }
      pipeline.process(fix(second, north: (50..<70).contains(second) ? 111_000 : 0)) { output.add($0) }
    }
    #expect(output.suspicions.map(\.event).last == .plausible, "\(output.suspicions)")
  }

  /// A permanent jump, as after a ferry without reception or a wrong first position.
  @Test(arguments: policies) func lastingJumpIsAccepted(settings: [Setting]) throws {
    var pipeline = try pipeline(settings, regions: [Self.street])
    let output = run(&pipeline, (0..<150).map { fix($0, north: $0 >= 50 ? 20_000 : 0) })
    #expect(output.suspicions.map(\.event) == [.suspect, .plausible])
    #expect(output.regions.map(\.event) == [.exit])
    let exit = try #require(output.regions.first).time.seconds(since: Self.start)
    #expect((80...85).contains(exit))
    #expect(try #require(output.locations.last).location.suspicion == nil)
    #expect(north(try #require(output.locations.last)) > 19_000)
  }

  @Test func driftAgainstTheVelocityIsFlagged() throws {
    var pipeline = try pipeline([{ $0.location.setBounds() }], regions: [Self.street])
    let output = run(&pipeline, (0..<190).map { fix($0, north: 3 * Double(max(0, $0 - 60))) })
    let event = try #require(output.events.first { $0.event == .suspect })
    #expect(event.error == "velocity" && event.time.seconds(since: Self.start) <= 120)
    #expect(output.locations.contains { $0.location.suspicion?.reason == .velocity })
  }

  /// Wheel speeds that agreed with the receiver and then differ.
  @Test(arguments: [true, false]) func contradictionByWheelsIsFlagged(hasAgreed: Bool) throws {
    var pipeline = try pipeline([{ $0.location.policy = .distance(nil) }, { $0.vehicle = .init() }])
    var output = Output()
    for second in 0..<200 {
      // A speed with a constant scale error does not contradict the position.
      let wheels = !hasAgreed ? 16.0 : second < 100 ? 10 : 4
      pipeline.process(
        .vehicle([
          VehicleReading(
            timestamp: Timestamp(seconds: Double(second)), path: "Vehicle.Speed", value: .number(3.6 * wheels)
          )
        ])
      ) { output.add($0) }
      pipeline.process(fix(second)) { output.add($0) }
    }
    let flagged = output.events.filter { $0.event == .suspect }
    #expect(flagged.map(\.error) == (hasAgreed ? ["wheels"] : []))
    #expect(output.locations.contains { $0.location.suspicion != nil } == hasAgreed)
  }

  @Test func nullIslandIsNoStart() throws {
    var pipeline = try pipeline([
      { $0.location.policy = .distance(nil) }, { $0.trips.isEnabled = true },
      { $0.trips.interval = 60 },
    ])
    var payloads: [String] = []
    for second in 0..<200 {
      guard case .position(var fixes) = fix(second) else { continue }
      if second < 20 { fixes[0].coordinate = Coordinate(latitude: 0, longitude: 0) }
      pipeline.process(.position(fixes)) {
        if case .location(let message) = $0 {
          payloads.append(String(decoding: message.payload, as: UTF8.self))
        }
        if case .trip(let message) = $0 { payloads.append(String(decoding: message.payload, as: UTF8.self)) }
      }
    }
    #expect(payloads.count > 50)
    #expect(payloads.allSatisfy { !$0.contains(#""latitude":0,"#) && !$0.contains(#""latitude":0.0"#) })
  }

  /// Single outliers in every phase while updates are paused.
  @Test func outlierDoesNotEndAPause() throws {
    var random = SeededGenerator.announced()
    let circle = Region(identifier: "office", center: Self.origin, radius: 50)
    var pipeline = try pipeline(
      [{ $0.location.policy = .distance(nil) }, { $0.location.pausesAutomatically = true }],
      regions: [circle])
    var output = Output()
    for second in 0..<3600 {
      let isOutlier = second > 10 && second % 7 == 3
      pipeline.process(fix(second, north: isOutlier ? 60 + 900 * random.nextUniform() : 0, speed: 0)) {
        output.add($0)
      }
    }
    #expect(output.events.map(\.event) == [.paused] && output.regions.isEmpty)
    #expect(output.locations.allSatisfy { abs(north($0)) < 5 })
  }
}
