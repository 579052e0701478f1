import Navigation
import Pipeline
import Sensors
import Spatial
import Telemetry
import TestSupport
import Testing

/// Messages made from the signals of a vehicle's CAN bus, in exact virtual time.
@Suite struct VehicleReportsTests {
  private static let start = UTCTime(nanoseconds: 1_795_248_000_000_000_000)

  private func configuration(_ settings: [Setting]) throws -> PipelineConfiguration {
    PipelineConfiguration([{ $0.vehicle = .init() }, { $0.statusInterval = 3600 }] + settings)
  }

  private func pipeline(_ settings: Setting...) throws -> AgentPipeline {
    AgentPipeline(
      configuration: try configuration(settings), start: Timestamp(nanoseconds: 0), time: Self.start,
      version: "1")
  }

  private func context(_ configuration: PipelineConfiguration) -> PipelineContext {
    PipelineContext(
      configuration, start: Timestamp(nanoseconds: 0), SystemTime(time: Self.start, isSynchronized: true))
  }

  /// Returns the speeds for navigation in readings.
  private func wheelSpeeds(_ readings: [VehicleReading], _ settings: Setting...) throws
    -> [WheelSpeed]
  {
    let configuration = try configuration(settings)
    var context = context(configuration)
    var reports = try #require(VehicleReports(configuration))
    var step = try #require(VehicleStep(readings, at: readings.last?.timestamp))
    reports.process(&step, &context)
    return step.speeds
  }

  private func reading(
    _ seconds: Double, _ path: String, _ value: VehicleReading.Value?,
    _ origin: VehicleReading.Origin = .broadcast, resolution: Double? = nil
  ) -> VehicleReading {
    VehicleReading(
      timestamp: Timestamp(seconds: seconds), path: path, value: value, origin: origin, resolution: resolution
    )
  }

  /// Returns the `vehicle` messages, each with the second of its publication.
  private func run(
    _ pipeline: inout AgentPipeline, _ readings: [VehicleReading]
  ) -> [(at: Double, message: VehicleSignals)] {
    var told: [(at: Double, message: VehicleSignals)] = []
    for reading in readings {
      pipeline.process(.vehicle([reading])) {
        if case .vehicle(let message) = $0 { told.append((reading.timestamp.seconds, message)) }
      }
    }
    return told
  }

  @Test func numbersArePublishedAtTheInterval() throws {
    var pipeline = try pipeline({ $0.vehicle?.interval = 10 })
    let told = run(
      &pipeline, (0...600).map { reading(Double($0) / 10, "Vehicle.Speed", .number(Double($0))) })
    // The first message is published one second after the first reading.
    #expect(told.map { $0.at.rounded() } == [1, 11, 21, 31, 41, 51])
    #expect(told[1].message["Vehicle.Speed"] == .number(110))
    #expect(told[1].message.time == Self.start.advanced(bySeconds: 11))
  }

