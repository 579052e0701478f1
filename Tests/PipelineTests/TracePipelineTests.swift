import Foundation
import Pipeline
import Positioning
import Sensors
import Simulation
import Spatial
import Telemetry
import TestSupport
import Testing
import Traces

/// Traces of impacts and of requested times, and traces saved at a stop or a power failure.
@Suite struct TracePipelineTests {
  private static let start = UTCTime(nanoseconds: 1_795_248_000_000_000_000)

  /// A vehicle with sensor blocks of 0.1 s at 100 Hz, and one fix per second while `hasSky`.
  private struct Vehicle {
    var pipeline: AgentPipeline
    var random: SeededGenerator
    var now = 40.0
    var speed = 15.0
    var hasSky = true
    /// Forward acceleration in m/s² by second.
    var acceleration: (Double) -> Double = { _ in 0 }
    var way = 0.0
    private(set) var steps: [TraceStep] = []

    static func configuration(_ settings: [Setting]) -> PipelineConfiguration {
      PipelineConfiguration([{ $0.traces = .init() }] + settings)
    }

    init(_ settings: [Setting] = [], seed: UInt64) throws {
      pipeline = AgentPipeline(
        configuration: Self.configuration(settings), start: Timestamp(seconds: now),
        time: start.advanced(bySeconds: now), version: "1")
      random = SeededGenerator(seed: seed)
    }

    mutating func run(until end: Double) {
      while now < end - 0.05 {
        let scans = (0..<10).map { number in
          let time = now + Double(number) / 100
          return InertialScan(
            timestamp: Timestamp(seconds: time),
            specificForce: Vector3(0, acceleration(time), standardGravity) + 0.02 * random.nextNormalVector(),
            rotationRate: 0.001 * random.nextNormalVector())
        }
        now += 0.1
        way += speed / 10
        pipeline.process(.inertial(scans)) { _ in }
        if hasSky, Int((now * 10).rounded()) % 10 == 0 {
          var fix = PositionFix(
            timestamp: Timestamp(seconds: now), time: start.advanced(bySeconds: now), mode: .threeDimensional,
            coordinate: Coordinate(latitude: 48, longitude: 11).destination(distance: way, bearing: 0))
          (fix.speed, fix.course, fix.horizontalError) = (speed, 0, 2)
          pipeline.process(.position([fix])) { _ in }
        }
        steps += pipeline.drainTraceSteps()
      }
    }

    mutating func drain() { steps += pipeline.drainTraceSteps() }

    mutating func reconfigure(_ settings: [Setting]) throws {
      pipeline.reconfigure(Self.configuration(settings)) { _ in }
      drain()
    }

    var begun: [(run: Int, message: TraceMessage)] {
      steps.compactMap { if case .begin(let run, let message, _, _) = $0 { (run, message) } else { nil } }
    }

    var ended: [(run: Int, message: TraceMessage, isWhole: Bool)] {
      steps.compactMap {
        if case .end(let run, let message, let isWhole) = $0 { (run, message, isWhole) } else { nil }
      }
    }

    /// Returns the scans of a trace.
    func scans(_ wanted: Int) -> [InertialScan] {
      let blocks = steps.flatMap { step -> [[UInt8]] in
        switch step {
        case .begin(wanted, _, _, let blocks), .append(wanted, let blocks): blocks
        default: []
        }
      }
      return blocks.flatMap { TraceBlock(bytes: $0)?.samples ?? [] }.compactMap {
        if case .inertial(let scan) = $0 { scan } else { nil }
      }
    }
  }

