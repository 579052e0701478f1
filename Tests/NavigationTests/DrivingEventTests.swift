import Glibc
import Navigation
import Sensors
import Simulation
import Spatial
import Testing

/// Events of the road, speeding, parking, power supply and receiver.
@Suite struct DrivingEventTests {
  private func time(_ seconds: Double) -> Timestamp { Timestamp(seconds: 1000 + seconds) }
  private static let place = Coordinate(latitude: 48, longitude: 11)

  private func fix(_ seconds: Double, speed: Double?, north: Double = 0) -> PositionFix {
    var fix = PositionFix(timestamp: time(seconds), mode: .threeDimensional)
    fix.coordinate = LocalFrame(origin: Self.place).coordinate(at: SIMD2(0, north))
    (fix.speed, fix.course, fix.horizontalError) = (speed, 0, 5)
    return fix
  }

  // MARK: Road

  private func drive(seed: UInt64 = 4, seconds: Double = 400) throws -> SimulatedDrive {
    var configuration = SimulatedDrive.Configuration()
    (configuration.seed, configuration.duration) = (seed, seconds)
    configuration.receiver.meanTimeBetweenOutages = nil
    return try SimulatedDrive(configuration)
  }

  /// An impact of the front axle and one of the rear axle on an ordinary road are one pothole.
  @Test func potholeIsOneShock() throws {
    var drive = try drive()
    var played = EventPlay(kinds: [.pothole, .kerb], seed: 4)
    var hit: Timestamp?
    played.play(&drive) { state in
      if hit == nil, state.timestamp.seconds > 200, state.speed > 12 { hit = state.timestamp }
      guard let hit else { return (.zero, .zero) }
      let since = state.timestamp.seconds(since: hit)
      let rear = since - 2.7 / 12
      func blow(_ time: Double) -> Double { time >= 0 && time < 0.06 ? 15 * sin(.pi * time / 0.06) : 0 }
      return (Vector3(0, 0, blow(since) + blow(rear)), .zero)
    }
    #expect(played.events.map(\.kind) == [.pothole])
    let event = try #require(played.events.first)
    #expect(abs(event.start.seconds(since: try #require(hit))) < 0.1)
    #expect(event.peak > event.limit && event.confidence > 0.6 && (event.speed ?? 0) > 11)
  }

  /// A slow impact with a lasting tilt afterwards is a kerb: 10 cm under the wheels of one side.
  @Test func kerbLeavesATilt() throws {
    var drive = try drive()
    var played = EventPlay(kinds: [.pothole, .kerb], seed: 4)
    var hit: Timestamp?
    var lean = 0.0
    played.play(&drive) { state in
      if hit == nil, state.timestamp.seconds > 200, (2.0...6).contains(state.speed) { hit = state.timestamp }
      guard let hit else { return (.zero, .zero) }
      let since = state.timestamp.seconds(since: hit)
      let rate = since >= 0 && since < 0.2 ? 0.07 / 0.2 : 0
      lean += rate * 0.01
      let blow = since >= 0 && since < 0.08 ? 11 * sin(.pi * since / 0.08) : 0
      return (Vector3(-standardGravity * sin(lean), 0, blow), Vector3(0, rate, 0))
    }
    #expect(played.events.map(\.kind) == [.kerb])
  }

  @Test func ordinaryDriveHasNoEvents() throws {
    for seed: UInt64 in 1...2 {
      var drive = try drive(seed: seed, seconds: 1800)
      var played = EventPlay(seed: seed)
      played.play(&drive)
      #expect(played.known != nil, "seed \(seed)")
      #expect(played.events.isEmpty, "seed \(seed)")
    }
  }

  /// The receiver reports positions 120 m off for 8 s.
  @Test func jumpingReceiverIsContradicted() throws {
    var drive = try drive()
    var played = EventPlay(seed: 4)
    played.play(
      &drive,
      move: { fix in
        guard (200...208).contains(fix.timestamp.seconds), let place = fix.coordinate else { return }
        fix.coordinate = LocalFrame(origin: place).coordinate(at: SIMD2(120, 0))
      })
    #expect(played.events.map(\.kind) == [.positionContradicted, .positionContradicted])
    #expect(played.events.map(\.isOngoing) == [true, false] && Set(played.events.map(\.number)) == [1])
    let event = try #require(played.events.last)
    #expect(abs(event.start.seconds - 200) < 1.5 && event.duration > 6 && event.duration < 20)
    #expect(event.peak > 60 && event.confidence > 0.9)
  }

