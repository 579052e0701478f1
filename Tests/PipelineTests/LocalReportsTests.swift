import Glibc
import LocalProtocols
import Pipeline
import Positioning
import Sensors
import Simulation
import Spatial
import Telemetry
import TestSupport
import Testing

/// Positions for programs on the same machine: content by access, and demand for the receiver.
@Suite struct LocalReportsTests {
  private static let start = UTCTime(nanoseconds: 1_795_248_000_000_000_000)
  private static let home = Coordinate(latitude: 48, longitude: 11)
  private static let exact = LocalAccess(.exact)

  private func pipeline(_ settings: Setting..., isVirtual: Bool = true) -> AgentPipeline {
    AgentPipeline(
      configuration: PipelineConfiguration(
        [{ $0.location.policy = .distance(nil) }] + settings, isVirtual: isVirtual),
      start: Timestamp(seconds: 100), time: Self.start, version: "1")
  }

  private func fix(at seconds: Double, _ coordinate: Coordinate? = home, speed: Double = 0) -> SensorEvent {
    var fix = PositionFix(
      timestamp: Timestamp(seconds: seconds), time: Self.start.advanced(bySeconds: seconds - 100),
      mode: coordinate == nil ? .noFix : .threeDimensional, coordinate: coordinate)
    (fix.speed, fix.course, fix.horizontalError, fix.satellitesUsed) = (speed, 90, 4, 9)
    return .position([fix])
  }

  /// Reports of an access, in order.
  private func reports(_ pipeline: inout AgentPipeline, _ access: LocalAccess = exact) -> [LocalReport] {
    pipeline.drainLocal().compactMap { $0.reports[access] }
  }

  // MARK: Privacy

  @Test func eachAccessReceivesItsAccuracy() throws {
    var pipeline = pipeline()
    let accesses = [Self.exact, LocalAccess(.reduced), LocalAccess(.none)]
    pipeline.observe(LocalDemand(Set(accesses)))
    _ = pipeline.drainLocal()
    pipeline.process(fix(at: 101, speed: 10)) { _ in }
    let epoch = try #require(pipeline.drainLocal().last)
    #expect(Set(epoch.reports.keys) == Set(accesses.prefix(2)))
    let exact = try #require(epoch.reports[accesses[0]])
    #expect(exact.location?.coordinate == Self.home && exact.location?.speed == 10)
    #expect(exact.receiver?.satellitesUsed == 9 && !exact.isEstimated)
    #expect(exact.time == Self.start.advanced(bySeconds: 1))
    let reduced = try #require(epoch.reports[accesses[1]])
    let place = try #require(reduced.location)
    #expect(place.coordinate != Self.home && place.speed == nil && place.course == nil)
    #expect(place.coordinate.distance(to: Self.home) <= Location.reducedAccuracy)
    #expect(reduced.receiver == nil && reduced.attitude == nil)
  }

  /// An unknown accuracy is reported as unknown.
  @Test func unknownAccuracyIsNotInvented() throws {
    var pipeline = pipeline()
    let accesses = [Self.exact, LocalAccess(.reduced)]
    pipeline.observe(LocalDemand(Set(accesses)))
    _ = pipeline.drainLocal()
    var fix = PositionFix(
      timestamp: Timestamp(seconds: 101), time: Self.start.advanced(bySeconds: 1), mode: .twoDimensional,
      coordinate: Self.home)
    fix.speed = 0
    pipeline.process(.position([fix])) { _ in }
    let report = try #require(reports(&pipeline).last?.location)
    #expect(report.coordinate == Self.home && report.horizontalAccuracy == nil)
  }

