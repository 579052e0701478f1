import JSON
import Motion
import Pipeline
import Positioning
import Sensors
import Simulation
import Spatial
import Telemetry
import TestSupport
import Testing

/// The command `level` in exact virtual time.
@Suite struct LevelPipelineTests {
  private static let start = UTCTime(nanoseconds: 1_795_248_000_000_000_000)
  /// Mounting of the device: rotated by 20° about its x axis.
  private static let mounting = Quaternion(angle: 20.0.radians, axis: Vector3(1, 0, 0))

  private func pipeline(_ settings: Setting...) throws -> AgentPipeline {
    let configuration = PipelineConfiguration(
      [
        { $0.attitude.filter = 0 }, { $0.attitude.interval = 0.1 },
        { $0.attitude.frame = .xArbitraryZVertical },
      ]
        + settings, isVirtual: false)
    return AgentPipeline(
      configuration: configuration, start: Timestamp(nanoseconds: 0), time: Self.start, version: "1")
  }

  /// Returns the sample of a tilted device for a force of the vehicle in m/s², without gravity.
  private func scan(
    _ time: Double, force: Vector3 = .zero, noise: Double = 0.01, turned: Quaternion = .identity
  )
    -> InertialScan
  {
    let step = Double(Int((time * 100).rounded()) % 7 - 3)
    var scan = InertialScan(timestamp: Timestamp(seconds: time))
    scan.specificForce =
      (turned * Self.mounting).rotate(force + Vector3(0, 0, standardGravity)) + Vector3(noise * step, 0, 0)
    scan.rotationRate = Vector3(1e-5 * step, 0, 0)
    return scan
  }

  private func play(
    _ pipeline: inout AgentPipeline, from: Double, to end: Double, _ body: (Double) -> InertialScan
  ) -> [AttitudeMessage] {
    var attitudes: [AttitudeMessage] = []
    for step in Int((from * 100).rounded())..<Int((end * 100).rounded()) {
      pipeline.process(.inertial([body(Double(step) / 100)])) {
        if case .attitude(let attitude) = $0 { attitudes.append(attitude) }
      }
    }
    return attitudes
  }

  private func measured(_ pipeline: AgentPipeline) throws -> StatusMessage.Level {
    guard case .measured(let level)? = pipeline.lastLevel.outcome else {
      Issue.record("\(pipeline.lastLevel)")
      throw LevelFailure.undecided
    }
    return level
  }

  @Test func levelIsMeasuredAtRestAndSubtracted() throws {
    var pipeline = try pipeline()
    let before = play(&pipeline, from: 0, to: 4) { scan($0) }
    #expect(try #require(before.last?.gravity).z > -0.95)
    pipeline.startLeveling()
    #expect(pipeline.lastLevel.count == 0 && pipeline.level == nil)
    // A request during a measurement joins it.
    _ = play(&pipeline, from: 4, to: 5) { scan($0) }
    pipeline.startLeveling()
    _ = play(&pipeline, from: 5, to: 6.2) { scan($0) }
    #expect(pipeline.lastLevel.count == 1)
    let level = try measured(pipeline)
    #expect(abs(level.tilt - 20) < 0.1)
    // Braking at 0.2 g: the result is in vehicle axes.
    let after = play(&pipeline, from: 6.2, to: 7) { scan($0, force: Vector3(0, -0.2 * standardGravity, 0)) }
    let last = try #require(after.last)
    #expect((try #require(last.gravity) - Vector3(0, 0, -1)).length < 0.02)
    #expect((try #require(last.userAcceleration) - Vector3(0, 0.2, 0)).length < 0.02)
    #expect(abs(try #require(last.angles).pitch) < 0.02)
    // The level is in `status`, which is published immediately, and in the stored calibration.
    let told = try #require(pipeline.lastStatus)
    #expect(told.level == level && (told.uptime ?? 0) < 6.8)
    let payload = told.payload
    #expect(abs(try #require(StatusMessage(json: JSONValue(parsing: payload)).level).tilt - 20) < 0.1)
    #expect(pipeline.calibration.level == pipeline.level)
    // The orientation is unchanged.
    #expect(told.orientation == .faceUp)

    pipeline.clearLevel()
    #expect(pipeline.level == nil && pipeline.report(.online, at: Timestamp(seconds: 8)).level == nil)
    let again = play(&pipeline, from: 8, to: 9) { scan($0) }
    #expect(try #require(again.last?.gravity).z > -0.95)
  }

  /// The impact side refers to the vehicle, independent of the mounting of the device.
  @Test func impactsAreInVehicleAxes() throws {
    var pipeline = try pipeline({ $0.motion.events = [.impact] })
    let upright = Quaternion(angle: 70.0.radians, axis: Vector3(1, 0, 0))
    func sides(from start: Double) -> [Impact.Side] {
      var sides: [Impact.Side] = []
      for step in Int(start * 100)..<Int((start + 2) * 100) {
        let time = Double(step) / 100
        // An impact on the top pushes the vehicle down.
        let force = (start + 1..<start + 1.04).contains(time) ? -4 * standardGravity : 0
        pipeline.process(.inertial([scan(time, force: Vector3(0, 0, force), turned: upright)])) {
          if case .motion(let motion) = $0, case .impact(let side, _, _) = motion.event { sides.append(side) }
        }
      }
      return sides
    }
    _ = play(&pipeline, from: 0, to: 4) { scan($0, turned: upright) }
    #expect(sides(from: 4) == [.rear])
    _ = play(&pipeline, from: 6, to: 16) { scan($0, turned: upright) }
    pipeline.startLeveling()
    _ = play(&pipeline, from: 16, to: 20) { scan($0, turned: upright) }
    #expect(abs(try measured(pipeline).tilt - 90) < 0.1)
    #expect(sides(from: 20) == [.top])
  }