  /// Wheels at rest contradict a receiver that reports motion.
  @Test func wheelsAtRestContradictAMovingReceiver() {
    var detector = DrivingEventDetector()
    var events: [DrivingEvent] = []
    for second in 0...90 {
      let now = Double(second)
      events += detector.process(WheelSpeed(timestamp: time(now), speed: 0))
      events += detector.process(fix(now, speed: second < 10 || second > 25 ? 0 : 8, north: 8 * now), nil)
    }
    #expect(events.map(\.isOngoing) == [true, false])
    #expect(events.allSatisfy { $0.kind == .positionContradicted && $0.number == 1 })
  }

  // MARK: Speeding

  private func speeds(_ limits: DrivingEventLimits, _ speeds: [Double]) -> [DrivingEvent] {
    var detector = DrivingEventDetector(limits: limits)
    return speeds.enumerated().flatMap { detector.process(fix(Double($0), speed: $1), nil) }
  }

  @Test func speedingIsReportedAtItsStartAndEnd() throws {
    var limits = DrivingEventLimits()
    limits.speed = 20
    let drive =
      [Double](repeating: 19, count: 10) + [Double](repeating: 25, count: 30)
      + [Double](repeating: 18, count: 10)
    let events = speeds(limits, drive)
    #expect(events.map(\.isOngoing) == [true, false] && events.map(\.number) == [1, 1])
    let over = try #require(events.last)
    #expect(over.kind == .overSpeed && over.peak == 25 && over.limit == 20 && over.severity == .medium)
    #expect(over.start == time(10) && abs(over.duration - 30) < 1e-6 && over.region == nil)
  }

  @Test func overtakingAndSpeedometerErrorAreNoSpeeding() {
    var limits = DrivingEventLimits()
    limits.speed = 20
    let brief = [Double](repeating: 19, count: 10) + [25, 25, 25, 25] + [Double](repeating: 19, count: 10)
    #expect(speeds(limits, brief).isEmpty)
    #expect(speeds(limits, [Double](repeating: 21, count: 60)).isEmpty)
    #expect(speeds(DrivingEventLimits(), [Double](repeating: 60, count: 60)).isEmpty)
  }

  @Test func regionLimitAppliesWhileInside() {
    var detector = DrivingEventDetector()
    var events: [DrivingEvent] = []
    for second in 0...40 {
      if second == 10 { events += detector.observe(regionLimits: [("school", 8)], at: time(10)) }
      if second == 30 { events += detector.observe(regionLimits: [], at: time(30)) }
      events += detector.process(fix(Double(second), speed: 14), nil)
    }
    #expect(events.map(\.isOngoing) == [true, false])
    #expect(events.allSatisfy { $0.region == "school" && $0.limit == 8 })
    #expect(abs((events.last?.duration ?? 0) - 20) < 1e-6)
    // Severity of 14 m/s at a limit of 8 m/s, also if the limit no longer applies at the end of the event.
    #expect(events.last?.severity == .high)
  }

  // MARK: At rest

