import JSON
import Motion
import Pipeline
import Positioning
import Sensors
import Spatial
import Telemetry
import TestSupport
import Testing

/// Failures, pauses and ends of deferrals, reported as they occur, in exact virtual time.
@Suite struct LocationEventsTests {
  private static let start = UTCTime(nanoseconds: 1_795_248_000_000_000_000)

  private func configuration(_ settings: [Setting]) -> PipelineConfiguration {
    PipelineConfiguration(
      [
        { $0.location.policy = .distance(nil) }, { $0.heading.isEnabled = false },
        { $0.heading.interval = 1 }, { $0.statusInterval = 60 },
      ] + settings)
  }

  private func pipeline(_ settings: Setting...) throws -> AgentPipeline {
    AgentPipeline(
      configuration: configuration(settings), start: Timestamp(nanoseconds: 0), time: Self.start, version: "1"
    )
  }

  /// Returns a fix `east` metres east of the origin; nil for a report without a position.
  private func fix(_ seconds: Double, _ east: Double?, speed: Double = 0) -> SensorEvent {
    let place = LocalFrame(origin: Coordinate(latitude: 48, longitude: 11))
    var fix = PositionFix(
      timestamp: Timestamp(seconds: seconds), time: Self.start.advanced(bySeconds: seconds),
      mode: east == nil ? .noFix : .threeDimensional,
      coordinate: east.map { place.coordinate(at: SIMD2($0, 0)) })
    (fix.speed, fix.course, fix.horizontalDilution) = (speed, 90, 1)
    return .position([fix])
  }

  private func receiver(_ seconds: Double, _ state: SourceStatus.State) -> SensorEvent {
    .status(
      SourceStatus(
        timestamp: Timestamp(seconds: seconds), source: "gpsd", kinds: [.positioning], state: state))
  }

  /// Returns the location events, each with the second of its publication and of its occurrence.
  private func run(
    _ pipeline: inout AgentPipeline, _ events: [SensorEvent]
  ) -> [(at: Double, of: Double, message: LocationEventMessage)] {
    var told: [(at: Double, of: Double, message: LocationEventMessage)] = []
    for event in events {
      let at = event.timestamp?.seconds ?? 0
      pipeline.process(event) {
        guard case .locationEvent(let message) = $0 else { return }
        told.append((at, message.time.seconds(since: Self.start), message))
      }
    }
    return told
  }

  @Test func lostReceiverIsReportedImmediatelyWithRemedy() throws {
    var pipeline = try pipeline({ $0.statusInterval = 3600 })
    let told = run(
      &pipeline,
      [
        receiver(0, .active(rates: [:])), fix(1, 0), receiver(5, .unavailable(reason: "gpsd is gone")),
        fix(9, 0),
      ])
    #expect(told.map(\.at) == [5, 9] && told.map(\.of) == [5, 9])
    #expect(told.last?.message.event == .recovered && told.last?.message.error == nil)
    let message = try #require(told.first?.message)
    #expect(message.event == .failed && message.error == "receiverUnavailable" && message.suppressed == 0)
    #expect(message.reason == "the receiver is not available: gpsd is gone")
    #expect(message.remedy?.contains("gpsd runs") == true)
  }

  @Test func missingFixIsReportedOnceAfterAMinute() throws {
    var pipeline = try pipeline()
    let told = run(&pipeline, (0...200).map { fix(Double($0), nil) })
    #expect(told.map { $0.at.rounded() } == [60] && told.first?.message.error == "positionUnknown", "\(told)")
    #expect(told.first?.message.remedy == "check that its antenna sees the sky")
  }