  /// A program that connects later receives the known position. After locations were disabled, it receives a
  /// report without a position.
  @Test func laterProgramsReceiveThePosition() throws {
    var pipeline = pipeline(isVirtual: false)
    rest(&pipeline, from: 100, to: 105)
    pipeline.process(fix(at: 105)) { _ in }
    rest(&pipeline, from: 105, to: 110)
    let reduced = LocalAccess(.reduced)
    pipeline.observe(LocalDemand([reduced], arrivals: 1))
    #expect(reports(&pipeline, reduced).last?.location != nil)
    rest(&pipeline, from: 110, to: 111)
    pipeline.observe(LocalDemand([reduced], arrivals: 2))
    #expect(reports(&pipeline, reduced).last?.location != nil)
    pipeline.reconfigure(PipelineConfiguration([{ $0.location.isEnabled = false }], isVirtual: false)) { _ in
    }
    let disabled = reports(&pipeline, reduced)
    #expect(disabled.count == 1 && disabled.first?.location == nil)
    pipeline.observe(LocalDemand([reduced], arrivals: 3))
    let late = reports(&pipeline, reduced)
    #expect(late.count == 1 && late.first?.location == nil)
  }

  @Test func zoneHidesPositionsUnlessPrivacyIsIgnored() throws {
    var pipeline = pipeline({ $0.privacy.addZone(48, 11, radius: 300) })
    let allowed = LocalAccess(.exact, privacy: .ignore)
    let accesses = [Self.exact, LocalAccess(.reduced), allowed]
    pipeline.observe(LocalDemand(Set(accesses)))
    _ = pipeline.drainLocal()
    pipeline.process(fix(at: 101)) { _ in }
    let inside = try #require(pipeline.drainLocal().last)
    for access in accesses.prefix(2) {
      let report = try #require(inside.reports[access])
      #expect(report.location == nil && report.receiver == nil && report.attitude == nil)
    }
    #expect(inside.reports[allowed]?.location?.coordinate == Self.home)
    let outside = Self.home.destination(distance: 400, bearing: 90)
    pipeline.process(fix(at: 200, outside)) { _ in }
    #expect(reports(&pipeline).last?.location?.coordinate == outside)
  }

  @Test func blurredPositionsHaveNoSatellites() throws {
    var pipeline = pipeline({ $0.privacy.accuracy = 1000 })
    let allowed = LocalAccess(.exact, privacy: .ignore)
    pipeline.observe(LocalDemand([Self.exact, allowed]))
    _ = pipeline.drainLocal()
    pipeline.process(fix(at: 101, speed: 10)) { _ in }
    let epoch = try #require(pipeline.drainLocal().last)
    let report = try #require(epoch.reports[Self.exact])
    #expect(report.location != nil && report.location?.coordinate != Self.home && report.receiver == nil)
    #expect(report.location?.speed == nil)
    #expect(epoch.reports[allowed]?.location?.coordinate == Self.home)
  }

  /// The fleet receives approximate positions, the programs in the vehicle exact ones.
  @Test func reducedPublicationLeavesExactReports() throws {
    var pipeline = pipeline({ $0.location.desiredAccuracy = .reduced })
    pipeline.observe(LocalDemand([Self.exact]))
    #expect(pipeline.demands[.positioning]?.isOn == true)
    var published: [LocationMessage] = []
    for second in 101..<120 {
      pipeline.process(fix(at: Double(second), speed: 10)) {
        if case .location(let message) = $0 { published.append(message) }
      }
    }
    #expect(reports(&pipeline).last?.location?.coordinate == Self.home)
    #expect(!published.isEmpty && published.allSatisfy { $0.location.coordinate != Self.home })
  }

  // MARK: Power

