import JSON
import Motion
import Pipeline
import Sensors
import Simulation
import Spatial
import Telemetry
import TestSupport
import Testing

/// Gestures, rest and orientation, from the configuration to the message, in exact virtual time.
@Suite struct GesturePipelineTests {
  private static let start = UTCTime(nanoseconds: 1_795_248_000_000_000_000)

  private func pipeline(_ settings: [Setting]) throws -> AgentPipeline {
    let configuration = PipelineConfiguration(settings)
    return AgentPipeline(
      configuration: configuration, start: Timestamp(nanoseconds: 0), time: Self.start, version: "1")
  }

  /// Plays blocks of 0.2 s at 100 Hz. `gravity` is the direction of gravity in the device, `force` the user
  /// acceleration in g with Core Motion's sign.
  private func play(
    _ pipeline: inout AgentPipeline, from: Double = 0, to end: Double, gravity: Vector3 = Vector3(0, 0, -1),
    hasGyroscope: Bool = true, force: (Double) -> Vector3 = { _ in .zero }
  ) throws -> [JSONValue] {
    var messages: [VehicleMessage] = []
    var index = Int((from * 100).rounded())
    while Double(index) / 100 < end {
      let block = (0..<20).map { step in
        let time = Double(index + step) / 100
        let noise = 1e-4 * Double((index + step) % 7)
        var scan = InertialScan(
          timestamp: Timestamp(seconds: time), acceleration: gravity + force(time) + Vector3(noise, 0, 0))
        if hasGyroscope { scan.rotationRate = Vector3(noise * 0.01, 0, 0) }
        return scan
      }
      index += 20
      pipeline.process(.inertial(block)) { messages.append($0) }
    }
    return try messages.filter { $0.kind == .motion }.map {
      try JSONValue(parsing: $0.encode(identity: MessageIdentity(epoch: "e", seq: 1)))
    }
  }

