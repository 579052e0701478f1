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

/// Positions for programs on the same machine: who receives which, and when the receiver is on for them.
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

  /// An unknown accuracy stays unknown.
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

  /// A program that arrives later receives the known position, too; after locations were disabled, it is notified.
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
    // The vehicle has been at rest since its last position, which is valid until the receiver has a new one.
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

  private func rest(_ pipeline: inout AgentPipeline, from: Double, to end: Double) {
    for index in Int(from * 25)..<Int(end * 25) {
      let scan = InertialScan(
        timestamp: Timestamp(seconds: Double(index) / 25),
        acceleration: Vector3(0.001 * Double(index % 3), 0, -1))
      while let deadline = pipeline.nextDeadline, deadline < scan.timestamp {
        pipeline.advance(to: deadline) { _ in }
      }
      pipeline.process(.inertial([scan])) { _ in }
    }
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
    watched.observe(LocalDemand([Self.exact, LocalAccess(.reduced)], interval: 0.1))
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
    }
  }
}
