import Glibc
import Motion
import Pipeline
import Positioning
import Sensors
import Simulation
import Spatial
import Telemetry
import TestSupport
import Testing

/// Fusion of motion and position: messages of the agent for a drive with known truth.
@Suite struct NavigationPipelineTests {
  private static let start = UTCTime(nanoseconds: 1_795_248_000_000_000_000)
  private static let frame = LocalFrame(origin: SyntheticDrive.origin, altitude: SyntheticDrive.altitude)

  private func pipeline(_ settings: Setting...) throws -> AgentPipeline { try pipeline(settings) }

  private func configuration(_ settings: [Setting]) throws -> PipelineConfiguration {
    PipelineConfiguration(
      [
        { $0.location.policy = .distance(nil) }, { $0.statusInterval = 10 },
      ] + settings)
  }

  private func pipeline(_ settings: [Setting]) throws -> AgentPipeline {
    AgentPipeline(
      configuration: try configuration(settings), start: Timestamp(seconds: 100), time: Self.start,
      version: "1")
  }

  /// Plays a drive. The receiver has no fix where `isSeen` returns false.
  private func play(
    _ pipeline: inout AgentPipeline, _ samples: some Sequence<SyntheticDrive.Sample>,
    isSeen: (Double) -> Bool = { _ in true }
  ) -> [VehicleMessage] {
    var messages: [VehicleMessage] = []
    for sample in samples {
      let time = sample.truth.time
      if var fix = sample.fix, time == time.rounded() {
        fix.time = Self.start.advanced(bySeconds: time)
        if !isSeen(time) {
          fix = PositionFix(timestamp: fix.timestamp, time: fix.time, mode: .noFix)
        }
        pipeline.process(.position([fix])) { messages.append($0) }
      }
      pipeline.process(.inertial([sample.scan])) { messages.append($0) }
    }
    return messages
  }

  private func locations(_ messages: [VehicleMessage]) -> [LocationMessage] {
    messages.compactMap { if case .location(let message) = $0 { message } else { nil } }
  }

  private func statuses(_ messages: [VehicleMessage]) -> [StatusMessage] {
    messages.compactMap { if case .status(let message) = $0 { message } else { nil } }
  }

  /// Returns the position error in m of a location at its civil time.
  private func error(_ message: LocationMessage, _ samples: [SyntheticDrive.Sample]) -> Double {
    let index = Int((message.time.seconds(since: Self.start) * 50).rounded())
    let truth = samples[min(max(0, index), samples.count - 1)].truth.position
    let offset = Self.frame.offset(of: message.location.coordinate)
    return hypot(offset.x - truth.x, offset.y - truth.y)
  }

  private func location(_ fix: TrackMessage.Fix) -> Location {
    Location(timestamp: Timestamp(nanoseconds: fix.time.nanoseconds), coordinate: fix.coordinate)
  }

  /// A receiver without an error estimate gives the same result live, where gpsd derives an error from the
  /// dilution, and in a recording.
  @Test func errorThatGPSDDerivedIsNotUsed() throws {
    var generator = SeededGenerator.announced()
    let samples = SyntheticDrive(length: 150, mounting: generator.nextRotation()).samples(&generator)
    let runs = try [false, true].map { isLive in
      var pipeline = try pipeline()
      return locations(
        play(
          &pipeline,
          samples.map { sample in
            var sample = sample
            sample.fix?.horizontalDilution = 0.9
            sample.fix?.horizontalError = isLive ? 17.1 : nil
            sample.fix?.isHorizontalErrorFromDilution = isLive
            return sample
          }))
    }
    #expect(runs[0] == runs[1] && runs[0].last?.location.positionSource == .fused)
  }

