import Glibc
import Motion
import Pipeline
import Positioning
import Sensors
import Simulation
import Spatial
import Telemetry
import TestSupport
import Testing

/// The barometer in the agent: altitudes of locations, parking levels, and `altitude` messages.
@Suite struct AltitudePipelineTests {
  private static let start = UTCTime(nanoseconds: 1_795_248_000_000_000_000)

  private func pipeline(_ settings: Setting...) throws -> AgentPipeline {
    let configuration = PipelineConfiguration(
      [
        { $0.location.policy = .distance(nil) }, { $0.statusInterval = 1000 },
      ] + settings)
    return AgentPipeline(
      configuration: configuration, start: Timestamp(seconds: 0), time: Self.start, version: "1")
  }

  /// Plays a drive at 480 m with an altitude error of the receiver of ±5 m. From 300 s to 360 s, the vehicle
  /// descends by `fall` metres into a garage. `isSeen` returns true for seconds with a fix.
  private func play(
    _ pipeline: inout AgentPipeline, fall: Double = 0, seconds: Int = 420, hasBarometer: Bool = true,
    isSeen: (Int) -> Bool = { $0 < 300 }
  ) -> [VehicleMessage] {
    var messages: [VehicleMessage] = []
    for second in 0..<seconds {
      let time = Timestamp(seconds: Double(second))
      let height = 480 - fall * min(1, max(0, Double(second - 300) / 60))
      if hasBarometer {
        let pressure =
          StandardAtmosphere.seaLevelPressure * StandardAtmosphere.pressureRatio(altitude: height - 60)
        pipeline.process(.barometer([PressureData(timestamp: time, pressure: pressure)])) {
          messages.append($0)
        }
      }
      var fix = PositionFix(
        timestamp: time, time: Self.start.advanced(bySeconds: Double(second)), mode: .noFix)
      if isSeen(second) {
        fix.mode = .threeDimensional
        fix.coordinate = Coordinate(latitude: 48 + Double(second) * 3e-5, longitude: 11)
        let error = 5 * sin(Double(second) / 20)
        (fix.altitudeMeanSeaLevel, fix.altitudeEllipsoidal) = (height + error, height + error + 46)
        (fix.horizontalError, fix.verticalError) = (5, 1.96 * 5)
        (fix.speed, fix.course) = (3.3, 0)
      }
      pipeline.process(.position([fix])) { messages.append($0) }
    }
    return messages
  }

  private func altitudes(_ messages: [VehicleMessage]) -> [AltitudeMessage] {
    messages.compactMap { if case .altitude(let message) = $0 { message } else { nil } }
  }

  private func locations(_ messages: [VehicleMessage]) -> [Location] {
    messages.compactMap { if case .location(let message) = $0 { message.location } else { nil } }
  }

