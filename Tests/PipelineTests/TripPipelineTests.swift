import JSON
import Navigation
import Pipeline
import Positioning
import Sensors
import Spatial
import Telemetry
import Testing

/// `trip` messages with a receiver, a CAN bus and a privacy policy.
@Suite struct TripPipelineTests {
  private static let start = UTCTime(nanoseconds: 1_795_248_000_000_000_000)
  private static let origin = Coordinate(latitude: 48, longitude: 11)

  /// A vehicle that drives north.
  private struct Drive {
    var pipeline: AgentPipeline
    var second = 0
    var way = 0.0
    var told: [TripMessage] = []

    init(_ settings: [Setting] = [], kept: TripState? = nil) throws {
      let configuration = PipelineConfiguration(settings)
      pipeline = AgentPipeline(
        configuration: configuration, start: Timestamp(seconds: 0), time: TripPipelineTests.start,
        version: "1", trips: kept)
    }

    /// True if the receiver measures speed and course. `interval` is the time between two positions in seconds.
    var hasSpeed = true
    var interval = 1

    mutating func go(_ seconds: Int, speed: Double = 0, hasSky: Bool = true) {
      for _ in 0..<seconds {
        second += 1
        way += speed
        var fix = PositionFix(
          timestamp: Timestamp(seconds: Double(second)),
          time: TripPipelineTests.start.advanced(bySeconds: Double(second)),
          mode: .threeDimensional, coordinate: TripPipelineTests.origin.destination(distance: way, bearing: 0)
        )
        if hasSpeed { (fix.speed, fix.course, fix.horizontalError) = (speed, 0, 3) }
        if hasSky, second.isMultiple(of: interval) { send(.position([fix])) }
      }
    }

    mutating func bus(_ path: String, _ value: VehicleReading.Value?) {
      send(
        .vehicle([VehicleReading(timestamp: Timestamp(seconds: Double(second)), path: path, value: value)]))
    }

    mutating func finish() {
      var messages: [TripMessage] = []
      pipeline.finish { if case .trip(let message) = $0 { messages.append(message) } }
      told += messages
    }

    mutating func send(_ event: SensorEvent) {
      var messages: [TripMessage] = []
      pipeline.process(event) { if case .trip(let message) = $0 { messages.append(message) } }
      told += messages
    }
  }

  @Test func tripIsPublishedAtStartIntervalsAndEnd() throws {
    var drive = try Drive()
    drive.go(60)
    drive.go(700, speed: 10)
    drive.go(310)
    #expect(drive.told.map(\.phase) == [.started, .underway, .underway, .ended])
    #expect(drive.told.map(\.revision) == [1, 2, 3, 4])
    let trip = try #require(drive.told.last)
    #expect(abs(trip.start.time.seconds(since: Self.start) - 60) <= 2)
    #expect(abs(trip.end.time.seconds(since: Self.start) - 760) <= 3)
    #expect(abs(trip.distance - 7000) < 10 && trip.estimated == 0)
    #expect(trip.kind == .driven && trip.idling == nil && trip.way.count >= 2)
    #expect(trip.trip.series.count == 16 && trip.trip.number == 1)
    // Each message can be decoded again.
    for message in drive.told {
      let read = try TripMessage(json: JSONValue(parsing: message.payload))
      #expect(read.trip == message.trip && read.phase == message.phase)
    }
    // The sum of the trips equals the odometer.
    let odometer = try #require(drive.pipeline.odometerToKeep)
    #expect(abs(odometer.distance - trip.distance) < 1)
  }

  /// Positions without speed, as in a GPX track.
  @Test(arguments: [1, 5, 12, 30, 60]) func positionsWithoutSpeedMakeOneTrip(interval: Int) throws {
    var drive = try Drive()
    (drive.hasSpeed, drive.interval) = (false, interval)
    drive.go(60)
    drive.go(720, speed: 10)
    drive.go(600)
    #expect(Set(drive.told.map(\.trip.number)) == [1] && drive.told.allSatisfy { $0.kind == .driven })
    let trip = try #require(drive.told.last)
    #expect(trip.phase == .ended && abs(trip.distance - 7200) < 100, "\(trip.distance)")
    for message in drive.told {
      let mean = try #require(message.meanSpeed)
      #expect(try mean <= #require(message.greatestSpeed) + 0.01 && mean < 10.1, "\(mean)")
    }
    #expect(try #require(trip.meanSpeed) > 8)
  }

  /// At the end of a recording and before a restart, the current trip is published with its complete distance.
  @Test func openTripIsPublishedBeforeACleanStop() throws {
    var drive = try Drive()
    drive.hasSpeed = false
    drive.go(40, speed: 10)
    drive.finish()
    let trip = try #require(drive.told.last)
    #expect(drive.told.map(\.phase) == [.started, .underway] && trip.kind == .driven)
    #expect(abs(trip.distance - 400) < 60, "\(trip.distance)")
    #expect(abs(try #require(trip.meanSpeed) - 10) < 0.5)
    // Without changes, nothing is published. With interval 0, only starts and ends are published.
    drive.finish()
    #expect(drive.told.count == 2)
    var quiet = try Drive([{ $0.trips.interval = nil }])
    quiet.go(40, speed: 10)
    quiet.finish()
    #expect(quiet.told.map(\.phase) == [.started])
  }

  @Test func configuredStopEndsTheTrip() throws {
    var (short, long) = (
      try Drive([{ $0.trips.stop = 60 }, { $0.trips.interval = nil }]),
      try Drive([{ $0.trips.stop = 600 }])
    )
    for seconds in [60, 120] {
      short.go(200, speed: 10)
      short.go(seconds + 10)
      long.go(200, speed: 10)
      long.go(seconds + 10)
    }
    #expect(short.told.map(\.phase) == [.started, .ended, .started, .ended])
    #expect(long.told.filter { $0.phase == .ended }.isEmpty)
  }

