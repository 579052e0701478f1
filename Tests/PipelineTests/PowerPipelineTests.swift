import JSON
import Pipeline
import Positioning
import Sensors
import Spatial
import Telemetry
import TestSupport
import Testing

/// Sensor demands of the running agent, in exact virtual time.
@Suite struct PowerPipelineTests {
  private static let start = UTCTime(nanoseconds: 1_795_248_000_000_000_000)

  private func pipeline(_ settings: Setting...) throws -> AgentPipeline {
    let configuration = PipelineConfiguration(
      [{ $0.location.policy = .distance(nil) }, { $0.attitude.filter = 0 }] + settings,
      isVirtual: false)
    return AgentPipeline(
      configuration: configuration, start: Timestamp(nanoseconds: 0), time: Self.start, version: "1")
  }

  private func fix(at seconds: Double, speed: Double) -> SensorEvent {
    var fix = PositionFix(
      timestamp: Timestamp(seconds: seconds), mode: .threeDimensional,
      coordinate: Coordinate(latitude: 48, longitude: 11))
    (fix.speed, fix.course, fix.horizontalError) = (speed, 0, 8)
    return .position([fix])
  }

  /// Plays accelerometer blocks of 0.2 s. Vehicle vibration while driving is 2 Hz.
  private func drive(_ pipeline: inout AgentPipeline, from: Double, to end: Double, isMoving: Bool)
    -> [Double]
  {
    var wakes: [Double] = []
    var index = Int(from * 25)
    while Double(index) / 25 < end {
      let block = (0..<5).map { step in
        let time = Double(index + step) / 25
        let shake = isMoving ? 0.06 * (Double((index + step) % 12) < 6 ? 1.0 : -1) : 0.001 * Double(index % 3)
        return InertialScan(timestamp: Timestamp(seconds: time), acceleration: Vector3(shake, 0, -1))
      }
      index += 5
      pipeline.process(.inertial(block)) { _ in }
      if let changed = pipeline.drainDemands(), changed[.positioning] != .off {
        wakes.append(Double(index) / 25)
      }
    }
    return wakes
  }

  @Test func parkedVehicleSleepsUntilItMoves() throws {
    var pipeline = try pipeline({ $0.location.desiredAccuracy = .hundredMeters })
    let first = pipeline.drainDemands()
    #expect(first?[.positioning]?.isOn == true && first?[.gyroscope]?.isOn == true)
    let again = pipeline.drainDemands()
    #expect(again == nil)
    pipeline.process(
      .status(
        SourceStatus(
          timestamp: Timestamp(seconds: 0), source: "iio", kinds: [.accelerometer, .gyroscope],
          state: .active(rates: [:])))
    ) { _ in }
    _ = drive(&pipeline, from: 0, to: 5, isMoving: false)
    #expect(pipeline.demands[.gyroscope] == .off && pipeline.demands[.magnetometer] == .off)
    #expect(pipeline.demands[.accelerometer]?.isOn == true && pipeline.demands[.positioning] != .off)
    pipeline.process(fix(at: 5, speed: 0)) { _ in }
    #expect(pipeline.demands[.positioning] == .off)
    #expect(drive(&pipeline, from: 5, to: 300, isMoving: false).isEmpty)

    #expect(drive(&pipeline, from: 300, to: 304, isMoving: true).count == 1)
    #expect(pipeline.demands[.positioning] != .off && pipeline.demands[.gyroscope] != .off)
    // In motion, the receiver sleeps only while the position is accurate to 100 m.
    pipeline.process(fix(at: 305, speed: 12)) { _ in }
    #expect(pipeline.demands[.positioning] == .off)
    let deadline = try #require(pipeline.nextDeadline)
    #expect(deadline > Timestamp(seconds: 306) && deadline < Timestamp(seconds: 313))
    pipeline.advance(to: deadline) { _ in }
    #expect(pipeline.demands[.positioning] != .off)

    let status = try StatusMessage(
      json: JSONValue(
        parsing: pipeline.farewell(at: Timestamp(seconds: 313)).encode(
          identity: MessageIdentity(epoch: "e", seq: 1))))
    let energy = try #require(status.energy)
    #expect((9...17).contains(try #require(energy.accounts[.receiver]).seconds))
    #expect(try #require(energy.accounts[.accelerometer]).seconds == 313)
    #expect((12...17).contains(try #require(energy.accounts[.gyroscope]).seconds))
    #expect(energy.total > 0)
  }

  /// After a change of the activity, the receiver sleeps as if the pipeline had started with it.
  @Test func changedActivityChangesTheSleepOfTheReceiver() throws {
    func wakeups(startedAs activity: ActivityType) throws -> [Double] {
      var pipeline = try pipeline({
        $0.location.desiredAccuracy = .hundredMeters
        $0.location.activity = activity
      })
      let automotive = PipelineConfiguration(
        [
          { $0.location.policy = .distance(nil) }, { $0.attitude.filter = 0 },
          { $0.location.desiredAccuracy = .hundredMeters }, { $0.location.activity = .automotive },
        ], isVirtual: false)
      pipeline.reconfigure(automotive) { _ in }
      _ = drive(&pipeline, from: 0, to: 5, isMoving: true)
      return (5..<60).compactMap { second in
        pipeline.process(fix(at: Double(second), speed: 20)) { _ in }
        return pipeline.nextDeadline?.seconds
      }
    }
    #expect(try wakeups(startedAs: .pedestrian) == wakeups(startedAs: .automotive))
  }

