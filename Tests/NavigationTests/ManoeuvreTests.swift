import Glibc
import Navigation
import Sensors
import Simulation
import Spatial
import Testing

/// Braking, acceleration, cornering and swerves at known accelerations.
@Suite struct ManoeuvreTests {
  private static let limits: DrivingEventLimits = {
    var limits = DrivingEventLimits()
    (limits.braking, limits.acceleration, limits.cornering) = (3.5, 3.0, 3.5)
    return limits
  }()

  /// The braking limit of a car is a speed loss of 7 mph per second; the other classes have lower limits.
  @Test func limitsFollowFleetPractice() {
    let car = DrivingEventLimits()
    #expect((car.braking, car.acceleration, car.cornering) == (3.1, 2.5, 2.9))
    for other in [DrivingEventLimits.VehicleClass.van, .truck, .bus].map(DrivingEventLimits.init) {
      #expect(other.braking < car.braking && other.acceleration < car.acceleration)
      #expect(other.cornering < car.cornering)
    }
  }

  /// Events of a drive whose forward and rightward accelerations (m/s²) are functions of time, at 20 samples per second.
  private func events(
    _ limits: DrivingEventLimits = ManoeuvreTests.limits, seconds: Double = 20, speed: Double = 20,
    deviation: Double = 0, witness: ((Double) -> Double)? = nil, forward: (Double) -> Double = { _ in 0 },
    right: (Double) -> Double = { _ in 0 }
  ) -> [DrivingEvent] {
    var detector = ManoeuvreDetector(limits: limits)
    var (speed, heading) = (speed, 0.0)
    var events: [DrivingEvent] = []
    let step = 0.05
    for index in 0...Int(seconds / step) {
      let time = Double(index) * step
      let timestamp = Timestamp(seconds: 100 + time)
      speed = max(0, speed + forward(time) * step)
      heading += speed > 0.5 ? right(time) / speed * step : 0
      if index % 20 == 0, let witness { detector.observe(speed: witness(time), at: timestamp) }
      events += detector.process(
        DrivingSample(
          timestamp: timestamp, forward: forward(time), right: right(time), speed: speed, heading: heading,
          deviation: deviation, coordinate: Coordinate(latitude: 48, longitude: 11 + 1e-4 * time)))
    }
    return events + detector.finish()
  }

  private func pulse(_ size: Double, from start: Double, to end: Double) -> (Double) -> Double {
    { $0 > start && $0 <= end ? size : 0 }
  }

  @Test func harshBrakingIsReportedOnceWithDetails() throws {
    let events = events(forward: pulse(-4.2, from: 5, to: 8))
    let event = try #require(events.first)
    #expect(events.count == 1 && event.kind == .braking && !event.isOngoing)
    #expect(abs(event.peak - 4.2) < 0.05 && event.limit == 3.5 && event.unit == "m/s²")
    // The mean over 1 s exceeds 3.5 when 5/6 of it is braking, and falls below 2.45 after the end.
    #expect(abs(event.start.seconds - 105.33) < 0.15 && abs(event.duration - 2.6) < 0.3)
    #expect(event.severity == .low && event.confidence > 0.75)
    #expect(try #require(event.speed) < 20 && event.coordinate != nil)
  }

  @Test(arguments: [(4.0, DrivingEvent.Severity.low), (4.5, .medium), (6.0, .high)])
  func severityIncreasesWithThePeak(size: Double, severity: DrivingEvent.Severity) {
    #expect(events(forward: pulse(-size, from: 5, to: 7)).map(\.severity) == [severity])
  }

  @Test func shortOrWeakManoeuvresAreIgnored() {
    #expect(events(forward: pulse(-3.3, from: 5, to: 9)).isEmpty)
    // A bump of a quarter of a second, then vibration.
    #expect(events(forward: pulse(-12, from: 5, to: 5.25)).isEmpty)
    #expect(events(forward: { 15 * sin(2 * .pi * 3 * $0) }, right: { 15 * sin(2 * .pi * 7 * $0) }).isEmpty)
    // Parking manoeuvres.
    #expect(events(speed: 1, forward: pulse(-4, from: 5, to: 5.9)).isEmpty)
  }