  @Test func attitudeReferenceIsUnchangedByLeveling() throws {
    var pipeline = try pipeline()
    _ = play(&pipeline, from: 0, to: 4) { scan($0) }
    let zero = pipeline.zeroAttitude()
    #expect(zero != nil)
    pipeline.startLeveling()
    let after = play(&pipeline, from: 4, to: 8) { scan($0) }
    #expect(pipeline.level != nil)
    for message in after {
      let turn = try #require(message.relative)
      #expect(Quaternion.shortest(from: turn.gravity, to: Vector3(0, 0, -1)).angle < 0.02)
      #expect(abs(turn.yaw) < 0.02)
    }
  }

  @Test func eachObstacleIsNamed() throws {
    func failure(_ pipeline: AgentPipeline) -> LevelFailure? {
      if case .failed(let failure)? = pipeline.lastLevel.outcome { failure } else { nil }
    }
    func shaken(_ time: Double) -> InertialScan {
      scan(time, force: Vector3(0, time.truncatingRemainder(dividingBy: 0.5) < 0.25 ? 1 : -1, 0))
    }
    var none = try pipeline()
    none.startLeveling()
    #expect(failure(none) == .noAccelerometer && none.lastLevel.count == 1)

    var silent = try pipeline()
    silent.process(
      .status(
        SourceStatus(
          timestamp: Timestamp(seconds: 0), source: "iio", kinds: [.accelerometer],
          state: .active(rates: [:])))
    ) { _ in }
    silent.startLeveling()
    let deadline = try #require(silent.nextDeadline)
    #expect(deadline <= Timestamp(seconds: LevelMeasurement.timeLimit))
    silent.advance(to: Timestamp(seconds: LevelMeasurement.timeLimit)) { _ in }
    #expect(failure(silent) == .silent)

    var moving = try pipeline()
    _ = play(&moving, from: 0, to: 6, shaken)
    moving.startLeveling()
    #expect(failure(moving) == .moving && moving.level == nil)

    // The vehicle drives off during the measurement.
    var leaving = try pipeline()
    _ = play(&leaving, from: 0, to: 4) { scan($0) }
    leaving.startLeveling()
    _ = play(&leaving, from: 4, to: 5) { scan($0) }
    _ = play(&leaving, from: 5, to: 9, shaken)
    #expect(
      try #require(failure(leaving)).description.contains(/moved or swayed|moves/) && leaving.level == nil)

    // The sensors detect no motion, but the receiver reports a speed.
    var gliding = try pipeline()
    _ = play(&gliding, from: 0, to: 4) { scan($0) }
    var fix = PositionFix(
      timestamp: Timestamp(seconds: 4), time: Self.start.advanced(bySeconds: 4), mode: .threeDimensional,
      coordinate: Coordinate(latitude: 48, longitude: 11))
    fix.speed = 20
    gliding.process(.position([fix])) { _ in }
    gliding.startLeveling()
    _ = play(&gliding, from: 4, to: 5) { scan($0) }
    #expect(failure(gliding) == .moving)

    var turned = try pipeline()
    _ = play(&turned, from: 0, to: 4) { scan($0) }
    turned.startLeveling()
    _ = play(&turned, from: 4, to: 7) { time in
      scan(time, turned: Quaternion(angle: (3 * (time - 4)).radians, axis: Vector3(0, 1, 0)))
    }
    #expect(turned.level == nil && failure(turned) != nil)

    var noisy = try pipeline()
    _ = play(&noisy, from: 0, to: 4) { scan($0) }
    noisy.startLeveling()
    var generator = SeededGenerator(seed: 4)
    _ = play(&noisy, from: 4, to: 8) { time in
      var scan = scan(time)
      scan.specificForce? += 0.15 * standardGravity * generator.nextNormalVector()
      return scan
    }
    #expect(noisy.level == nil && failure(noisy) != nil)
    for reason in [
      LevelFailure.noAccelerometer, .moving, .silent, .undecided, .moved(degrees: 1.26),
      .noisy(degrees: 7.04),
    ] { #expect(reason.description.contains(";"), "\(reason) has no remedy") }
    let moved = LevelFailure.moved(degrees: 1.26).description
    // Driving off turns the device as much as a hand does.
    #expect(moved.contains("1.3°") && moved.contains("moved or swayed") && moved.contains("touched"))
  }

  /// At rest, the command wakes the sleeping accelerometer and releases it afterwards.
  @Test func levelCommandPowersTheAccelerometer() throws {
    var pipeline = try pipeline(
      { $0.location.desiredAccuracy = .hundredMeters }, { $0.heading.isEnabled = false },
      { $0.attitude.isEnabled = false },
      { $0.motion.events = [.activity] })
    func rate() -> Double? {
      if case .rate(let hertz, _)? = pipeline.demands[.accelerometer] { hertz } else { nil }
    }
    _ = play(&pipeline, from: 0, to: 4) { scan($0) }
    #expect(rate() == 12.5)
    pipeline.startLeveling()
    #expect(rate() == 100)
    _ = play(&pipeline, from: 4, to: 7) { scan($0) }
    _ = try measured(pipeline)
    pipeline.advance(to: Timestamp(seconds: 7)) { _ in }
    #expect(rate() == 12.5)
  }
}