  /// A parked vehicle: its receiver sleeps, is on while a program watches, and sleeps again.
  @Test func receiverIsOnWhileAProgramWatches() throws {
    var pipeline = pipeline({ $0.location.desiredAccuracy = .hundredMeters }, isVirtual: false)
    rest(&pipeline, from: 100, to: 105)
    pipeline.process(fix(at: 105)) { _ in }
    rest(&pipeline, from: 105, to: 120)
    #expect(pipeline.demands[.positioning] == .off)
    pipeline.observe(LocalDemand([Self.exact]))
    #expect(pipeline.demands[.positioning]?.isOn == true)
    // The vehicle has been at rest since its last position, which is therefore valid until the next fix.
    let first = reports(&pipeline)
    #expect(first.map { $0.location?.coordinate } == [Self.home])
    #expect(first.first?.time == pipeline.civilTime)
    for second in 121..<130 {
      pipeline.process(fix(at: Double(second))) { _ in }
      rest(&pipeline, from: Double(second), to: Double(second) + 1)
      #expect(pipeline.demands[.positioning]?.isOn == true)
      #expect(reports(&pipeline).map { $0.location?.coordinate } == [Self.home])
    }
    pipeline.observe(LocalDemand())
    rest(&pipeline, from: 130, to: 135)
    #expect(pipeline.demands[.positioning] == .off)
    pipeline.process(fix(at: 135)) { _ in }
    #expect(pipeline.drainLocal().isEmpty)
    #expect((9.5...10.5).contains(pipeline.localReceiverSeconds), "\(pipeline.localReceiverSeconds)")
    let energy = try #require(pipeline.energy(at: Timestamp(seconds: 135))[.receiver])
    #expect((14...18).contains(energy.seconds), "\(energy.seconds)")
  }

  /// Programs with reduced accuracy leave the receiver of a parked vehicle off.
  @Test func reducedAccessLetsTheReceiverSleep() {
    var pipeline = pipeline({ $0.location.desiredAccuracy = .hundredMeters }, isVirtual: false)
    rest(&pipeline, from: 100, to: 105)
    pipeline.process(fix(at: 105)) { _ in }
    rest(&pipeline, from: 105, to: 110)
    pipeline.observe(LocalDemand([LocalAccess(.reduced)]))
    let first = reports(&pipeline, LocalAccess(.reduced))
    #expect(first.count == 1 && first[0].location != nil)
    rest(&pipeline, from: 110, to: 200)
    #expect(pipeline.demands[.positioning] == .off)
    #expect(pipeline.drainLocal().isEmpty)
  }

  @Test func accessWithoutPositionsRequiresNothing() {
    var pipeline = pipeline({ $0.location.policy = .significant })
    let before = pipeline.demands
    pipeline.observe(LocalDemand([LocalAccess(.none)]))
    #expect(pipeline.demands == before && pipeline.drainLocal().isEmpty)
  }

  @Test func disabledLocationsAreNotPoweredByPrograms() {
    var pipeline = pipeline({ $0.location.isEnabled = false })
    pipeline.observe(LocalDemand([Self.exact]))
    #expect(pipeline.demands[.positioning] == .off)
    #expect(reports(&pipeline).map(\.location) == [nil])
    pipeline.process(fix(at: 101)) { _ in }
    #expect(pipeline.drainLocal().isEmpty)
  }

  /// Returns the number of deadlines.
  @discardableResult
  private func rest(_ pipeline: inout AgentPipeline, from: Double, to end: Double) -> Int {
    var deadlines = 0
    for index in Int(from * 25)..<Int(end * 25) {
      let scan = InertialScan(
        timestamp: Timestamp(seconds: Double(index) / 25),
        acceleration: Vector3(0.001 * Double(index % 3), 0, -1))
      while let deadline = pipeline.nextDeadline, deadline < scan.timestamp {
        pipeline.advance(to: deadline) { _ in }
        deadlines += 1
      }
      pipeline.process(.inertial([scan])) { _ in }
    }
    return deadlines
  }

  /// Receiver and wakeups of a parked vehicle.
  private struct Usage {
    /// Seconds with the receiver on.
    var receiver = 0.0
    /// Seconds for which programs have required it.
    var programs = 0.0
    /// Wakeups in each second: deadlines, blocks of the inertial sensors, and positions.
    var wakeups: [Double] = []
  }