  /// Expects scans without gaps or duplicates between two times.
  private func expectWhole(_ scans: [InertialScan], from: Double, to: Double, _ what: String) {
    let times = scans.map(\.timestamp.seconds)
    #expect(zip(times, times.dropFirst()).allSatisfy { abs($1 - $0 - 0.01) < 1e-4 }, "\(what)")
    #expect(
      (times.first ?? .infinity) <= from + 0.011 && (times.last ?? 0) >= to - 0.02, "\(what): \(times.count)")
  }

  // MARK: Changes of the settings

  /// Positions that become private are removed from stored traces, also if a trace setting changes at the same time.
  @Test(arguments: [15.0, 20]) func privacyChangeRemovesStoredPositions(before: Double)
    throws
  {
    var vehicle = try Vehicle(seed: 7)
    vehicle.run(until: 60)
    _ = begun(vehicle.pipeline.requestTrace(TraceRequest()))
    vehicle.run(until: 62)
    try vehicle.reconfigure([
      { $0.traces?.before = before }, { $0.location.desiredAccuracy = .reduced },
    ])
    let removals = vehicle.steps.count { if case .withhold = $0 { true } else { false } }
    #expect(removals == 1)
  }

  /// Traces that are enabled again before the last steps of the previous ones were stored can record again.
  @Test func tracesCanBeEnabledAgain() throws {
    var vehicle = try Vehicle(seed: 8)
    vehicle.run(until: 60)
    _ = begun(vehicle.pipeline.requestTrace(TraceRequest()))
    vehicle.pipeline.reconfigure(Vehicle.configuration([{ $0.traces = nil }])) { _ in }
    try vehicle.reconfigure([])
    vehicle.run(until: 80)
    #expect(begun(vehicle.pipeline.requestTrace(TraceRequest())) != nil)
  }

  // MARK: Requested times

  private func begun(_ answer: TraceRequest.Answer) -> (run: Int, message: TraceMessage)? {
    if case .begun(let run, let message) = answer { (run, message) } else { nil }
  }

  private func refusal(_ answer: TraceRequest.Answer) -> String {
    if case .refused(let reason) = answer { reason } else { "begun" }
  }

  @Test func traceOfARequestedTimeIsStored() throws {
    var vehicle = try Vehicle(seed: 1)
    vehicle.run(until: 80)
    // A trace of the current time has the configured length.
    let now = try #require(begun(vehicle.pipeline.requestTrace(TraceRequest())))
    #expect(now.message.cause == .command && now.message.impact == nil && now.message.coordinate != nil)
    #expect(now.message.before == 15 && now.message.after == 15)
    #expect(abs(now.message.time.seconds(since: Self.start) - 80) < 0.2)
    vehicle.run(until: 85)
    // Up to three requested traces are recorded simultaneously.
    for before in [1.0, 2] {
      #expect(begun(vehicle.pipeline.requestTrace(TraceRequest(before: before, after: 1))) != nil)
    }
    let fourth = refusal(vehicle.pipeline.requestTrace(TraceRequest()))
    #expect(
      fourth.contains("3 requested traces are being recorded, the first until 2026-11-21T08:01:2"),
      "\(fourth)")
    vehicle.run(until: 100)
    #expect(vehicle.ended.map(\.run).sorted() == [1, 2, 3] && vehicle.ended.allSatisfy(\.isWhole))
    expectWhole(vehicle.scans(now.run), from: 65, to: 94.9, "now")
    expectWhole(vehicle.scans(2), from: 84, to: 85.9, "beside it")

    // A past trace is complete immediately.
    let past = try #require(
      begun(
        vehicle.pipeline.requestTrace(
          TraceRequest(time: Self.start.advanced(bySeconds: 90), before: 5, after: 4))))
    vehicle.drain()
    #expect(vehicle.ended.last?.run == past.run && vehicle.ended.last?.isWhole == true)
    #expect(past.message.before == 5 && past.message.after == 4)
    expectWhole(vehicle.scans(past.run), from: 85, to: 94, "past")
  }

  @Test func timeBeyondTheBufferIsRejected() throws {
    var vehicle = try Vehicle(seed: 2)
    #expect(refusal(vehicle.pipeline.requestTrace(TraceRequest())).contains("nothing has been measured"))
    vehicle.run(until: 100)
    func ask(_ seconds: Double) -> String {
      refusal(vehicle.pipeline.requestTrace(TraceRequest(time: Self.start.advanced(bySeconds: seconds))))
    }
    #expect(
      ask(110).contains("2026-11-21T08:01:50.000Z is in the future; the vehicle's time is 2026-11-21T08:01:"))
    #expect(ask(50).contains("2026-11-21T08:00:50.000Z is not in memory, which has 2026-11-21T08:01:"))
    // The stated span is limited to the available samples.
    let most = try #require(begun(vehicle.pipeline.requestTrace(TraceRequest(before: 60, after: 0))))
    #expect(most.message.before > 29 && most.message.before < 36)
    // Sleeping sensors leave older samples in memory; the current time is missing.
    vehicle.pipeline.advance(to: Timestamp(seconds: 200)) { _ in }
    let asleep = refusal(vehicle.pipeline.requestTrace(TraceRequest()))
    #expect(asleep.contains("is not in memory") && !asleep.contains("future"), "\(asleep)")
    var off = try Vehicle([{ $0.traces = nil }], seed: 2)
    off.run(until: 41)
    #expect(refusal(off.pipeline.requestTrace(TraceRequest())).contains("(trace.enabled)"))
  }

  /// Without inertial sensors, a trace contains positions, and it ends, too.
  @Test func positionsAreStoredWithoutInertialSensors() throws {
    var vehicle = try Vehicle(seed: 3)
    for second in 40...80 {
      var fix = PositionFix(
        timestamp: Timestamp(seconds: Double(second)), mode: .threeDimensional,
        coordinate: Coordinate(latitude: 48, longitude: 11))
      fix.horizontalError = 3
      vehicle.pipeline.process(.position([fix])) { _ in }
      if second == 50 { #expect(begun(vehicle.pipeline.requestTrace(TraceRequest())) != nil) }
    }
    vehicle.drain()
    #expect(vehicle.ended.map(\.isWhole) == [true])
  }

  // MARK: Impacts

  private static func blow(_ time: Double) -> (Double) -> Double {
    { (time..<time + 0.1).contains($0) ? -100 : 0 }
  }

  /// A requested trace and two impacts overlap. Each has its own complete trace.
  @Test func overlappingTracesAreComplete() throws {
    var vehicle = try Vehicle([{ $0.traces?.after = 60 }], seed: 4)
    vehicle.acceleration = { Self.blow(80)($0) + Self.blow(120)($0) }
    vehicle.run(until: 75)
    let asked = try #require(begun(vehicle.pipeline.requestTrace(TraceRequest(after: 30))))
    vehicle.run(until: 200)
    #expect(vehicle.begun.map(\.message.cause) == [.command, .impact, .impact])
    #expect(vehicle.ended.count == 3 && vehicle.ended.allSatisfy(\.isWhole))
    #expect(vehicle.ended.map(\.message.after).sorted() == [30, 60, 60])
    expectWhole(vehicle.scans(asked.run), from: 60, to: 104.9, "requested trace")
    expectWhole(vehicle.scans(vehicle.begun[1].run), from: 65, to: 139.9, "first impact")
    expectWhole(vehicle.scans(vehicle.begun[2].run), from: 105, to: 179.9, "second impact")
  }

  /// Power fails during an impact. An impact with sufficient samples is detected and stored immediately.
  @Test(arguments: [(0.02, false), (0.06, true)]) func impactIsStoredDuringPowerFailure(
    after: Double, isKept: Bool
  ) throws {
    for isStop in [false, true] {
      var vehicle = try Vehicle(seed: 5)
      vehicle.acceleration = Self.blow(80 - after)
      vehicle.run(until: 80)
      #expect(vehicle.begun.isEmpty)
      if isStop { vehicle.pipeline.finishTraces() } else { vehicle.pipeline.saveTraces() }
      vehicle.drain()
      #expect(vehicle.begun.count == (isKept ? 1 : 0))
      guard isKept else { continue }
      expectWhole(vehicle.scans(1), from: 65, to: 79.99, "\(after)")
      #expect(vehicle.begun[0].message.impact?.severity == .moderate)
      #expect(vehicle.ended.map(\.isWhole) == (isStop ? [false] : []))
      guard !isStop else { continue }
      // Power did not fail, and the rest of the impact follows: it is the same impact.
      vehicle.run(until: 100)
      #expect(vehicle.begun.count == 1 && vehicle.ended.map(\.isWhole) == [true])
    }
  }

  /// Samples that the periodic write has not yet stored are written when power fails.
  @Test func activeTraceIsWrittenAtPowerFailure() throws {
    var vehicle = try Vehicle(seed: 6)
    vehicle.acceleration = Self.blow(80)
    vehicle.run(until: 85.5)
    vehicle.pipeline.saveTraces()
    vehicle.drain()
    expectWhole(vehicle.scans(1), from: 65, to: 85.49, "saved")
    #expect(vehicle.ended.isEmpty)
  }

  /// An impact has the last position if it is recent or if the vehicle has been at rest since.
  @Test func oldPositionIsNotUsedForAnImpact() throws {
    var vehicle = try Vehicle([{ $0.navigation.isEnabled = false }], seed: 7)
    vehicle.acceleration = Self.blow(80)
    vehicle.run(until: 74)
    vehicle.hasSky = false
    vehicle.run(until: 81)
    #expect(vehicle.begun.map(\.message.coordinate).first ?? nil != nil)

    var tunnel = try Vehicle([{ $0.navigation.isEnabled = false }], seed: 8)
    // Road vibration; otherwise the vehicle would be at rest.
    tunnel.acceleration = { 0.8 * sin(9 * $0) + Self.blow(80)($0) }
    tunnel.run(until: 60)
    tunnel.hasSky = false
    tunnel.run(until: 81)
    #expect(tunnel.begun.count == 1 && tunnel.begun[0].message.coordinate == nil)

    var parked = try Vehicle([{ $0.navigation.isEnabled = false }], seed: 9)
    parked.speed = 0
    parked.acceleration = Self.blow(80)
    parked.run(until: 60)
    parked.hasSky = false
    parked.run(until: 81)
    #expect(parked.begun.count == 1 && parked.begun[0].message.coordinate != nil)
  }

  /// Saturation is reported only if the driver states the range of the sensor.
  @Test(arguments: [(nil, false), (9.0 * standardGravity, true), (16 * standardGravity, false)])
  func sensorSaturationIsReported(range: Double?, isClipped: Bool) throws {
    var vehicle = try Vehicle(seed: 10)
    vehicle.pipeline.process(
      .status(
        SourceStatus(
          timestamp: Timestamp(seconds: 40), source: "iio", kinds: [.accelerometer],
          state: .active(rates: [:]),
          ranges: range.map { [.accelerometer: $0] } ?? [:]))
    ) { _ in }
    vehicle.acceleration = { Self.blow(80)($0) < 0 ? -9 * standardGravity : 0 }
    vehicle.run(until: 82)
    #expect(vehicle.begun.map { $0.message.impact?.isClipped } == [isClipped])
  }
}