  /// A parked vehicle is hit. At the watch rate of the accelerometer, detection is random; at its full rate,
  /// the impact is reported.
  @Test(arguments: [false, true]) func impactAtRestIsReportedIfMonitored(isWatched: Bool) throws {
    var pipeline = try pipeline(
      { $0.location.desiredAccuracy = .hundredMeters }, { $0.motion.watchesAtRest = isWatched })
    func watch(_ hertz: Double) -> SensorDemand {
      .rate(hertz: hertz, latency: .seconds(PowerPlanner.watchLatency))
    }
    var blows = 0
    func rest(_ range: Range<Int>, blow: Int? = nil) {
      for step in range {
        let time = Timestamp(seconds: Double(step) / 100)
        if pipeline.demands[.gyroscope]?.isOn == true {
          pipeline.process(.inertial([InertialScan(timestamp: time, rotationRate: .zero)])) { _ in }
        }
        let isHit = blow.map { $0 <= step && step < $0 + 3 } ?? false
        let sample = InertialScan(timestamp: time, acceleration: Vector3(isHit ? 6 : 0, 0, -1))
        // The hardware delivers samples at the demanded rate.
        if pipeline.demands[.accelerometer] == watch(PowerPlanner.watchRate), step % 8 != 0 { continue }
        pipeline.process(.inertial([sample])) { blows += $0.kind == .motion ? 1 : 0 }
      }
    }
    rest(0..<500)
    pipeline.process(fix(at: 5, speed: 0)) { _ in }
    #expect(pipeline.demands[.gyroscope] == .off && pipeline.demands[.positioning] == .off)
    #expect(pipeline.demands[.accelerometer] == watch(isWatched ? 100 : PowerPlanner.watchRate))
    blows = 0
    rest(500..<6000, blow: 3001)
    #expect((blows > 0) == isWatched)
  }

  @Test func restRequiresAnAccelerometer() throws {
    var pipeline = try pipeline({ $0.location.desiredAccuracy = .hundredMeters })
    _ = drive(&pipeline, from: 0, to: 5, isMoving: false)
    pipeline.process(fix(at: 5, speed: 0)) { _ in }
    pipeline.process(
      .status(
        SourceStatus(
          timestamp: Timestamp(seconds: 100), source: "iio", kinds: [.accelerometer],
          state: .unavailable(reason: "gone")))
    ) { _ in }
    #expect(pipeline.demands[.positioning] != .off && pipeline.demands[.gyroscope] != .off)
  }

  /// Fixes that arrive together and some seconds late give the same batches as single ones.
  @Test func delayedFixesYieldTheSameBatches() throws {
    func batches(of size: Int) throws -> [[UTCTime]] {
      var pipeline = try pipeline(
        { $0.location.deferral = .init(distance: nil, timeout: 30, error: nil) },
        { $0.heading.isEnabled = false }, { $0.motion.events = [] },
        { ($0.isVirtual, $0.hasReceiver) = (true, false) })
      var tracks: [[UTCTime]] = []
      var waiting: [PositionFix] = []
      func take(_ message: VehicleMessage) throws {
        guard message.kind == .track else { return }
        tracks.append(
          try TrackMessage(json: JSONValue(parsing: message.encode(identity: nil))).fixes.map(\.time))
      }
      for second in 0..<200 {
        guard case .position(var fixes) = fix(at: Double(second), speed: 12) else { continue }
        fixes[0].time = Self.start.advanced(bySeconds: Double(second))
        waiting += fixes
        let isPatient = pipeline.demands[.positioning] != .rate(hertz: 1, latency: .seconds(1))
        if isPatient, waiting.count < size { continue }
        var messages: [VehicleMessage] = []
        pipeline.process(.position(waiting)) { messages.append($0) }
        for message in messages { try take(message) }
        waiting = []
      }
      return tracks
    }
    let single = try batches(of: 1)
    #expect(single.count >= 6 && single.allSatisfy { (30...31).contains($0.count) })
    #expect(try batches(of: 8) == single)
  }

  @Test func receiverNeverSleepsWithBestAccuracy() throws {
    var pipeline = try pipeline({ $0.location.pausesAutomatically = false })
    let demands = pipeline.demands
    _ = drive(&pipeline, from: 0, to: 5, isMoving: false)
    pipeline.process(fix(at: 5, speed: 0)) { _ in }
    _ = drive(&pipeline, from: 5, to: 60, isMoving: false)
    // Except the barometer, which is off at rest.
    #expect(pipeline.demands[.barometer] == .off)
    #expect(pipeline.demands.filter { $0.key != .barometer } == demands.filter { $0.key != .barometer })
    #expect(demands[.positioning] == .rate(hertz: 1, latency: .seconds(1)))
  }
}