  @Test(arguments: [false, true]) func lightImpactIsReportedWithLowThreshold(hasGyroscope: Bool)
    throws
  {
    func told(_ settings: Setting...) throws -> [JSONValue] {
      var pipeline = try pipeline([{ $0.motion.events = [.impact] }] + settings)
      return try play(&pipeline, to: 6, hasGyroscope: hasGyroscope) {
        (4..<4.04).contains($0) ? Vector3(-1.2, 0, 0) : .zero
      }
    }
    let slap = try #require(try told({ $0.motion.impact.threshold = 1.0 }).first)
    #expect(slap["side"]?.string == "left" && abs((slap["peak"]?.double ?? 0) - 1.2) < 0.1)
    #expect(try told().isEmpty)
    #expect(
      try told({ $0.motion.impact.threshold = 1.0 }, { $0.motion.impact.sides = [.front, .rear] })
        .isEmpty)
  }

  /// An impact immediately after an acceleration, which also disturbs the gravity estimate of a device without
  /// a gyroscope.
  @Test(arguments: [false, true]) func impactSideIsRightAfterAcceleration(hasGyroscope: Bool) throws {
    var pipeline = try pipeline([{ $0.motion.events = [.impact] }])
    let told = try play(&pipeline, to: 6, hasGyroscope: hasGyroscope) {
      (4.5..<4.54).contains($0) ? Vector3(-4, 0, 0) : (4..<4.5).contains($0) ? Vector3(0, -2.7, 0) : .zero
    }
    #expect(told.last?["side"]?.string == "left")
    #expect(told.dropLast().allSatisfy { $0["side"]?.string == "rear" }, "\(told)")
  }

  private func swings(_ line: Vector3, from start: Double, count: Int) -> (Double) -> Vector3 {
    { time in
      let swing = Int(((time - start) / 0.15).rounded(.down))
      let isSwinging = time >= start && swing < count && time - start - 0.15 * Double(swing) < 0.045
      return isSwinging ? (swing.isMultiple(of: 2) ? 2.0 : -2.0) * line : .zero
    }
  }

  /// The device is upright: its y axis is vertical.
  @Test func shakesHaveADirectionAndAreCancelledAfterASecond() throws {
    let upright = Vector3(0, -1, 0)
    func told(_ line: Vector3, count: Int = 6, _ settings: Setting...) throws -> [[String?]] {
      var pipeline = try pipeline([{ $0.motion.events = [.shake] }] + settings)
      return try play(
        &pipeline, to: 8, gravity: upright, force: swings(line, from: 4, count: count)
      ).map {
        [$0["phase"]?.string, $0["axis"]?.string]
      }
    }
    let (across, along) = (Vector3(1, 0, 0), Vector3(0, 1, 0))
    #expect(try told(across) == [["began", "horizontal"], ["ended", "horizontal"]])
    #expect(try told(along) == [["began", "vertical"], ["ended", "vertical"]])
    #expect(try told(across, count: 9) == [["began", "horizontal"], ["cancelled", "horizontal"]])
    #expect(
      try told(across, count: 9, { $0.motion.shake.maximumDuration = 2 }).last?.first == "ended")
    #expect(try told(across, { $0.motion.shake.axes = [.vertical] }).isEmpty)
    #expect(try told(along, { $0.motion.shake.axes = [.vertical] }).count == 2)
    #expect(try told(across, { $0.motion.shake.threshold = 2.5 }).isEmpty)
    #expect(try told(across, { $0.motion.shake.minimumSwings = 7 }).last?.first == "cancelled")
    #expect(try told(across, { $0.motion.shake.swingInterval = 0.1 }).isEmpty)
  }

  private func orientation(_ pipeline: AgentPipeline, at time: Double) -> DeviceOrientation? {
    pipeline.report(.online, at: Timestamp(seconds: time)).orientation
  }

  @Test func statusHasOrientationEvenIfItsEventsAreOff() throws {
    var pipeline = try pipeline([
      { $0.motion.events = [] }, { $0.motion.orientation.settlingTime = 1 },
    ])
    #expect(orientation(pipeline, at: 0) == nil)
    #expect(try play(&pipeline, to: 0.6).isEmpty)
    #expect(orientation(pipeline, at: 0.6) == nil)
    #expect(try play(&pipeline, from: 0.6, to: 3).isEmpty)
    #expect(orientation(pipeline, at: 3) == .faceUp)
    let payload = pipeline.report(.online, at: Timestamp(seconds: 3)).payload
    #expect(try StatusMessage(json: JSONValue(parsing: payload)).orientation == .faceUp)
    pipeline.process(
      .status(
        SourceStatus(
          timestamp: Timestamp(seconds: 3), source: "iio", kinds: [.accelerometer, .gyroscope],
          state: .unavailable(reason: "unplugged")))
    ) { _ in }
    #expect(orientation(pipeline, at: 3) == nil)
  }

  @Test func undecidedOrientationKeepsTheLastOne() throws {
    var pipeline = try pipeline([
      { $0.motion.events = [.orientation] },
      { $0.motion.orientation.orientations = [.faceUp, .portrait] },
    ])
    var told = try play(&pipeline, to: 2)
    told += try play(&pipeline, from: 2, to: 12, gravity: Vector3(1, 0, 0))
    #expect(told.compactMap { $0["orientation"]?.string } == ["faceUp"])
    #expect(orientation(pipeline, at: 12) == .faceUp)
  }

  /// Independent of the sensors, `stationary` is not published while the receiver reports motion.
  @Test(arguments: 2...6 as ClosedRange<UInt64>, [1.0, 0.2])
  func simulatedDriveIsNeverStationaryWhileMoving(seed: UInt64, fixRate: Double) throws {
    var configuration = SimulatedDrive.Configuration()
    configuration.seed = seed
    configuration.rates.accelerometer = 25
    configuration.rates.gyroscope = 25
    configuration.rates.magnetometer = 0
    configuration.rates.positioning = fixRate
    configuration.receiver.meanTimeBetweenOutages = nil
    configuration.duration = 500
    configuration.startTime = Self.start
    var drive = try SimulatedDrive(configuration)
    let truth = drive
    var pipeline = try pipeline([
      { $0.motion.events = [.activity] }, { $0.heading.isEnabled = false },
      { $0.attitude.isEnabled = false },
    ])
    var (lastFix, rests, early) = (-100.0, 0, 0)
    func isDriving(at time: Timestamp) -> Bool { truth.truth(at: time).motion.velocity.length > 1 }
    // Result of the sensors alone.
    var (sensors, earlyAlone) = (StationaryDetector(), 0)
    while let event = drive.next() {
      if case .inertial(let block) = event {
        for scan in block {
          let felt = AccelerometerData(scan).flatMap {
            sensors.process(acceleration: $0.acceleration, at: scan.timestamp)
          }
          let turned = scan.rotationRate.flatMap { sensors.process(rotationRate: $0, at: scan.timestamp) }
          if felt ?? turned == .stationary, isDriving(at: scan.timestamp) { earlyAlone += 1 }
        }
      }
      if case .position(let fixes) = event, let fix = fixes.last(where: { $0.speed != nil }) {
        lastFix = fix.timestamp.seconds
      }
      pipeline.process(event) { message in
        guard case .motion(let motion) = message, motion.event == .activity(.stationary) else { return }
        let time = motion.time.seconds(since: Self.start)
        // In a tunnel, no speed of the receiver contradicts the sensors.
        guard time - lastFix < 1.5 / fixRate + 1 else { return }
        rests += 1
        if isDriving(at: Timestamp(seconds: time)) { early += 1 }
      }
    }
    #expect(early == 0 && rests > 2, "\(early) of \(rests)")
    #expect(earlyAlone > 0)
  }
}