  @Test func gearChangeDoesNotEndAManoeuvre() {
    let both: (Double) -> Double = { $0 > 4 && $0 < 6 || $0 > 7 && $0 < 9 ? 3.6 : 0 }
    let events = events(speed: 5, forward: both)
    #expect(events.map(\.kind) == [.acceleration])
    #expect(events.allSatisfy { $0.duration > 4 })
  }

  @Test func twoManoeuvresAreSeparate() {
    let both: (Double) -> Double = { $0 > 4 && $0 < 6 || $0 > 12 && $0 < 14 ? -4 : 0 }
    #expect(events(speed: 30, forward: both).map(\.kind) == [.braking, .braking])
  }

  @Test(arguments: [-1.0, 1.0]) func corneringIsReportedToBothSides(side: Double) {
    let events = events(right: pulse(side * 4, from: 5, to: 9))
    #expect(events.map(\.kind) == [.cornering])
    #expect(events.allSatisfy { abs($0.peak - 4) < 0.1 })
  }

  /// Lateral accelerations to both sides are one swerve, although each half exceeds the cornering limit.
  @Test func swerveIsNoCornering() {
    let events = events(right: { $0 > 5 && $0 <= 6 ? 6 : $0 > 6 && $0 <= 7 ? -6 : 0 })
    #expect(events.map(\.kind) == [.swerve])
    #expect(events.allSatisfy { $0.peak > 5 && $0.speed == 20 })
  }

  /// Two successive bends of a road change the heading and are two corners.
  @Test func bendsAreNoSwerve() {
    let events = events(right: { $0 > 5 && $0 <= 9 ? 5 : $0 > 9 && $0 <= 13 ? -5 : 0 })
    #expect(events.map(\.kind) == [.cornering, .cornering])
  }

  @Test func secondSourceConfirmsOrRejects() {
    let braking = pulse(-4, from: 5, to: 8)
    // A falling speed confirms braking. A constant speed contradicts it: a loose device tilts.
    let alone = events(forward: braking)
    let agreed = events(witness: { 20 - 4 * min(3, max(0, $0 - 5)) }, forward: braking)
    #expect(events(witness: { _ in 20 }, forward: braking).isEmpty)
    #expect(agreed.count == 1 && alone.count == 1)
    #expect(agreed[0].confidence > alone[0].confidence)
  }

  @Test func uncertainTiltReducesTheConfidence() {
    let sure = events(forward: pulse(-3.6, from: 5, to: 8))
    let unsure = events(deviation: 0.5, forward: pulse(-3.6, from: 5, to: 8))
    #expect(sure.count == 1 && unsure.count == 1)
    #expect(sure[0].confidence > unsure[0].confidence)
  }

  @Test func everyVehicleClassHasItsLimits() {
    let classes = DrivingEventLimits.VehicleClass.allCases
    for vehicle in classes {
      let limits = DrivingEventLimits(vehicle)
      for limit in [limits.braking, limits.acceleration, limits.cornering, limits.swerve] {
        #expect((1.5...6).contains(limit))
      }
      let hard = events(limits, forward: pulse(-limits.braking - 0.1, from: 5, to: 8))
      let soft = events(limits, forward: pulse(-limits.braking + 0.1, from: 5, to: 8))
      #expect(hard.map(\.kind) == [.braking] && soft.isEmpty, "\(vehicle)")
    }
    #expect(DrivingEventLimits(.truck).cornering < DrivingEventLimits(.car).cornering)
  }

  // MARK: With navigation

