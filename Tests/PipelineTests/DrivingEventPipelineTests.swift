import JSON
import Navigation
import Pipeline
import Positioning
import Sensors
import Simulation
import Spatial
import Telemetry
import Testing
import VehicleData

/// Driving events of the agent: each is published once, with its position as far as privacy allows.
@Suite struct DrivingEventPipelineTests {
  private static let start = UTCTime(nanoseconds: 1_795_248_000_000_000_000)

  private func configuration(_ settings: [Setting]) throws -> PipelineConfiguration {
    PipelineConfiguration([{ $0.statusInterval = 10 }] + settings)
  }

  private func pipeline(
    _ settings: Setting..., trips: TripState = TripState(series: 0x0123_4567_89ab_cdef)
  ) throws -> AgentPipeline {
    AgentPipeline(
      configuration: try configuration(settings), start: Timestamp(nanoseconds: 0), time: Self.start,
      version: "1",
      trips: trips)
  }

  private func play(_ pipeline: inout AgentPipeline, seconds: Double = 300) throws -> [DrivingEventMessage] {
    var configuration = SimulatedDrive.Configuration()
    (configuration.seed, configuration.duration) = (3, seconds)
    configuration.receiver.meanTimeBetweenOutages = nil
    var drive = try SimulatedDrive(configuration)
    var told: [DrivingEventMessage] = []
    while let event = drive.next() {
      pipeline.process(event) { if case .drivingEvent(let message) = $0 { told.append(message) } }
    }
    return told
  }

  @Test func manoeuvresArePublishedOnceWithTimeAndPosition() throws {
    var pipeline = try pipeline(
      { $0.events.limits.braking = 1.8 }, { $0.events.limits.acceleration = 1.5 },
      { $0.events.limits.cornering = 1.5 })
    let told = try play(&pipeline)
    #expect(told.count >= 5)
    #expect(told.map(\.journal.number) == Array(1...Int64(max(1, told.count))))
    for message in told {
      #expect(message.journal.series == "0123456789abcdef" && !message.isOngoing)
      #expect(message.coordinate != nil && message.speed != nil && (message.duration ?? -1) >= 0)
      #expect((message.peak ?? 0) >= (message.limit ?? 1) && (0...1).contains(message.confidence))
      #expect(message.time > Self.start)
      let read = try DrivingEventMessage(json: .init(parsing: message.payload))
      #expect(read.journal == message.journal && read.event == message.event)
    }
  }