  @Test func busProvidesIgnitionFuelAndBattery() throws {
    var drive = try Drive([{ $0.vehicle = .init() }])
    drive.go(60)
    drive.bus("Vehicle.LowVoltageSystemState", .text("ON"))
    for _ in 0..<60 {
      drive.go(5, speed: 10)
      drive.bus("Vehicle.OBD.FuelRate", .number(7.2))
      drive.bus("Vehicle.Powertrain.TractionBattery.CurrentPower", .number(-3600))
    }
    drive.go(20)
    drive.bus("Vehicle.OBD.FuelRate", .number(0))
    drive.bus("Vehicle.LowVoltageSystemState", .text("OFF"))
    drive.go(310)
    let trip = try #require(drive.told.last)
    #expect(trip.phase == .ended)
    #expect(abs(trip.end.time.seconds(since: Self.start) - 380) <= 2)
    #expect(abs((trip.idling ?? 0) - 20) <= 4)
    #expect(abs((trip.fuel ?? 0) - 0.6) < 0.05 && abs((trip.electricity ?? 0) - 0.3) < 0.03)
  }

  @Test func withheldTripPositionsAreNeitherPublishedNorStored() throws {
    var drive = try Drive([
      { $0.privacy.addZone(48, 11, radius: 500) }, { $0.trips.interval = nil },
    ])
    drive.go(60)
    drive.go(300, speed: 10)
    drive.go(310)
    let trip = try #require(drive.told.last)
    #expect(trip.start.coordinate == nil && trip.start.odometer == nil && trip.end.coordinate != nil)
    #expect(trip.way.allSatisfy { Self.origin.distance(to: $0.coordinate) > 490 })
    // The distance is in whole kilometres. In metres, it would reveal how far the route leads into the zone.
    #expect(trip.distance == 2000 || trip.distance == 3000)
    #expect(trip.end.odometer != nil && trip.meanSpeed == nil)
    #expect(drive.pipeline.tripsToKeep?.text.contains(" 48.000") == false)
  }

  @Test func reducedAccuracyPublishesCellsAndKilometres() throws {
    var drive = try Drive([{ $0.location.desiredAccuracy = .reduced }])
    drive.go(60)
    drive.go(300, speed: 20)
    drive.go(310)
    let trip = try #require(drive.told.last)
    #expect(trip.way.isEmpty && trip.distance.truncatingRemainder(dividingBy: 1000) == 0 && trip.distance > 0)
    #expect(trip.start.coordinate.map { Self.origin.distance(to: $0) > 100 } ?? true)
  }

  @Test func disabledTripsAreNotPublished() throws {
    let settings: [Setting] = [{ $0.trips.isEnabled = false }, { $0.location.isEnabled = false }]
    for setting in settings {
      var drive = try Drive([setting])
      drive.go(300, speed: 10)
      #expect(drive.told.isEmpty && !drive.pipeline.hasTrips)
      // The numbers of driving events are stored nevertheless.
      #expect(drive.pipeline.tripsToKeep.map { $0.count == 0 && $0.boundary == nil } == true)
      #expect(try Drive([setting, { $0.events.kinds = [] }]).pipeline.tripsToKeep == nil)
    }
  }

  /// A trip in progress ends before trips or locations are disabled at run time.
  @Test func disablingTripsEndsTheTrip() throws {
    let settings: [Setting] = [{ $0.trips.isEnabled = false }, { $0.location.isEnabled = false }]
    for setting in settings {
      var drive = try Drive()
      drive.go(60)
      drive.go(700, speed: 10)
      var messages: [TripMessage] = []
      drive.pipeline.reconfigure(PipelineConfiguration([setting])) {
        if case .trip(let message) = $0 { messages.append(message) }
      }
      #expect(messages.map(\.phase) == [.ended])
      #expect(messages.first.map { abs($0.distance - 7000) < 100 } == true, "\(messages)")
      drive.go(100, speed: 10)
      #expect(drive.told.last?.phase == .underway)
    }
  }

  /// A trip whose delivery was not confirmed is published again unchanged.
  @Test func unconfirmedTripIsPublishedAgain() throws {
    var drive = try Drive()
    drive.go(60)
    drive.go(100, speed: 10)
    let first = try #require(drive.told.first)
    let kept = try TripState(text: try #require(drive.pipeline.tripsToKeep).text)
    var again = try Drive(kept: kept)
    again.go(1)
    #expect(again.told.first?.trip == first.trip && again.told.first?.revision == first.revision)
    drive.pipeline.confirm(first)
    var quiet = try Drive(kept: drive.pipeline.tripsToKeep)
    quiet.go(1)
    #expect(quiet.told.isEmpty)
  }

  @Test func commandSetsTheDriver() throws {
    func command(_ text: String) throws -> RemoteCommand {
      try RemoteCommand(name: "set-trip", arguments: JSONValue(parsing: Array(text.utf8)))
    }
    #expect(try command(#"{"driver":"A. Jansen"}"#) == .setTrip(driver: "A. Jansen", purpose: nil))
    #expect(try command(#"{"purpose":""}"#) == .setTrip(driver: nil, purpose: ""))
    for text in ["{}", #"{"driver":1}"#, #"{"driver":"a\u0007"}"#] {
      #expect(throws: JSONError.self) { try command(text) }
    }
    var drive = try Drive()
    drive.pipeline.setTrip(driver: "A. Jansen")
    drive.go(100, speed: 10)
    #expect(drive.told.last?.driver == "A. Jansen" && drive.told.last?.purpose == nil)
  }
}