  /// The events of a drive of 20 minutes with an unknown mounting match those detected from the true motion.
  @Test(arguments: [UInt64(1), 2, 3]) func navigationYieldsTheEventsOfTheTruth(seed: UInt64) throws {
    var configuration = SimulatedDrive.Configuration()
    (configuration.seed, configuration.duration) = (seed, 1200)
    configuration.style.braking = 3.2
    var drive = try SimulatedDrive(configuration)
    var limits = DrivingEventLimits()
    (limits.braking, limits.acceleration, limits.cornering) = (2.5, 1.7, 2.0)
    let kinds: Set<DrivingEvent.Kind> = [.braking, .acceleration, .cornering]
    var played = EventPlay(limits: limits, kinds: kinds, seed: seed)
    var truth = ManoeuvreDetector(limits: limits)
    var real: [DrivingEvent] = []
    played.play(
      &drive,
      each: { drive, timestamp in
        let state = drive.truth(at: timestamp).motion
        let course = atan2(state.velocity.x, state.velocity.y)
        let (east, north) = (sin(course), cos(course))
        guard state.speed > 0.3 else { return }
        real += truth.process(
          DrivingSample(
            timestamp: timestamp, forward: state.acceleration.x * east + state.acceleration.y * north,
            right: state.acceleration.x * north - state.acceleration.y * east, speed: state.speed,
            heading: course))
      })
    let known = try #require(played.known, "seed \(seed)")
    #expect(played.events.allSatisfy { $0.start >= known.advanced(bySeconds: -1) }, "seed \(seed)")
    let asked = real.filter { $0.start > known.advanced(bySeconds: 2) }
    let hits = asked.filter { event in
      played.events.contains { $0.kind == event.kind && abs($0.start.seconds(since: event.start)) < 1.5 }
    }
    #expect(asked.count >= 10, "seed \(seed)")
    // Tolerance: a manoeuvre close to a limit can be detected in one of the two only.
    #expect(Double(hits.count) >= 0.9 * Double(asked.count), "seed \(seed)")
    #expect(Double(played.events.count) <= 1.15 * Double(asked.count) + 1, "seed \(seed)")
    #expect(Set(played.events.map(\.number)).count == played.events.count)
  }
}

/// Plays a simulated drive through navigation and event detector with a randomly rotated device.
struct EventPlay {
  private(set) var events: [DrivingEvent] = []
  private(set) var known: Timestamp?
  private(set) var navigation = NavigationFilter()
  private(set) var detector: DrivingEventDetector
  private let turn: Quaternion

  init(
    limits: DrivingEventLimits = DrivingEventLimits(),
    kinds: Set<DrivingEvent.Kind> = Set(DrivingEvent.Kind.allCases), seed: UInt64
  ) {
    detector = DrivingEventDetector(limits: limits, kinds: kinds)
    var random = SeededGenerator(seed: seed, stream: 9)
    turn = Quaternion(rotationVector: 2 * random.nextNormalVector())
  }

  /// - Parameters:
  ///   - shake: additional acceleration in m/s² and rotation in rad/s in the vehicle's frame.
  ///   - move: changes each fix.
  mutating func play(
    _ drive: inout SimulatedDrive, shake: ((SimulatedState) -> (Vector3, Vector3))? = nil,
    move: (inout PositionFix) -> Void = { _ in },
    each: (SimulatedDrive, Timestamp) -> Void = { _, _ in }
  ) {
    var due = Timestamp(nanoseconds: 0)
    while let event = drive.next() {
      switch event {
      case .inertial(let scans):
        for var scan in scans {
          if let shake {
            let (force, rate) = shake(drive.truth(at: scan.timestamp))
            scan.specificForce = scan.specificForce.map { $0 + force }
            scan.rotationRate = scan.rotationRate.map { $0 + rate }
          }
          scan.specificForce = scan.specificForce.map { turn.rotate($0) }
          scan.rotationRate = scan.rotationRate.map { turn.rotate($0) }
          navigation.process(scan)
          events += detector.process(scan, navigation.estimate)
          if known == nil, detector.isMountingKnown { known = scan.timestamp }
          if scan.timestamp >= due {
            due = scan.timestamp.advanced(bySeconds: 0.05)
            each(drive, scan.timestamp)
          }
        }
      case .position(let fixes):
        for var fix in fixes {
          move(&fix)
          events += detector.process(fix, navigation.estimate)
          navigation.process(fix)
        }
      default: break
      }
    }
  }
}
