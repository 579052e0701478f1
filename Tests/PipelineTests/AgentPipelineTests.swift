import JSON
import Navigation
import Pipeline
import Sensors
import Spatial
import Telemetry
import TestSupport
import Testing

/// Decisions of the agent in exact virtual time.
@Suite struct AgentPipelineTests {
  private static let start = UTCTime(nanoseconds: 1_795_248_000_000_000_000)

  private func pipeline(_ settings: Setting...) throws -> AgentPipeline {
    let configuration = PipelineConfiguration(
      [
        { $0.location.policy = .distance(nil) }, { $0.heading.interval = 1 },
        { $0.heading.filter = 1 }, { $0.attitude.filter = 0 }, { $0.statusInterval = 60 },
      ] + settings)
    return AgentPipeline(
      configuration: configuration, start: Timestamp(nanoseconds: 0), time: Self.start, version: "1")
  }

  private func fix(at seconds: Double, latitude: Double, time: Bool = true) -> SensorEvent {
    var fix = PositionFix(
      timestamp: Timestamp(seconds: seconds), time: time ? Self.start.advanced(bySeconds: seconds) : nil,
      mode: .threeDimensional, coordinate: Coordinate(latitude: latitude, longitude: 11))
    fix.speed = 3
    return .position([fix])
  }

  /// Samples of a device that lies flat with its top pointing north, in a field with a dip of 60°.
  private func rest(at seconds: Double) -> [SensorEvent] {
    let time = Timestamp(seconds: seconds)
    // Consecutive samples of real sensors always differ.
    let noise = Double(Int(seconds * 100) % 7) * 1e-4
    return [
      .inertial([InertialScan(timestamp: time, acceleration: Vector3(noise, 0, -1))]),
      .inertial([InertialScan(timestamp: time, magneticField: Vector3(noise, 24, -41.6))]),
      .inertial([InertialScan(timestamp: time, rotationRate: Vector3(noise * 0.01, 0, 0))]),
    ]
  }

  private func run(_ pipeline: inout AgentPipeline, _ events: [SensorEvent]) -> [VehicleMessage] {
    var messages: [VehicleMessage] = []
    for event in events { pipeline.process(event) { messages.append($0) } }
    return messages
  }

  private func json(_ message: VehicleMessage) throws -> JSONValue {
    try JSONValue(parsing: message.encode(identity: MessageIdentity(epoch: "e", seq: 1)))
  }

  @Test func everyFixIsPublishedAndStatusAtItsInterval() throws {
    var pipeline = try pipeline(
      { $0.statusInterval = 10 }, { $0.heading.isEnabled = false },
      { $0.attitude.isEnabled = false })
    let messages = run(
      &pipeline, (0...25).map { fix(at: Double($0), latitude: 48 + Double($0) * 1e-5) })
    #expect(messages.count { $0.kind == .location } == 26)
    let statuses = try messages.filter { $0.kind == .status }.map { try StatusMessage(json: json($0)) }
    #expect(statuses.map(\.uptime) == [0, 10, 20])
    #expect(statuses.allSatisfy { $0.state == .online && $0.sessionStart == Self.start })
    let first = try #require(messages.first { $0.kind == .location })
    #expect(first.isRetained && first.qos == 1 && first.lane == .tracks)
    #expect(try LocationMessage(json: json(first)).time == Self.start)
  }

  @Test func distanceFilterIsApplied() throws {
    var pipeline = try pipeline({ $0.location.policy = .distance(50) })
    // A hundred-thousandth of a degree of latitude is 1.11 m.
    let messages = run(&pipeline, (0...100).map { fix(at: Double($0), latitude: 48 + Double($0) * 1e-5) })
    #expect(messages.count { $0.kind == .location } == 3)
  }

  @Test func fixWithoutTimeUsesTheTimeBase() throws {
    var pipeline = try pipeline()
    let messages = run(&pipeline, [fix(at: 0, latitude: 48), fix(at: 5, latitude: 48.0001, time: false)])
    let last = try #require(messages.last { $0.kind == .location })
    #expect(try LocationMessage(json: json(last)).time == Self.start.advanced(bySeconds: 5))
  }