  /// A request that timed out is a failure. The next location ends it, with or without another failure in between.
  @Test(arguments: [20, 100]) func requestThatTimedOutEndsWithTheNextLocation(seconds: Int) throws {
    var pipeline = try pipeline({ $0.statusInterval = 3600 })
    pipeline.requestLocation(accuracy: 10, timeLimit: 5)
    let told = run(&pipeline, (1...seconds).map { fix(Double($0), nil) } + [fix(Double(seconds + 1), 0)])
    let errors = ["requestTimedOut"] + (seconds > 60 ? ["positionUnknown"] : [])
    #expect(told.map(\.message.error) == errors + [nil])
    #expect(told.last?.message.event == .recovered && told.last?.of == Double(seconds + 1), "\(told)")
    #expect(run(&pipeline, [fix(Double(seconds + 2), 0)]).isEmpty)
  }

  /// The retained status contains the reason while there is no position. It is published on change, not at the
  /// next interval.
  @Test func statusFollowsLossAndReturnOfTheFix() throws {
    var pipeline = try pipeline({ $0.statusInterval = 3600 })
    var services: [(second: Int, text: String?)] = []
    for second in 0...200 {
      pipeline.process(fix(Double(second), (20..<140).contains(second) ? nil : 0)) {
        if case .status(let status) = $0 { services.append((second, status.services["location"])) }
      }
    }
    #expect(services.map { $0.text?.contains("no fix") ?? false } == [false, true, false], "\(services)")
    #expect(services.last.map { (140...142).contains($0.second) } == true, "\(services)")
  }

  /// A failure ends even if privacy withholds the position, and after a change of the settings.
  @Test(arguments: [true, false]) func failureEndsWithoutAShownPosition(isWithheld: Bool) throws {
    var pipeline = try pipeline({ if isWithheld { $0.privacy.addZone(48, 11, radius: 500) } })
    var told = run(&pipeline, [fix(1, 0), receiver(5, .unavailable(reason: "gpsd is gone"))])
    if !isWithheld {
      pipeline.reconfigure(configuration([{ $0.location.desiredAccuracy = .hundredMeters }])) { _ in }
    }
    told += run(&pipeline, [receiver(8, .active(rates: [:])), fix(9, 0)])
    #expect(told.map(\.message.event) == [.failed, .recovered], "\(told)")
    // A single report without a position must not count as a failure of two hours.
    let rare = run(&pipeline, [fix(100, nil), fix(101, 0), fix(7300, 0), fix(7301, nil), fix(7302, 0)])
    #expect(!rare.contains { [.failed, .recovered].contains($0.message.event) }, "\(rare)")
  }

  @Test func pausesAndResumptionsAreReported() throws {
    var pipeline = try pipeline({ $0.location.pausesAutomatically = true })
    // Drives, rests for 20 min, drives again.
    let drive = (0..<60).map { fix(Double($0), 10 * Double($0), speed: 10) }
    let rest = (60..<1260).map { fix(Double($0), 600) }
    let on = (1260..<1270).map { fix(Double($0), 600 + 10 * Double($0 - 1259), speed: 10) }
    let told = run(&pipeline, drive + rest + on)
    #expect(told.map(\.message.event) == [.paused, .resumed])
    #expect(told.allSatisfy { $0.at == $0.of && $0.message.error == nil })
    #expect(told.first.map { (61..<1260).contains($0.at) } == true && (told.last?.at ?? 0) >= 1260)
  }

  /// A deferral that ends regularly has no event, only a track.
  @Test func interruptedDeferralIsReportedAfterItsTrack() throws {
    var pipeline = try pipeline({
      $0.location.deferral = .init(distance: nil, timeout: 60, error: nil)
    })
    var messages: [VehicleMessage] = []
    for second in 0...90 {
      pipeline.process(fix(Double(second), 10 * Double(second), speed: 10)) { messages.append($0) }
    }
    pipeline.process(receiver(91, .unavailable(reason: "gone"))) { messages.append($0) }
    messages.removeAll { [.status, .location, .trip].contains($0.kind) }
    #expect(messages.map(\.kind) == [.track, .track, .locationEvent, .locationEvent], "\(messages)")
    let events = messages.compactMap { message -> LocationEventMessage? in
      if case .locationEvent(let event) = message { event } else { nil }
    }
    #expect(events.map(\.event) == [.deferralEnded, .failed])
    #expect(events.map(\.error) == ["failed", "receiverUnavailable"])
  }