  @Test func idlingIsReportedAfterFiveMinutes() {
    var detector = DrivingEventDetector()
    var events = detector.observe(ignition: true, isEngineRunning: true, at: time(0))
    for second in 0..<700 {
      let speed = second < 600 ? 0.1 : 10
      let told = detector.process(fix(Double(second), speed: speed), nil)
      if told.contains(where: { $0.isOngoing }) { #expect(second == 300) }
      events += told
    }
    #expect(events.map(\.kind) == [.idling, .idling] && events.map(\.isOngoing) == [true, false])
    #expect(events.last?.duration == 600)
  }

  @Test func idlingRequiresAKnownEngineState() {
    var detector = DrivingEventDetector()
    let events = (0..<900).flatMap { detector.process(fix(Double($0), speed: 0), nil) }
    #expect(events.isEmpty)
  }

  /// Events of a parked vehicle whose accelerometer is tilted about a device axis by `tilt`, in degrees by time in s.
  private func parked(
    seconds: Double, rate: Double = 12.5, ignition: Bool? = false, seed: UInt64 = 1,
    tilt: (Double) -> Double
  ) -> [DrivingEvent] {
    var random = SeededGenerator(seed: seed)
    var detector = DrivingEventDetector()
    var events: [DrivingEvent] = []
    if let ignition { events += detector.observe(ignition: ignition, isEngineRunning: nil, at: time(0)) }
    events += detector.observe(isStanding: true, at: time(0))
    let up = Vector3(0.3, -0.5, 0.81).normalized ?? Vector3(0, 0, 1)
    for index in 0..<Int(seconds * rate) {
      let now = Double(index) / rate
      events += detector.advance(to: time(now))
      let turn = Quaternion(rotationVector: Vector3(tilt(now).radians, 0, 0))
      // A rotation about the device's x axis tilts the vertical by the angle times the sine of the angle between axis and vertical.
      let force = standardGravity * turn.rotate(up) + 0.02 * random.nextNormalVector()
      events += detector.process(InertialScan(timestamp: time(now), specificForce: force), nil)
    }
    return events
  }

  @Test(arguments: [1.0, 12.5, 100]) func liftIsDetectedWithinAMinuteAtAnyRate(rate: Double) throws {
    // 2.1° about an axis 73° from the vertical tilt it by 2.0°.
    let events = parked(seconds: 600, rate: rate) { min(2.1, max(0, ($0 - 300) / 5)) }
    let event = try #require(events.first)
    #expect(events.count == 1 && event.kind == .tilt && event.isOngoing)
    #expect(event.start.seconds(since: time(300)) > -5)
    #expect(event.start.seconds(since: time(300)) + event.duration < 60)
    #expect(event.peak > 1.6 && event.limit == 2 && event.unit == "°")
  }

  @Test func liftEndsWhenSetDown() {
    let events = parked(seconds: 900) { $0 > 300 && $0 < 600 ? 3 : 0 }
    #expect(events.map(\.isOngoing) == [true, false] && events.map(\.number) == [1, 1])
  }

  /// Without an ignition signal, a vehicle is considered parked after three minutes at rest.
  @Test func restWithoutIgnitionSignalIsParking() {
    #expect(parked(seconds: 700, ignition: nil) { $0 > 400 ? 3 : 0 }.count == 1)
    #expect(parked(seconds: 150, ignition: nil) { $0 > 100 ? 3 : 0 }.isEmpty)
    #expect(parked(seconds: 700, ignition: true) { $0 > 400 ? 3 : 0 }.isEmpty)
  }

  @Test func windPersonsAndBiasDriftCauseNoEvents() {
    #expect(parked(seconds: 3600) { 1.5 * sin(2 * .pi * 1.3 * $0) + sin(2 * .pi * $0 / 25) }.isEmpty)
    // A person in the vehicle for 20 s; an accelerometer bias that drifts by 1.5° in two hours.
    #expect(parked(seconds: 900) { $0 > 400 && $0 < 420 ? 2.5 : 0 }.isEmpty)
    #expect(parked(seconds: 14_400, rate: 2) { 1.5 * sin(2 * .pi * $0 / 28_800) }.isEmpty)
  }

  @Test func towRequiresIgnitionKnownToBeOff() {
    for ignition in [false, true, nil] {
      var detector = DrivingEventDetector()
      var events = detector.observe(ignition: ignition, isEngineRunning: nil, at: time(0))
      for second in 0..<400 {
        let way = max(0, 10 * Double(second - 100))
        events += detector.process(
          fix(Double(second), speed: second > 100 && second < 200 ? 10 : 0.1, north: min(way, 1000)), nil)
      }
      #expect(
        events.map(\.kind) == (ignition == false ? [.tow, .tow] : []), "\(String(describing: ignition))")
      #expect(events.map(\.isOngoing) == (ignition == false ? [true, false] : []))
    }
  }

  // MARK: Power supply

  @Test func lostSupplyIsReported() {
    var detector = DrivingEventDetector()
    func report(_ power: Bool?, _ seconds: Double) -> [DrivingEvent] {
      detector.observe(hasExternalPower: power, at: time(seconds))
    }
    var events = report(false, 0) + report(false, 20)
    #expect(events.isEmpty, "a supply that was never connected cannot be lost")
    events = report(true, 30) + report(false, 40) + report(true, 41) + report(false, 50)
    #expect(events.isEmpty, "an interruption of 1 s is no event")
    #expect(detector.nextDeadline == time(53))
    events = detector.advance(to: time(53)) + report(true, 100) + report(true, 104)
    #expect(events.map(\.kind) == [.unplugged, .unplugged] && events.map(\.isOngoing) == [true, false])
    #expect(events.last?.start == time(50) && events.last?.duration == 50)
  }

  @Test func lastingLowVoltageIsReported() throws {
    var detector = DrivingEventDetector()
    var events: [DrivingEvent] = []
    for second in 0..<600 {
      // The starter runs for 4 s; later the battery discharges and is charged again.
      let voltage = (100..<104).contains(second) ? 9.5 : (200..<400).contains(second) ? 11.2 : 12.6
      events += detector.observe(voltage: voltage, at: time(Double(second)))
    }
    #expect(events.map(\.kind) == [.lowSupply, .lowSupply] && events.map(\.isOngoing) == [true, false])
    let event = try #require(events.last)
    #expect(event.peak == 11.2 && event.limit == 11.8 && event.duration == 200 && event.severity == .medium)
  }

  @Test func disabledEventsAreNotReported() {
    var limits = DrivingEventLimits()
    limits.speed = 5
    var detector = DrivingEventDetector(limits: limits, kinds: [.idling])
    #expect((0..<60).flatMap { detector.process(fix(Double($0), speed: 20), nil) }.isEmpty)
  }
}