  /// An event contains the number of its trip, the trip counts its events, and a run after a loss of power
  /// assigns new numbers.
  @Test func tripsCountEventsAndNumbersAreUnique() throws {
    let settings: [Setting] = [
      { $0.events.limits.braking = 1.8 }, { $0.events.limits.acceleration = 1.5 },
      { $0.events.limits.cornering = 1.5 },
    ]
    var pipeline = try pipeline(settings[0], settings[1], settings[2])
    let first = try play(&pipeline)
    var told: TripMessage?
    pipeline.setTrip(driver: "anna")
    pipeline.advance(to: pipeline.now.advanced(bySeconds: 2)) { if case .trip(let trip) = $0 { told = trip } }
    let trip = try #require(told)
    let inside = first.filter { $0.trip != nil }
    #expect(!inside.isEmpty && inside.allSatisfy { $0.trip == trip.trip.number })
    // Events in the first metres have no trip number yet, but are counted.
    let counted = trip.events.values.reduce(0, +)
    #expect(counted >= inside.count && counted <= first.count)
    let record = try TripState(text: try #require(pipeline.tripsToKeep).text)
    #expect(record.events >= first.count)
    var next = try self.pipeline(settings[0], settings[1], settings[2], trips: record)
    let second = try play(&next)
    #expect(!second.isEmpty)
    #expect(Set(first.map(\.journal)).isDisjoint(with: second.map(\.journal)))
  }

  @Test func ordinaryDriveHasNoEvents() throws {
    var pipeline = try pipeline()
    #expect(try play(&pipeline).isEmpty)
  }

  @Test func disabledEventsAreNotReported() throws {
    var pipeline = try pipeline(
      { $0.events.limits.braking = 1.8 }, { $0.events.kinds = [.overSpeed] })
    #expect(try play(&pipeline).isEmpty)
  }

  @Test func eventPositionsFollowThePrivacyPolicy() throws {
    let hidden: [Setting] = [
      { $0.privacy.addZone(48.1381, 11.5812, radius: 20_000) },
      { $0.location.desiredAccuracy = .reduced },
    ]
    for setting in hidden {
      var pipeline = try pipeline({ $0.events.limits.braking = 1.8 }, setting)
      for message in try play(&pipeline) {
        #expect(message.coordinate == nil && message.speed == nil)
      }
    }
    var blurred = try pipeline({ $0.events.limits.braking = 1.8 }, { $0.privacy.accuracy = 1000 })
    let told = try play(&blurred)
    #expect(!told.isEmpty)
    for message in told { #expect(message.speed == nil && (message.horizontalAccuracy ?? 0) > 100) }
  }

  @Test func speedingIsReportedAtItsStartAndEnd() throws {
    var pipeline = try pipeline(
      { $0.events.limits.speed = 40 / 3.6 }, { $0.events.kinds = [.overSpeed] })
    let told = try play(&pipeline)
    #expect(told.count >= 2)
    for (index, message) in told.enumerated() {
      #expect(message.isOngoing == (index % 2 == 0))
      #expect(message.journal.number == Int64(index / 2 + 1))
    }
  }

  /// The limit of a GeoJSON region applies while the vehicle is inside, by the same decision as in `region` messages.
  @Test(arguments: [true, false]) func regionSpeedLimitAppliesInside(isLimited: Bool) throws {
    var pipeline = try pipeline({ $0.events.kinds = [.overSpeed] })
    let limit = isLimited ? #","speedLimit":8"# : ""
    let text =
      #"{"type":"FeatureCollection","features":[{"type":"Feature","id":"school","properties":{"radius":300\#(limit)},"geometry":{"type":"Point","coordinates":[11,48]}}]}"#
    #expect(
      try RegionCollection(json: JSONValue(parsing: Array(text.utf8))).watch(in: &pipeline.regions).problems
        .isEmpty)
    var told: [DrivingEventMessage] = []
    var crossings: [RegionMessage] = []
    // 12 m/s northwards, from 1 km before the centre to 1 km behind it.
    for second in 0..<167 {
      var fix = PositionFix(timestamp: Timestamp(seconds: Double(second)), mode: .threeDimensional)
      let way = 12 * Double(second) - 1000
      fix.coordinate = Coordinate(latitude: 48 + way / 111_200, longitude: 11)
      (fix.speed, fix.course, fix.horizontalError, fix.speedError) = (12, 0, 4, 0.4)
      pipeline.process(.position([fix])) {
        if case .drivingEvent(let message) = $0 { told.append(message) }
        if case .region(let message) = $0 { crossings.append(message) }
      }
    }
    #expect(crossings.count == 2)
    guard isLimited else { return #expect(told.isEmpty) }
    #expect(told.map(\.event) == [.overSpeed, .overSpeed] && told.map(\.isOngoing) == [true, false])
    let over = try #require(told.last)
    #expect(over.region == "school" && over.limit == 8 && over.severity == .high)
    // Driving 600 m at 12 m/s lasts 50 s.
    #expect(abs((over.duration ?? 0) - 50) < 5, "\(over.duration ?? 0)")
  }

  /// Drives at 90 km/h from the tenth second on, with a limit of 40 km/h.
  private func speed(_ pipeline: inout AgentPipeline, seconds: Range<Int>) -> [DrivingEventMessage] {
    var told: [DrivingEventMessage] = []
    for second in seconds {
      var fix = PositionFix(timestamp: Timestamp(seconds: Double(second)), mode: .threeDimensional)
      fix.time = Self.start.advanced(bySeconds: Double(second))
      fix.coordinate = Coordinate(latitude: 48 + 25 * Double(second) / 111_200, longitude: 11)
      (fix.speed, fix.course, fix.horizontalError) = (second < 10 ? 10 : 25, 0, 4)
      pipeline.process(.position([fix])) { if case .drivingEvent(let message) = $0 { told.append(message) } }
    }
    return told
  }

  @Test func cleanStopEndsActiveEvents() throws {
    var pipeline = try pipeline(
      { $0.events.limits.speed = 40 / 3.6 }, { $0.events.kinds = [.overSpeed] })
    #expect(speed(&pipeline, seconds: 0..<60).map(\.isOngoing) == [true])
    var told: [DrivingEventMessage] = []
    pipeline.finish { if case .drivingEvent(let message) = $0 { told.append(message) } }
    let over = try #require(told.first)
    #expect(told.count == 1 && !over.isOngoing && over.journal.number == 1 && over.peak == 25)
    #expect(abs((over.duration ?? 0) - 49) < 1.5)
    // The event is stored until its delivery is confirmed.
    #expect(pipeline.tripsToKeep?.lasting.map(\.isOngoing) == [false])
    pipeline.confirm(over)
    #expect(pipeline.tripsToKeep?.lasting.isEmpty == true)
  }

  @Test func changedLimitsEndActiveEvents() throws {
    var pipeline = try pipeline(
      { $0.events.limits.speed = 40 / 3.6 }, { $0.events.kinds = [.overSpeed] })
    let begun = try #require(speed(&pipeline, seconds: 0..<60).first)
    var told: [DrivingEventMessage] = []
    func reconfigure(_ settings: Setting...) throws {
      let new = PipelineConfiguration([{ $0.events.kinds = [.overSpeed] }] + settings)
      pipeline.reconfigure(new) {
        if case .drivingEvent(let message) = $0 { told.append(message) }
      }
    }
    // Changes of other settings end no event.
    try reconfigure({ $0.events.limits.speed = 40 / 3.6 }, { $0.privacy.accuracy = 100 })
    #expect(told.isEmpty)
    try reconfigure({ $0.events.limits.speed = 60 / 3.6 })
    #expect(told.map(\.journal) == [begun.journal] && told.map(\.isOngoing) == [false])
    // The event continues under the new limit with a new number.
    let next = speed(&pipeline, seconds: 60..<120)
    #expect(next.map(\.journal.number) == [2] && next.map(\.isOngoing) == [true])
  }

  /// After a kill, the next run ends active events once, always with the same payload.
  @Test func activeEventsEndAfterAKill() throws {
    var first = try pipeline(
      { $0.events.limits.speed = 40 / 3.6 }, { $0.events.kinds = [.overSpeed] })
    let begun = try #require(speed(&first, seconds: 0..<60).first)
    // Power is lost before the outbox has stored the end.
    var kept = try TripState(text: try #require(first.tripsToKeep).text)
    var ends: [[UInt8]] = []
    for isSafe in [false, true] {
      // Another run, with driving events disabled.
      var next = try pipeline({ $0.events.kinds = [] }, trips: kept)
      var told: [DrivingEventMessage] = []
      next.advance(to: Timestamp(seconds: 1)) {
        if case .drivingEvent(let message) = $0 { told.append(message) }
      }
      next.advance(to: Timestamp(seconds: 2)) {
        if case .drivingEvent(let message) = $0 { told.append(message) }
      }
      let over = try #require(told.first)
      #expect(told.count == 1 && over.journal == begun.journal && !over.isOngoing && over.event == .overSpeed)
      #expect(over.time == begun.time && over.peak == begun.peak && over.coordinate == begun.coordinate)
      #expect(abs((over.duration ?? 0) - 49) < 2, "\(over.duration ?? 0)")
      ends.append(over.payload)
      kept = try TripState(text: try #require(next.tripsToKeep).text)
      if isSafe {
        next.confirm(over)
        kept = try #require(next.tripsToKeep)
      }
    }
    #expect(ends[0] == ends[1])
    var last = try pipeline(trips: kept)
    #expect(speed(&last, seconds: 0..<5).isEmpty && kept.lasting.isEmpty)
  }

  @Test func busProvidesIgnitionEngineAndVoltage() throws {
    var pipeline = try pipeline({ $0.vehicle = .init() }, { $0.events.limits.idling = 60 })
    var told: [DrivingEventMessage] = []
    func send(_ readings: [VehicleReading]) {
      pipeline.process(.vehicle(readings)) {
        if case .drivingEvent(let message) = $0 { told.append(message) }
      }
    }
    for second in 0..<200 {
      let now = Timestamp(seconds: Double(second))
      send([
        VehicleReading(
          timestamp: now, path: "Vehicle.Powertrain.CombustionEngine.Speed", value: .number(800)),
        VehicleReading(
          timestamp: now, path: "Vehicle.LowVoltageBattery.CurrentVoltage",
          value: .number(second < 100 ? 11.0 : 12.8)),
      ])
      var fix = PositionFix(timestamp: now, mode: .threeDimensional)
      (fix.coordinate, fix.speed, fix.horizontalError) = (Coordinate(latitude: 48, longitude: 11), 0, 5)
      pipeline.process(.position([fix])) { if case .drivingEvent(let message) = $0 { told.append(message) } }
    }
    #expect(
      told.map(\.event) == [.supplyLow, .idling, .supplyLow]
        || told.map(\.event) == [.idling, .supplyLow, .supplyLow])
    #expect(told.filter { $0.event == .supplyLow }.map(\.isOngoing) == [true, false])
  }
}