  /// Positions continue through one minute without a fix and contain their source. At least 90 % are within 2.5
  /// times their stated accuracy.
  @Test func tunnelIsBridged() throws {
    var generator = SeededGenerator.announced()
    let samples = SyntheticDrive(mounting: generator.nextRotation()).samples(&generator)
    var pipeline = try pipeline()
    let messages = play(&pipeline, samples, isSeen: { !(200..<260).contains($0) })
    let told = locations(messages)
    #expect(zip(told, told.dropFirst()).allSatisfy { $0.time < $1.time })
    // Before alignment, positions are the receiver's. The first one arrived before any scan.
    #expect(told.dropFirst().first?.location.positionSource == .gnss)
    func between(_ start: Double, _ end: Double) -> [LocationMessage] {
      told.filter { (start..<end).contains($0.time.seconds(since: Self.start)) }
    }
    let (before, inside, after) = (between(120, 200), between(203, 259), between(263, 300))
    #expect(before.count > 70 && before.allSatisfy { $0.location.positionSource == .fused })
    #expect(before.allSatisfy { error($0, samples) < 1.5 })
    #expect(inside.count > 50 && inside.allSatisfy { $0.location.positionSource == .inertial })
    let isHonest = inside.filter { error($0, samples) <= 2.5 * ($0.location.horizontalAccuracy ?? 0) }
    #expect(isHonest.count * 10 >= inside.count * 9, "\(isHonest.count) of \(inside.count)")
    #expect(inside.allSatisfy { error($0, samples) < 30 })
    let last = try #require(inside.last?.location.horizontalAccuracy)
    #expect(try #require(inside.first?.location.horizontalAccuracy) < last && last < 20)
    #expect(after.count > 30 && after.allSatisfy { error($0, samples) < 1.5 })
    let corrections = messages.compactMap { if case .track(let message) = $0 { message } else { nil } }
    #expect(corrections.map(\.isCorrection) == [true])
    let way = corrections.first?.fixes ?? []
    #expect(way.count > 50)
    let squares = way.map { fix -> Double in
      let offset = error(
        LocationMessage(
          identity: nil, time: fix.time, location: PrivacyPolicy.unrestricted(location(fix))),
        samples)
      return offset * offset
    }
    #expect((squares.reduce(0, +) / Double(max(1, squares.count))).squareRoot() < 2)
    let reports = statuses(messages).compactMap(\.navigation)
    #expect(Set(reports.map(\.state)) == [.waiting, .aligning, .aligned])
    #expect(
      reports.first?.reason?.contains("no fix") == true
        || reports.first?.reason?.contains("not moved") == true)
    #expect(reports.contains { $0.positionSource == .inertial && ($0.sinceFix ?? 0) > 40 })
    let final = try #require(statuses(messages).last)
    let index = Int((final.time.seconds(since: Self.start) * 50).rounded())
    let heading = try #require(final.navigation?.heading)
    #expect(abs(signedDegrees(from: samples[index].truth.heading.degrees, to: heading)) < 1)
  }

  /// Accelerometer and gyroscope are separate devices, each with blocks of 0.5 s, in either order.
  @Test(arguments: [SensorKind.accelerometer, .gyroscope])
  func twoDevicesInBlocksBridgeATunnelLikeOne(_ first: SensorKind) throws {
    var generator = SeededGenerator.announced()
    let samples = SyntheticDrive(length: 200).samples(&generator)
    var pipeline = try pipeline()
    var messages: [VehicleMessage] = []
    var pending: [SyntheticDrive.Sample] = []
    for sample in samples {
      let time = sample.truth.time
      if var fix = sample.fix, time == time.rounded(), !(150..<180).contains(time) {
        fix.time = Self.start.advanced(bySeconds: time)
        pipeline.process(.position([fix])) { messages.append($0) }
      }
      pending.append(sample)
      guard pending.count == 25 else { continue }
      let second: SensorKind = first == .gyroscope ? .accelerometer : .gyroscope
      for kind in [first, second] {
        let block = pending.map { sample in
          var scan = sample.scan
          scan.remove(kind == .accelerometer ? .gyroscope : .accelerometer)
          return scan
        }
        pipeline.process(.inertial(block)) { messages.append($0) }
      }
      pending.removeAll()
    }
    let told = locations(messages)
    func between(_ start: Double, _ end: Double) -> [LocationMessage] {
      told.filter { (start..<end).contains($0.time.seconds(since: Self.start)) }
    }
    let (before, inside, after) = (between(100, 150), between(153, 179), between(183, 199))
    #expect(before.count > 40 && before.allSatisfy { $0.location.positionSource == .fused })
    #expect(before.allSatisfy { error($0, samples) < 1.5 })
    #expect(inside.count > 20 && inside.allSatisfy { $0.location.positionSource == .inertial })
    #expect(inside.allSatisfy { error($0, samples) < 10 })
    #expect(after.count > 12 && after.allSatisfy { error($0, samples) < 1.5 })
    let altitudes = before.compactMap(\.location.ellipsoidalAltitude)
    #expect(altitudes.count > 40 && altitudes.allSatisfy { abs($0 - SyntheticDrive.altitude) < 5 })
  }

  /// On a loaded machine, reports are up to 0.5 s late, with varying delay. Their own time is used.
  @Test func lateFixesDoNotMoveTheVehicle() throws {
    var generator = SeededGenerator.announced()
    let samples = SyntheticDrive(length: 200).samples(&generator)
    // In a recording, the receiver's time is used, independent of the arrival.
    var pipeline = try pipeline({ ($0.isVirtual, $0.hasReceiver) = (false, true) })
    var messages: [VehicleMessage] = []
    var onTheWay: [PositionFix] = []
    var block: [InertialScan] = []
    for sample in samples {
      let time = sample.truth.time
      if var fix = sample.fix, time == time.rounded() {
        fix.time = Self.start.advanced(bySeconds: time)
        fix.timestamp = fix.timestamp.advanced(bySeconds: 0.05 + 0.5 * generator.nextUniform())
        onTheWay.append(fix)
      }
      while let first = onTheWay.first, first.timestamp <= sample.scan.timestamp {
        onTheWay.removeFirst()
        pipeline.process(.position([first])) { messages.append($0) }
      }
      block.append(sample.scan)
      guard block.count == 25 else { continue }
      pipeline.process(.inertial(block)) { messages.append($0) }
      block.removeAll()
    }
    let fused = locations(messages).filter { $0.location.positionSource == .fused }
    #expect(fused.count > 80)
    let errors = fused.dropFirst(20).map { error($0, samples) }
    #expect(errors.allSatisfy { $0 < 2 }, "\(errors)")
  }

  /// Without a magnetometer, heading and attitude relative to north are available after alignment, and
  /// `services` lists them.
  @Test func headingIsAvailableWithSixAxes() throws {
    var generator = SeededGenerator.announced()
    var drive = SyntheticDrive(length: 150)
    drive.mounting = .identity
    let samples = drive.samples(&generator)
    var pipeline = try pipeline(
      { $0.heading.interval = 1 }, { $0.heading.filter = 0 }, { $0.attitude.filter = 0 },
      { $0.attitude.frame = .xTrueNorthZVertical })
    let messages = play(&pipeline, samples)
    func truth(_ time: UTCTime) -> SyntheticDrive.State {
      samples[min(samples.count - 1, Int((time.seconds(since: Self.start) * 50).rounded()))].truth
    }
    let headings = messages.compactMap { if case .heading(let message) = $0 { message } else { nil } }
    #expect(headings.count > 60)
    for message in headings.suffix(50) {
      let error = signedDegrees(
        from: truth(message.time).heading.degrees, to: try #require(message.trueHeading))
      #expect(abs(error) < 1.5)
    }
    let attitudes = messages.compactMap { if case .attitude(let message) = $0 { message } else { nil } }
    #expect(attitudes.prefix(10).allSatisfy { $0.frame != .xTrueNorthZVertical })
    for message in attitudes.suffix(50) {
      #expect(message.frame == .xTrueNorthZVertical && message.degradation == nil)
      // x points north; the angle of the front, clockwise from north, equals the heading.
      let front = try #require(message.attitude).heading() ?? -1
      #expect(abs(signedDegrees(from: truth(message.time).heading.degrees, to: front)) < 1.5)
    }
    let (first, last) = (try #require(statuses(messages).first), try #require(statuses(messages).last))
    #expect(first.services["trueHeading"] != "available" && last.services["trueHeading"] == "available")
    #expect(last.frames.first == "xTrueNorthZVertical" && last.degradations["attitude"] == nil)
  }

  /// Rotations and impacts are published in vehicle axes once the mounting is known, for any mounting, and the
  /// message states the axes.
  @Test func publishedMotionIsInVehicleAxes() throws {
    var generator = SeededGenerator.announced()
    let mounting = generator.nextRotation()
    var samples = SyntheticDrive(length: 180, mounting: mounting).samples(&generator)
    for time in stride(from: 150, to: 178, by: 4) {
      // A force of 5 g to the right for 60 ms.
      for index in (time * 50)..<(time * 50 + 3) {
        guard let force = samples[index].scan.specificForce else { continue }
        samples[index].scan.specificForce = force + mounting.conjugate.rotate(Vector3(49, 0, 0))
      }
    }
    var pipeline = try pipeline(
      { $0.attitude.filter = 0 }, { $0.attitude.frame = .xTrueNorthZVertical },
      { $0.motion.events = [.impact] },
      { $0.motion.impact.threshold = 3 })
    let messages = play(&pipeline, samples)
    let attitudes = messages.compactMap { if case .attitude(let message) = $0 { message } else { nil } }
    #expect(attitudes.first?.axes == .device && attitudes.last?.axes == .vehicle)
    // Compares only the time before the first impact: an impact disturbs the filter, but not the simulated vehicle.
    let told = attitudes.filter { $0.axes == .vehicle && $0.time.seconds(since: Self.start) < 149 }
    #expect(told.count > 20)
    for message in told.suffix(60) {
      let tilt = try #require(message.tilt)
      // The road is level.
      #expect(abs(tilt.roll.degrees) < 3 && abs(tilt.pitch.degrees) < 3, "\(message.time)")
      #expect(try #require(message.gravity).z < -0.99)
    }
    let blows = messages.compactMap { message -> MotionMessage? in
      if case .motion(let message) = message, case .impact = message.event { message } else { nil }
    }
    #expect(blows.count >= 6)
    for blow in blows {
      guard case .impact(let side, _, _) = blow.event else { continue }
      #expect(side == .left && blow.axes == .vehicle, "\(blow.time)")
    }
  }

  /// With navigation, the attitude filter does not mistake bends and braking for gravity, even with blocks of
  /// 0.5 s. The test measures the tilt in a frame without north, which is the filter's own.
  @Test func gravityIsEstimatedWhileDriving() throws {
    var generator = SeededGenerator.announced()
    var drive = SyntheticDrive(length: 240)
    drive.mounting = .identity
    let samples = drive.samples(&generator)
    func worstTilts(_ settings: Setting...) throws -> [Double] {
      var pipeline = try self.pipeline(
        [
          { $0.attitude.filter = 0 }, { $0.attitude.frame = .xArbitraryZVertical },
          { $0.inertial.latency = 0.5 },
        ] + settings)
      var tilts: [Double] = []
      var block: [InertialScan] = []
      for sample in samples {
        let time = sample.truth.time
        if var fix = sample.fix, time == time.rounded() {
          fix.time = Self.start.advanced(bySeconds: time)
          pipeline.process(.position([fix])) { _ in }
        }
        block.append(sample.scan)
        guard block.count == 25 else { continue }
        pipeline.process(.inertial(block)) {
          guard time > 120, case .attitude(let message) = $0, let gravity = message.gravity else { return }
          tilts.append(acos(min(1, max(-1, -(gravity.normalized?.z ?? -1)))).degrees)
        }
        block.removeAll(keepingCapacity: true)
      }
      return tilts.sorted()
    }
    // The road and the device are level.
    let (alone, aided) = (try worstTilts({ $0.navigation.isEnabled = false }), try worstTilts())
    func share95(_ tilts: [Double]) -> Double { tilts[tilts.count * 19 / 20] }
    print("tilt at 95 %: alone \(share95(alone))°, aided \(share95(aided))°")
    #expect(alone.count > 100 && aided.count > 100)
    // 0.58 to 1.05° with 13 seeds.
    #expect(share95(aided) < 1.3 && share95(aided) < 0.4 * share95(alone))
  }

  /// With navigation disabled, on foot, or without inertial sensors, the receiver's positions are published
  /// unchanged and without a source.
  @Test(arguments: ["switched off", "on foot", "without inertial sensors"])
  func fixesAreUnchangedWithoutNavigation(_ reason: String) throws {
    var generator = SeededGenerator.announced()
    let samples = SyntheticDrive(length: 120).samples(&generator)
    var pipeline = try pipeline({
      if reason == "switched off" { $0.navigation.isEnabled = false }
      if reason == "on foot" { $0.location.activity = .pedestrian }
    })
    var messages: [VehicleMessage] = []
    for sample in samples {
      if var fix = sample.fix {
        fix.time = Self.start.advanced(bySeconds: sample.truth.time)
        pipeline.process(.position([fix])) { messages.append($0) }
      }
      if reason != "without inertial sensors" {
        pipeline.process(.inertial([sample.scan])) { messages.append($0) }
      }
    }
    let told = locations(messages)
    #expect(told.count > 100 && told.allSatisfy { $0.location.positionSource == nil })
    #expect(statuses(messages).allSatisfy { $0.navigation == nil })
  }

  /// If scans stop while a fix waits for them, the fix is published unchanged after a short delay.
  @Test func fixIsPublishedUnchangedIfItsScansAreMissing() throws {
    var generator = SeededGenerator.announced()
    let samples = SyntheticDrive(length: 150).samples(&generator)
    var pipeline = try pipeline()
    _ = play(&pipeline, samples)
    var fix = try #require(samples.last { $0.fix != nil }?.fix)
    fix.timestamp = Timestamp(seconds: 250.5)
    fix.time = Self.start.advanced(bySeconds: 150.5)
    var messages: [VehicleMessage] = []
    pipeline.process(.position([fix])) { messages.append($0) }
    #expect(locations(messages).isEmpty)
    let due = try #require(pipeline.nextDeadline)
    #expect(due.seconds(since: fix.timestamp) < 3)
    pipeline.advance(to: Timestamp(seconds: 253.5)) { messages.append($0) }
    #expect(locations(messages).map(\.location.positionSource) == [.gnss])
    #expect(locations(messages).first?.location.coordinate == fix.coordinate)
    // A regular stop publishes a waiting fix immediately.
    fix.timestamp = Timestamp(seconds: 254)
    fix.time = Self.start.advanced(bySeconds: 154)
    pipeline.process(.position([fix])) { messages.append($0) }
    pipeline.finish { messages.append($0) }
    #expect(locations(messages).count == 2)
  }

  /// Dead reckoning is bounded only while its accuracy suffices; then the bound is withdrawn.
  @Test func errorBoundIsWithdrawnWithInsufficientAccuracy() throws {
    var generator = SeededGenerator.announced()
    let samples = SyntheticDrive().samples(&generator)
    var pipeline = try pipeline(
      { $0.location.setBounds(error: 10, delay: 0) })
    let told = locations(play(&pipeline, samples, isSeen: { $0 < 150 }))
    let inertial = told.filter { $0.location.positionSource == .inertial }
    #expect(!inertial.isEmpty)
    #expect(inertial.allSatisfy { 2 * ($0.location.horizontalAccuracy ?? 99) <= 10 })
    let last = try #require(told.last?.prediction)
    // The validity has expired before the end of the drive.
    let age = 300 - (try #require(told.last).time.seconds(since: Self.start))
    #expect((last.validity ?? 1e9) < age)
  }

  /// The receiver does not sleep while navigation bridges a tunnel.
  @Test func receiverContinuesSearchingInATunnel() throws {
    var generator = SeededGenerator.announced()
    let samples = SyntheticDrive().samples(&generator)
    var pipeline = try pipeline(
      { $0.location.policy = .distance(100) }, { $0.location.desiredAccuracy = .nearestTenMeters })
    _ = play(&pipeline, samples, isSeen: { $0 < 150 })
    #expect(pipeline.demands[.positioning]?.isOn == true)
  }

  /// A remote configuration keeps the alignment.
  @Test func reconfigurationPreservesTheAlignment() throws {
    var generator = SeededGenerator.announced()
    let samples = SyntheticDrive(length: 200).samples(&generator)
    var pipeline = try pipeline()
    _ = play(&pipeline, samples[..<(150 * 50)])
    var messages: [VehicleMessage] = []
    pipeline.reconfigure(try configuration([{ $0.location.policy = .distance(5) }])) {
      messages.append($0)
    }
    messages += play(&pipeline, samples[(150 * 50)...])
    #expect(locations(messages).last?.location.positionSource == .fused)
  }
}