  /// Parks for a quarter of an hour, in which programs are connected at the given times.
  private func park(_ times: [Range<Int>], _ access: LocalAccess) throws -> Usage {
    var pipeline = pipeline({ $0.location.desiredAccuracy = .hundredMeters }, isVirtual: false)
    var usage = Usage()
    var arrivals = 0
    for second in 0..<900 {
      let now = 100 + Double(second)
      if times.contains(where: { $0.lowerBound == second || $0.upperBound == second }) {
        arrivals += times.count { $0.lowerBound == second }
        let isConnected = times.contains { $0.contains(second) }
        pipeline.observe(LocalDemand(isConnected ? [access] : [], attitude: isConnected, arrivals: arrivals))
      }
      var wakeups = Double(rest(&pipeline, from: now, to: now + 1))
      if pipeline.demands[.positioning]?.isOn == true {
        pipeline.process(fix(at: now + 1)) { _ in }
        wakeups += 1
      }
      wakeups +=
        [SensorKind.accelerometer, .gyroscope, .magnetometer].map {
          if case .rate(_, let latency)? = pipeline.demands[$0] { 1 / (latency / .seconds(1)) } else { 0.0 }
        }.max() ?? 0
      usage.wakeups.append(wakeups)
      _ = pipeline.drainLocal()
    }
    usage.receiver = try #require(pipeline.energy(at: Timestamp(seconds: 1000))[.receiver]).seconds
    usage.programs = pipeline.localReceiverSeconds
    return usage
  }

  /// The receiver of a parked vehicle is on for the union of the programs' times. After the last one has left, the
  /// wakeups are those of a vehicle without programs.
  @Test(arguments: [0, 1, 5]) func receiverIsOnForTheUnionOfThePrograms(count: Int) throws {
    var generator = SeededGenerator.announced()
    let times = (0..<count).map { _ in
      let start = Int.random(in: 60...600, using: &generator)
      return start..<(start + Int.random(in: 10...120, using: &generator))
    }
    let union = Double(Set(times.flatMap { $0 }).count)
    let margin = 3 * Double(count) + 0.1
    let alone = try park([], Self.exact)
    func perMinute(_ usage: Usage) -> Double { usage.wakeups.reduce(0, +) / 15 }
    let usage = try park(times, Self.exact)
    print(
      "\(count) programs, connected for \(union) of 900 s: receiver on for \(usage.receiver) s, required for \(usage.programs) s, "
        + "\(perMinute(usage)) wakeups a minute")
    #expect(abs(usage.programs - union) <= margin, "\(usage.programs) \(union)")
    // After each program the receiver may be on until its next position.
    #expect(usage.receiver >= union - margin && usage.receiver <= alone.receiver + union + margin)
    let (end, endAlone) = (usage.wakeups[760...].reduce(0, +), alone.wakeups[760...].reduce(0, +))
    #expect(abs(end - endAlone) <= 2, "\(end) \(endAlone)")
    #expect(count == 0 || perMinute(usage) > perMinute(alone))
    // Reduced accuracy requires no position at rest.
    let reduced = try park(times, LocalAccess(.reduced))
    print("\(count) programs with reduced accuracy: receiver on for \(reduced.receiver) s")
    #expect(reduced.programs == 0 && reduced.receiver <= alone.receiver + margin)
  }

  // MARK: Attitude