  @Test func attitudeAndHeadingArePublishedAtTheirIntervals() throws {
    var pipeline = try pipeline(
      { $0.attitude.interval = 0.5 }, { $0.heading.interval = 1 }, { $0.heading.filter = 0 })
    let messages = run(&pipeline, (0...500).flatMap { rest(at: Double($0) / 100) })
    // The north reference is determined only after the first samples.
    let attitudes = try messages.filter { $0.kind == .attitude }.map { try AttitudeMessage(json: json($0)) }
    #expect((9...11).contains(attitudes.count))
    for (a, b) in zip(attitudes, attitudes.dropFirst()) {
      #expect(abs(b.time.seconds(since: a.time) - 0.5) < 0.011)
    }
    #expect(
      attitudes.allSatisfy {
        abs(($0.angles?.yaw ?? 9) + .pi / 2) < 0.02 && abs($0.angles?.pitch ?? 9) < 0.01
      })
    let headings = try messages.filter { $0.kind == .heading }.map { try HeadingMessage(json: json($0)) }
    #expect((4...6).contains(headings.count))
    #expect(
      headings.allSatisfy { abs(signedDegrees(from: 0, to: $0.magneticHeading)) < 1 && $0.trueHeading == nil }
    )
    #expect(
      messages.filter { $0.kind == .attitude || $0.kind == .heading }.allSatisfy {
        $0.qos == 0 && $0.isRetained == ($0.kind == .attitude)
      })
  }

  /// The command `zero` adds the rotation since that time to each attitude.
  @Test func attitudesAreRelativeToTheReferenceTime() throws {
    var pipeline = try pipeline(
      { $0.attitude.interval = 0.1 }, { $0.attitude.frame = .xArbitraryZVertical })
    let none = pipeline.zeroAttitude()
    #expect(none == nil)
    _ = run(&pipeline, (0...300).flatMap { rest(at: Double($0) / 100) })
    let told = pipeline.zeroAttitude()
    let zero = try #require(told)
    #expect(zero.frame == .xArbitraryZVertical)
    // A quarter turn to the left in one second.
    let turn = (301...400).flatMap { step -> [SensorEvent] in
      let time = Timestamp(seconds: Double(step) / 100)
      return [
        .inertial([InertialScan(timestamp: time, acceleration: Vector3(1e-4 * Double(step % 7), 0, -1))]),
        .inertial([InertialScan(timestamp: time, rotationRate: Vector3(0, 0, .pi / 2))]),
      ]
    }
    let turned = try AttitudeMessage(json: json(#require(run(&pipeline, turn).last { $0.kind == .attitude })))
    #expect(abs(try #require(turned.relative).yaw - .pi / 2) < 0.2)
    pipeline.clearZero()
    let after = run(&pipeline, (401...430).flatMap { rest(at: Double($0) / 100) })
    let last = try AttitudeMessage(json: json(#require(after.last { $0.kind == .attitude })))
    #expect(last.relative == nil)
  }

  @Test func trueHeadingRequiresAPosition() throws {
    var pipeline = try pipeline({ $0.heading.interval = 0.1 }, { $0.heading.filter = 0 })
    let messages = run(
      &pipeline, [fix(at: 0, latitude: 48)] + (0...100).flatMap { rest(at: Double($0) / 100) })
    let heading = try HeadingMessage(json: json(#require(messages.last { $0.kind == .heading })))
    // The declination at 48° N 11° E is about 4° east in 2026.
    let turn = signedDegrees(from: heading.magneticHeading, to: try #require(heading.trueHeading))
    #expect((3.5...5).contains(turn))
  }

  /// A vehicle whose bow points 10° to the left of its direction of travel: wheels cannot do this, a boat in a current can.
  @Test(arguments: [VehicleMotion.wheeled, .boat]) func headingsOfBoatsDoNotFollowTheCourse(
    vehicle: VehicleMotion
  ) throws {
    var pipeline = try pipeline(
      { $0.heading.filter = 0 }, { $0.navigation.vehicle = vehicle }, { $0.attitude.isEnabled = false })
    var headings: [Double] = []
    for second in 0..<240 {
      var fix = PositionFix(
        timestamp: Timestamp(seconds: Double(second)), time: Self.start.advanced(bySeconds: Double(second)),
        mode: .threeDimensional,
        coordinate: Coordinate(
          latitude: 48 + Double(second) * 6.1e-5, longitude: 11 + Double(second) * 2.3e-5))
      (fix.speed, fix.course) = (7, 14.3)
      let samples = (0..<100).flatMap { rest(at: Double(second) + Double($0) / 100) }
      for message in run(&pipeline, [.position([fix])] + samples) where message.kind == .heading {
        let heading = try HeadingMessage(json: json(message))
        headings.append(try #require(heading.trueHeading))
      }
    }
    // The declination is 4.3° east.
    let error = signedDegrees(from: 4.3, to: try #require(headings.last))
    #expect(vehicle == .boat ? abs(error) < 1.5 : error > 5, "\(error)")
  }

  @Test func demandsFollowTheConfiguration() throws {
    let all = try pipeline({ $0.inertial.rate = 50 }).demands
    #expect(all[.gyroscope] == .rate(hertz: 50, latency: .milliseconds(500)))
    #expect(all[.positioning]?.isOn == true)
    #expect(all[.barometer] == .rate(hertz: 1, latency: .milliseconds(500)))
    let none = try pipeline(
      { $0.location.isEnabled = false }, { $0.heading.isEnabled = false },
      { $0.attitude.isEnabled = false }, { $0.motion.events = [] })
    #expect(none.demands.values.allSatisfy { $0 == .off })
  }

  /// A loose contact changes the state of a source 960 times in eight minutes.
  @Test func flappingSourceDoesNotFloodTheLink() throws {
    var pipeline = try pipeline({ $0.statusInterval = 3600 })
    var messages: [VehicleMessage] = []
    for i in 0..<960 {
      messages += run(
        &pipeline,
        [
          .status(
            SourceStatus(
              timestamp: Timestamp(seconds: Double(i) / 2), source: "can0", kinds: [.gyroscope],
              state: i.isMultiple(of: 2) ? .active(rates: [:]) : .unavailable(reason: "passive")))
        ])
    }
    let statuses = messages.count { $0.kind == .status }
    #expect((8...16).contains(statuses), "\(statuses)")
    // The last change is published later.
    var later: [VehicleMessage] = []
    pipeline.advance(to: Timestamp(seconds: 560)) { later.append($0) }
    let last = try StatusMessage(json: json(#require(later.last { $0.kind == .status })))
    #expect(last.sources.first?.state == "unavailable")
  }

  @Test func lostSourceIsInTheNextStatusOnce() throws {
    var pipeline = try pipeline({ $0.statusInterval = 60 })
    func status(_ seconds: Double, _ state: SourceStatus.State) -> SensorEvent {
      .status(
        SourceStatus(
          timestamp: Timestamp(seconds: seconds), source: "gpsd", kinds: [.positioning], state: state))
    }
    var messages = run(&pipeline, [status(0, .active(rates: [:])), status(5, .unavailable(reason: "gone"))])
    messages += run(
      &pipeline, [status(6, .unavailable(reason: "gone")), status(7, .unavailable(reason: "gone"))])
    // The loss also causes a location event immediately.
    #expect(messages.count { $0.kind == .locationEvent } == 1)
    let statuses = try messages.filter { $0.kind == .status }.map { try StatusMessage(json: json($0)) }
    #expect(statuses.map { $0.sources.first?.state } == ["active", "unavailable"])
    #expect(statuses.last?.sources.first?.reason == "gone")
    let back = try run(&pipeline, [status(8, .active(rates: [:])), status(9, .active(rates: [:]))])
      .filter { $0.kind == .status }.map { try StatusMessage(json: json($0)) }
    #expect(back.count == 1 && back.last?.sources.first?.state == "active")
    #expect(back.last?.sources.first?.reason == nil)
    let farewell = try StatusMessage(json: json(pipeline.farewell(at: Timestamp(seconds: 10))))
    #expect(farewell.state == .offline && !farewell.isWill)
  }

  /// A chip whose buffer cannot be used is polled. The reason is in `status` once, even if the chip sleeps in between.
  @Test func reasonOfARestrictedSourceIsReportedOnce() throws {
    var pipeline = try pipeline(
      { $0.statusInterval = 3600 }, { $0.attitude.interval = 0.02 }, { $0.attitude.isEnabled = true })
    func status(_ seconds: Double, _ state: SourceStatus.State, _ restriction: String? = nil) -> SensorEvent {
      .status(
        SourceStatus(
          timestamp: Timestamp(seconds: seconds), source: "local: chip", kinds: [.accelerometer, .gyroscope],
          state: state, restriction: restriction))
    }
    let slow = SourceStatus.State.active(rates: [.accelerometer: 25, .gyroscope: 25])
    let fast = SourceStatus.State.active(rates: [.accelerometer: 100, .gyroscope: 100])
    let events = [
      status(0, .idle), status(2, slow, "busy"), status(3, slow, "busy"), status(4, .idle),
      status(6, slow, "busy"), status(7, slow, "busy"), status(8, fast), status(9, fast), status(10, .idle),
    ]
    let statuses = try run(&pipeline, events).filter { $0.kind == .status }
      .map { try StatusMessage(json: json($0)) }
    #expect(statuses.map { $0.sources.first?.reason } == [nil, "busy", nil])
    let degradations = statuses.map { $0.degradations["attitude"] ?? "" }
    #expect(
      degradations.map { $0.contains("40.0 ms instead of 20.0 ms: busy") } == [false, true, false],
      "\(degradations)")
  }
}