  /// Locations have the fused altitude, more accurate than the receiver's, above both reference surfaces.
  /// Without a barometer or with `altitude.enabled` off, locations are unchanged.
  @Test func barometerImprovesLocationAltitudes() throws {
    var with = try pipeline()
    let bettered = locations(play(&with, seconds: 300)).suffix(100)
    #expect(bettered.count == 100 && bettered.allSatisfy { $0.altitudeSource == .fused && $0.floor == nil })
    for location in bettered {
      let (altitude, accuracy) = (try #require(location.altitude), try #require(location.verticalAccuracy))
      #expect(abs(altitude - 480) < 4.5 && accuracy < 5)
      let ellipsoidal = try #require(location.ellipsoidalAltitude)
      #expect(abs(ellipsoidal - altitude - 46) < 1e-6)
    }
    var without = try pipeline()
    let plain = locations(play(&without, seconds: 300, hasBarometer: false))
    #expect(plain.allSatisfy { $0.altitudeSource == nil && abs(($0.altitude ?? 0) - 480) < 5.001 })
    var off = try pipeline({ $0.altitude.isEnabled = false })
    #expect(locations(play(&off, seconds: 300)) == plain)
  }

  /// In a garage, each change of the level is published in a retained message. Under open sky, the level is removed.
  @Test func parkingLevelIsReported() throws {
    var pipeline = try pipeline()
    var told = altitudes(play(&pipeline, fall: 8.7))
    let first = try #require(told.first)
    let altitude = try #require(first.altitude)
    #expect(first.floor == nil && first.source == .fused && abs(altitude - 480) < 12)
    let levels = told.dropFirst().map { $0.floor?.level }
    #expect(levels == [-1, -2, -3] || levels == [-1, -2, -3, nil, -3], "\(levels)")
    let last = try #require(told.last)
    let floor = try #require(last.floor)
    // The level is published when it becomes the most likely one.
    #expect(floor.confidence > 0.5 && abs(floor.height + 8) < 0.9 && last.source == .barometric)
    #expect(abs(last.relativeAltitude - floor.height) < 0.5)
    // Under open sky, the retained level is removed.
    var fix = PositionFix(
      timestamp: Timestamp(seconds: 0), time: Self.start, mode: .threeDimensional)
    fix.coordinate = Coordinate(latitude: 48.0091, longitude: 11)
    (fix.altitudeMeanSeaLevel, fix.verticalError, fix.horizontalError, fix.speed) = (472, 8, 5, 3)
    var messages: [VehicleMessage] = []
    for second in 0..<3 {
      fix.timestamp = Timestamp(seconds: 420.5 + Double(second))
      fix.time = Self.start.advanced(bySeconds: 420.5 + Double(second))
      pipeline.process(.position([fix])) { messages.append($0) }
      let pressure = PressureData(timestamp: Timestamp(seconds: 421 + Double(second)), pressure: 96_450)
      pipeline.process(.barometer([pressure])) { messages.append($0) }
    }
    told = altitudes(messages)
    #expect(told.count == 1 && told.first?.floor == nil, "\(told)")
  }

  @Test func messagesArePublishedAtTheirInterval() throws {
    var pipeline = try pipeline({ $0.altitude.interval = 20 })
    let told = altitudes(play(&pipeline, seconds: 300))
    #expect((15...17).contains(told.count), "\(told.count)")
    var silent = try self.pipeline()
    #expect(altitudes(play(&silent, seconds: 300)).count == 1)
    var off = try self.pipeline({ $0.altitude.isEnabled = false }, { $0.altitude.interval = 20 })
    #expect(altitudes(play(&off, seconds: 300)).isEmpty)
    var unlocated = try self.pipeline(
      { $0.location.isEnabled = false }, { $0.altitude.interval = 20 })
    #expect(altitudes(play(&unlocated, seconds: 300)).isEmpty)
  }

  /// Altitudes can reveal the position: none is published while positions are withheld or blurred.
  @Test(arguments: ["zone", "blurring zone", "privacy.accuracy", "reduced"])
  func privatePositionsPublishNoAltitude(privacy: String) throws {
    var pipeline = try pipeline({
      $0.altitude.interval = 1
      switch privacy {
      case "zone": $0.privacy.addZone(48, 11, radius: 50_000)
      case "blurring zone": $0.privacy.addZone(48, 11, radius: 50_000, .blur)
      case "privacy.accuracy": $0.privacy.accuracy = 500
      default: $0.location.desiredAccuracy = .reduced
      }
    })
    let messages = play(&pipeline, fall: 8.7)
    #expect(altitudes(messages).isEmpty)
    #expect(locations(messages).allSatisfy { $0.altitude == nil && $0.floor == nil })
  }

  /// The barometer runs at 1 Hz while the vehicle moves. It is off at rest and if altitudes or locations are disabled.
  @Test func barometerIsDemandedWhileMoving() throws {
    var pipeline = try pipeline()
    #expect(pipeline.demands[.barometer] == .rate(hertz: 1, latency: .milliseconds(500)))
    for index in 0..<6000 {
      let scan = InertialScan(
        timestamp: Timestamp(seconds: Double(index) / 100), specificForce: Vector3(0, 0, 9.81),
        rotationRate: .zero)
      pipeline.process(.inertial([scan])) { _ in }
    }
    #expect(pipeline.isAtRest && pipeline.demands[.barometer] == .off)
    #expect(try self.pipeline({ $0.altitude.isEnabled = false }).demands[.barometer] == .off)
    #expect(try self.pipeline({ $0.location.isEnabled = false }).demands[.barometer] == .off)
  }

  /// `status` reports whether a barometer is available, or why not.
  @Test func statusListsMissingRequirements() throws {
    func service(_ pipeline: AgentPipeline) -> String? {
      pipeline.report(.online, at: Timestamp(seconds: 400)).services["altitude"]
    }
    var with = try pipeline()
    _ = play(&with, seconds: 10)
    #expect(service(with) == "available")
    let without = try #require(service(try pipeline()))
    #expect(without.contains("no source has it (barometer)"))
    #expect(
      service(try pipeline({ $0.altitude.isEnabled = false }))
        == "switched off; set altitude.enabled = true")
  }

  /// A new configuration retains the estimated level.
  @Test func reconfigurationPreservesState() throws {
    var pipeline = try pipeline()
    _ = play(&pipeline, fall: 5.8)
    pipeline.reconfigure(
      PipelineConfiguration([
        { $0.location.policy = .distance(nil) }, { $0.altitude.interval = 1 },
      ])
    ) { _ in }
    var messages: [VehicleMessage] = []
    let pressure =
      StandardAtmosphere.seaLevelPressure * StandardAtmosphere.pressureRatio(altitude: 480 - 60 - 5.8)
    pipeline.process(.barometer([PressureData(timestamp: Timestamp(seconds: 420), pressure: pressure)])) {
      messages.append($0)
    }
    #expect(altitudes(messages).first?.floor?.level == -2)
  }
}