  /// Without navigation the attitude is that of the motion sensors, which are powered for it.
  @Test func attitudeWithoutNavigation() throws {
    var pipeline = pipeline(
      { $0.navigation.isEnabled = false }, { $0.attitude.isEnabled = false },
      { $0.heading.isEnabled = false },
      { $0.motion.events = [] }, { $0.events.kinds = [] })
    let kinds = [SensorKind.accelerometer, .gyroscope, .magnetometer]
    func areOn(_ pipeline: AgentPipeline) -> [Bool] {
      kinds.map { pipeline.demands[$0] == .rate(hertz: 100, latency: .seconds(0.5)) }
    }
    pipeline.observe(LocalDemand([Self.exact]))
    #expect(areOn(pipeline) == [false, false, false])
    pipeline.observe(LocalDemand([Self.exact, LocalAccess(.reduced)], attitude: true))
    #expect(areOn(pipeline) == [true, true, true])
    // The right side is 10° lower, the front 5° higher. Heading north for 20 s, then turning clockwise at 20 °/s.
    let tilt =
      Quaternion(angle: 5.0.radians, axis: Vector3(1, 0, 0))
      * Quaternion(angle: 10.0.radians, axis: Vector3(0, 1, 0))
    var epochs: [LocalEpoch] = []
    for index in 0..<2000 {
      let time = Double(index) / 50
      let rate = time < 20 ? 0.0 : 20.0
      let turn = Quaternion(angle: -(rate * (time - 20)).radians, axis: Vector3(0, 0, 1)) * tilt
      var scan = InertialScan(timestamp: Timestamp(seconds: 100 + time))
      scan.specificForce = turn.conjugate.rotate(Vector3(0, 0, 9.80665))
      scan.rotationRate = turn.conjugate.rotate(Vector3(0, 0, -rate.radians))
      scan.magneticField = turn.conjugate.rotate(Vector3(0, 20, -44))
      pipeline.process(.inertial([scan])) { _ in }
      if index % 50 == 0 { pipeline.process(fix(at: 100 + time)) { _ in } }
      epochs += pipeline.drainLocal()
    }
    let epoch = try #require(epochs.last)
    let attitude = try #require(epoch.reports[Self.exact]?.attitude)
    let seconds = epoch.timestamp.seconds(since: Timestamp(seconds: 100))
    #expect(abs((attitude.roll ?? 99) - 10) < 1 && abs((attitude.pitch ?? 99) - 5) < 1, "\(attitude)")
    #expect(abs((attitude.yawRate ?? 99) - 20) < 0.5, "\(attitude)")
    let magnetic = try #require(attitude.magneticHeading)
    #expect(abs(signedDegrees(from: 20 * (seconds - 20), to: magnetic)) < 5, "\(seconds) \(attitude)")
    // At 48° N 11° E, magnetic north is a few degrees east of true north.
    let heading = try #require(attitude.trueHeading)
    #expect((2...6).contains(signedDegrees(from: magnetic, to: heading)), "\(attitude)")
    #expect(epoch.reports[LocalAccess(.reduced)]?.attitude == nil)
    // Without samples the attitude is unknown.
    for second in 141...146 { pipeline.process(fix(at: Double(second))) { _ in } }
    #expect(reports(&pipeline).last?.attitude == nil)
    pipeline.observe(LocalDemand())
    #expect(areOn(pipeline) == [false, false, false])
  }

  // MARK: Positions

  @Test func missingPositionsAreReported() {
    var pipeline = pipeline()
    pipeline.observe(LocalDemand([Self.exact]))
    #expect(reports(&pipeline).map(\.location) == [nil])
    for second in 101...110 { pipeline.process(fix(at: Double(second), nil)) { _ in } }
    let silent = reports(&pipeline)
    #expect((6...9).contains(silent.count) && silent.allSatisfy { $0.location == nil })
    pipeline.process(fix(at: 111)) { _ in }
    #expect(reports(&pipeline).map { $0.location?.coordinate } == [Self.home])
    pipeline.observe(LocalDemand())
    let idle = pipeline.nextDeadline
    for second in 112...130 { pipeline.process(fix(at: Double(second), nil)) { _ in } }
    #expect(pipeline.drainLocal().isEmpty)
    #expect(idle.map { $0 > Timestamp(seconds: 115) } ?? true)
  }

  /// Plays a drive with a minute in a tunnel.
  private func drive(
    _ pipeline: inout AgentPipeline, _ samples: [SyntheticDrive.Sample], block: Int = 1
  ) -> (messages: [VehicleMessage], epochs: [LocalEpoch]) {
    var messages: [VehicleMessage] = []
    var epochs: [LocalEpoch] = []
    var scans: [InertialScan] = []
    for sample in samples {
      let time = sample.truth.time
      if var fix = sample.fix, time == time.rounded() {
        fix.time = Self.start.advanced(bySeconds: time)
        if (200..<260).contains(time) {
          fix = PositionFix(timestamp: fix.timestamp, time: fix.time, mode: .noFix)
        }
        pipeline.process(.position([fix])) { messages.append($0) }
      }
      scans.append(sample.scan)
      if scans.count == block {
        pipeline.process(.inertial(scans)) { messages.append($0) }
        scans.removeAll()
      }
      epochs += pipeline.drainLocal()
    }
    return (messages, epochs)
  }