  @Test func stateChangesArePublishedAtMostOncePerSecond() throws {
    var pipeline = try pipeline({ $0.vehicle?.interval = 60 })
    var readings = [reading(0, "Vehicle.IsMoving", .flag(false))]
    for tick in 1...100 { readings.append(reading(Double(tick) / 10, "Vehicle.Speed", .number(5))) }
    readings.append(reading(20, "Vehicle.IsMoving", .flag(true)))
    // A signal that toggles every 0.1 s.
    for tick in 1...50 {
      readings.append(reading(30 + Double(tick) / 10, "Vehicle.IsMoving", .flag(tick % 2 == 0)))
    }
    let told = run(&pipeline, readings)
    #expect(told.prefix(2).map(\.at) == [1, 20])
    #expect(told[1].message["Vehicle.IsMoving"] == .flag(true))
    #expect(
      told[1].message.signals.first { $0.path == "Vehicle.Speed" }?.time == Self.start.advanced(bySeconds: 10)
    )
    #expect((4...6).contains(told.count - 2))
  }

  /// The agent does not wake up for a bus whose readings are published.
  @Test func deadlineExistsOnlyWithUnpublishedReadings() throws {
    let configuration = try configuration([{ $0.vehicle?.interval = 10 }])
    var context = context(configuration)
    var reports = try #require(VehicleReports(configuration))
    #expect(reports.nextDeadline(context) == nil)
    var step = try #require(
      VehicleStep([reading(0, "Vehicle.Speed", .number(5))], at: Timestamp(nanoseconds: 0)))
    reports.process(&step, &context)
    let deadline = try #require(reports.nextDeadline(context))
    reports.advance(to: deadline, &context)
    #expect(reports.nextDeadline(context) == nil)
    #expect(context.drainMessages().map { $0.kind == .vehicle } == [true])
  }

  @Test func silentBusPublishesNothingAndMissingValuesAreOmitted() throws {
    var pipeline = try pipeline({ $0.vehicle?.interval = 10 })
    var told = run(
      &pipeline, [reading(0, "Vehicle.Speed", .number(5)), reading(0.5, "Vehicle.OBD.RunTime", .number(7))])
    pipeline.advance(to: Timestamp(seconds: 1)) {
      if case .vehicle(let message) = $0 { told.append((1, message)) }
    }
    #expect(told.map(\.message.signals.count) == [2])
    pipeline.advance(to: Timestamp(seconds: 1000)) {
      if case .vehicle(let message) = $0 { told.append((1000, message)) }
    }
    #expect(told.count == 1)
    told = run(&pipeline, [reading(2000, "Vehicle.Speed", nil)])
    #expect(told.map(\.message.signals.count) == [1])
  }

  @Test func pendingSignalsArePublishedAtTheEnd() throws {
    var pipeline = try pipeline()
    _ = run(&pipeline, [reading(0, "Vehicle.Speed", .number(5))])
    var last: [VehicleSignals] = []
    pipeline.finish { if case .vehicle(let message) = $0 { last.append(message) } }
    #expect(last.count == 1 && last[0]["Vehicle.Speed"] == .number(5))
  }

  // MARK: Speed for navigation

  @Test func speedIsInMetresPerSecondWithAccuracy() throws {
    let speeds = try wheelSpeeds([
      reading(1, "Vehicle.Speed", .number(36), resolution: 1.0 / 256),
      reading(2, "Vehicle.TraveledDistance", .number(36)),
      reading(3, "Vehicle.Speed", nil), reading(4, "Vehicle.Speed", .number(36), .diagnostic, resolution: 1),
      reading(5, "Vehicle.Speed", .number(36), resolution: 1),
    ])
    #expect(speeds.map(\.speed) == [10, 10, 10])
    // Answers to diagnostic requests are some tenths of a second late, and coarse.
    #expect(speeds.map(\.timestamp.seconds) == [1, 3.7, 5])
    #expect(speeds.map { $0.deviation != nil } == [false, true, true])
  }

  @Test func speedSignalIsConfigurable() throws {
    let wheel = "Vehicle.Chassis.Axle.Row2.Wheel.Left.Speed"
    let readings = [reading(1, "Vehicle.Speed", .number(36)), reading(1, wheel, .number(18))]
    #expect(try wheelSpeeds(readings, { $0.vehicle?.speedPath = wheel }).map(\.speed) == [5])
    #expect(try wheelSpeeds(readings, { $0.vehicle?.speedPath = nil }).isEmpty)
  }

  @Test func nothingIsPublishedWithoutABus() throws {
    let configuration = PipelineConfiguration([], isVirtual: false)
    #expect(configuration.vehicle == nil)
    var pipeline = AgentPipeline(
      configuration: configuration, start: Timestamp(nanoseconds: 0), time: Self.start, version: "1")
    #expect(
      run(&pipeline, [reading(0, "Vehicle.Speed", .number(5)), reading(20, "Vehicle.Speed", .number(5))])
        .isEmpty)
    #expect(pipeline.vehicleSignals == nil)
  }
}