  /// A receiver that fails and recovers every second for an hour: six events are published immediately, then
  /// one per minute, and finally the last one.
  @Test func flappingReceiverIsRateLimited() throws {
    var pipeline = try pipeline({ $0.statusInterval = 3600 })
    var events: [SensorEvent] = []
    for second in 0..<3600 {
      events.append(fix(Double(second), 10 * Double(second), speed: 10))
      events.append(receiver(Double(second) + 0.5, .unavailable(reason: "lost")))
    }
    let told = run(&pipeline, events)
    #expect((60...67).contains(told.count), "\(told.count)")
    #expect(told.prefix(6).map(\.at) == [0.5, 1, 1.5, 2, 2.5, 3])
    for (one, next) in zip(told.dropFirst(6), told.dropFirst(7)) { #expect(next.at - one.at >= 59) }
    let late = told.reduce(0) { $0 + $1.message.suppressed }
    var last: [LocationEventMessage] = []
    pipeline.advance(to: Timestamp(seconds: 3700)) {
      if case .locationEvent(let message) = $0 { last.append(message) }
    }
    // All failures and recoveries are counted, and the last suppressed event is published.
    #expect(last.count == 1 && last.first?.time == Self.start.advanced(bySeconds: 3599.5))
    #expect(told.count + late + 1 + (last.first?.suppressed ?? 0) == 3600 + 3599)
    var after: [VehicleMessage] = []
    pipeline.finish { after.append($0) }
    #expect(!after.contains { $0.kind == .locationEvent })
  }

  @Test func heldBackEventsArePublishedBeforeAStop() {
    var events = LocationEvents()
    let zero = Timestamp(nanoseconds: 0)
    for second in 0..<9 {
      let event: LocationEventMessage.Event = second % 2 == 0 ? .paused : .resumed
      let message = LocationEventMessage(time: Self.start.advanced(bySeconds: Double(second)), event: event)
      let told = events.process(message, at: zero)
      #expect((told != nil) == (second < 6))
    }
    #expect(events.nextDeadline == Timestamp(seconds: 60))
    let left = events.finish()
    #expect(left.map(\.event) == [.paused] && left.first?.suppressed == 2 && events.nextDeadline == nil)
  }

  /// The compass state in `status` and `heading` contains calibration instructions.
  @Test(arguments: [
    (ActivityType.automotive, "drive slowly in a full circle"), (.other, "figure of eight"),
  ])
  func calibrationRequestHasInstructions(activity: ActivityType, instruction: String) throws {
    var pipeline = try pipeline(
      { $0.heading.isEnabled = true }, { $0.heading.filter = 0 },
      { $0.location.activity = activity })
    var messages: [VehicleMessage] = []
    for step in 0...300 {
      let time = Timestamp(seconds: Double(step) / 100)
      let noise = Double(step % 7) * 1e-4
      let scan = InertialScan(
        timestamp: time, specificForce: Vector3(noise, 0, 9.81), rotationRate: Vector3(noise * 0.01, 0, 0),
        magneticField: Vector3(noise, 24, -41.6))
      pipeline.process(.inertial([scan])) { messages.append($0) }
    }
    let headings = messages.compactMap { message -> HeadingMessage? in
      if case .heading(let heading) = message { heading } else { nil }
    }
    let status = pipeline.report(.online, at: Timestamp(seconds: 3))
    for compass in [headings.last?.compass, status.compass] {
      #expect(compass?.calibration == .uncalibrated && compass?.isCalibrationWanted == true)
      #expect(compass?.instruction?.contains(instruction) == true)
      #expect((compass?.magneticField?.length).map { (30...70).contains($0) } == true)
    }
  }

  @Test func compassRequiresAMagnetometer() throws {
    let pipeline = try pipeline()
    #expect(pipeline.report(.online, at: Timestamp(seconds: 0)).compass == nil)
  }
}