  /// Programs receive the positions that are published, also in the tunnel, and nothing else is published for them.
  @Test func programsReceiveThePublishedPositions() throws {
    var generator = SeededGenerator.announced()
    let samples = SyntheticDrive(length: 300, mounting: generator.nextRotation()).samples(&generator)
    var alone = pipeline()
    let expected = drive(&alone, samples)
    #expect(expected.epochs.isEmpty)
    var watched = pipeline()
    watched.observe(LocalDemand([Self.exact, LocalAccess(.reduced)], interval: 0.1, attitude: true))
    let (messages, fast) = drive(&watched, samples)
    func encoded(_ messages: [VehicleMessage]) -> [[UInt8]] {
      messages.map { $0.encode(identity: MessageIdentity(epoch: "e", seq: 1)) }
    }
    #expect(encoded(messages) == encoded(expected.messages))

    var second = pipeline()
    second.observe(LocalDemand([Self.exact]))
    let (_, slow) = drive(&second, samples)
    let published = messages.compactMap { if case .location(let message) = $0 { message } else { nil } }
    let told = slow.compactMap { $0.reports[Self.exact] }.filter { $0.location != nil }
    // Programs also receive the positions of stops, which are not published.
    #expect((published.count...310).contains(told.count), "\(told.count), \(published.count)")
    let byTime = Dictionary(told.map { ($0.time, $0) }) { first, _ in first }
    let missing = published.filter { byTime[$0.time] == nil }.map(\.time.rfc3339)
    #expect(missing.count <= 1, "\(missing)")
    for message in published {
      guard let report = byTime[message.time] else { continue }
      #expect(report.location?.coordinate == message.location.coordinate)
      #expect(report.isEstimated == (message.location.positionSource == .inertial))
    }
    #expect(told.allSatisfy { $0.attitude == nil })
    #expect(told.count(where: \.isEstimated) > 50)
    let inTunnel = told.filter(\.isEstimated)
    #expect(inTunnel.dropFirst(5).allSatisfy { $0.receiver?.satellitesUsed == nil })

    // Ten positions a second along the same route, each later than the one before.
    let often = fast.compactMap { $0.reports[Self.exact] }.filter { $0.location != nil }
    let aligned = often.filter { (150..<290).contains($0.time?.seconds(since: Self.start) ?? 0) }
    #expect((1300...1450).contains(aligned.count), "\(aligned.count)")
    let located = fast.filter { $0.reports[Self.exact]?.location != nil }
    #expect(zip(located, located.dropFirst()).allSatisfy { $0.timestamp < $1.timestamp })
    let frame = LocalFrame(origin: SyntheticDrive.origin, altitude: SyntheticDrive.altitude)
    for report in aligned {
      let seconds = report.time?.seconds(since: Self.start) ?? 0
      let truth = samples[min(samples.count - 1, Int((seconds * 50).rounded()))].truth
      let offset = frame.offset(of: try #require(report.location?.coordinate))
      #expect(hypot(offset.x - truth.position.x, offset.y - truth.position.y) < 30)
      let heading = try #require(report.attitude?.trueHeading)
      #expect(abs(signedDegrees(from: truth.heading.degrees, to: heading)) < 8)
      #expect(abs(report.attitude?.roll ?? 90) < 15 && abs(report.attitude?.pitch ?? 90) < 15)
      let magnetic = try #require(report.attitude?.magneticHeading)
      #expect((2...6).contains(signedDegrees(from: magnetic, to: heading)), "\(heading) \(magnetic)")
      #expect(report.attitude?.yawRate != nil)
    }
  }
}
