import Pipeline
import Positioning
import Sensors
import Simulation
import Spatial
import Telemetry
import Testing

/// Processing of radio scans in the pipeline, in exact virtual time.
@Suite struct CoarsePipelineTests {
  private static let start = UTCTime(nanoseconds: 1_795_248_000_000_000_000)
  private static let day = Int(start.nanoseconds / 86_400_000_000_000)
  private static let frame = LocalFrame(origin: Coordinate(latitude: 48, longitude: 11))

  private struct TableMap: BeaconMap {
    var places: [Beacon: MappedBeacon] = [:]

    func lookUp(_ beacons: [Beacon]) -> [MappedBeacon] { beacons.compactMap { places[$0] } }
  }

  private static func beacon(_ number: Int) throws -> Beacon {
    try #require(Beacon(accessPoint: 0x0011_2200_0000 + UInt64(number)))
  }

  /// Five access points around each multiple of 500 m along a road to the east.
  private static func map() throws -> TableMap {
    var map = TableMap()
    for number in 0..<50 {
      let beacon = try beacon(number)
      let offset = SIMD2(500 * Double(number / 5) + 15 * Double(number % 5 - 2), 20 * Double(number % 3 - 1))
      map.places[beacon] = MappedBeacon(
        beacon: beacon, coordinate: frame.coordinate(at: offset), reach: 50, sightings: 100, lastSeen: day)
    }
    return map
  }

  private func pipeline(
    _ settings: Setting..., radios: Set<SensorKind> = [.wifi], isLearning: Bool = false,
    map: TableMap? = nil
  ) throws -> AgentPipeline {
    var configuration = PipelineConfiguration(
      [
        { $0.location.policy = .distance(nil) }, { $0.heading.isEnabled = false },
        { $0.attitude.isEnabled = false },
        { $0.navigation.isEnabled = false },
      ] + settings, isVirtual: false)
    configuration.coarse = PipelineConfiguration.Coarse(radios: radios, isLearning: isLearning)
    return AgentPipeline(
      configuration: configuration, start: Timestamp(nanoseconds: 0), time: Self.start, version: "1",
      beaconMap: try map ?? Self.map())
  }

  /// Returns a scan at `group` times 500 m to the east.
  private func scan(_ seconds: Double, at group: Int) throws -> SensorEvent {
    let sightings = try (5 * group..<5 * group + 5).map {
      BeaconSighting(beacon: try Self.beacon($0), signal: -78)
    }
    return .radio([RadioScan(timestamp: Timestamp(seconds: seconds), sightings: sightings, kind: .wifi)])
  }

  private func fix(_ seconds: Double, _ east: Double, speed: Double = 0, north: Double = 0) -> SensorEvent {
    var fix = PositionFix(
      timestamp: Timestamp(seconds: seconds), time: Self.start.advanced(bySeconds: seconds),
      mode: .threeDimensional, coordinate: Self.frame.coordinate(at: SIMD2(east, north)))
    (fix.speed, fix.course, fix.horizontalDilution) = (speed, 90, 1)
    return .position([fix])
  }

  private func run(_ pipeline: inout AgentPipeline, _ events: [SensorEvent]) -> [Location] {
    var told: [Location] = []
    for event in events {
      pipeline.process(event) { if case .location(let message) = $0 { told.append(message.location) } }
    }
    return told
  }

  // MARK: The first position

  /// Start in a garage: a scan is requested immediately, and its position is published when it arrives after 4 s.
  @Test(arguments: [DesiredAccuracy.best, .hundredMeters, .kilometer, .threeKilometers, .reduced])
  func coarsePositionFollowsStartWithoutGNSSWithinFiveSeconds(accuracy: DesiredAccuracy) throws {
    var pipeline = try pipeline({ $0.location.desiredAccuracy = accuracy })
    let demand = try #require(pipeline.drainDemands()?[.wifi])
    #expect(demand.isOn)
    let told = run(
      &pipeline, [.position([PositionFix(timestamp: Timestamp(seconds: 1))]), try scan(4, at: 2)])
    let first = try #require(told.first)
    #expect(told.count == 1 && first.positionSource == .coarse)
    #expect(first.time.map { $0.seconds(since: Self.start) < 5 } == true)
    let truth = Self.frame.coordinate(at: SIMD2(1000, 0))
    #expect(first.coordinate.distance(to: truth) < (accuracy == .reduced ? 3600 : 30))
    #expect(first.horizontalAccuracy.map { $0 > 20 } == true && first.speed == nil)
    // The scan satisfied the demand.
    #expect(pipeline.demands[.wifi] == .off)
  }

  /// The receiver gets a coarse position as assistance if it has none itself: at a start without sky, and far
  /// from its last fix.
  @Test func receiverGetsTheCoarsePositionAsAssistance() throws {
    var pipeline = try pipeline({ $0.location.desiredAccuracy = .best })
    let before = pipeline.drainAid()
    _ = run(&pipeline, [try scan(4, at: 2)])
    let told = pipeline.drainAid()
    let aid = try #require(told)
    let truth = Self.frame.coordinate(at: SIMD2(1000, 0))
    #expect(aid.coordinate.distance(to: truth) < 30 && aid.timestamp == Timestamp(seconds: 4))
    #expect(aid.time == Self.start.advanced(bySeconds: 4))
    let second = pipeline.drainAid()
    #expect(before == nil && second == nil)
    // With a recent fix, no assistance is sent. An hour later at another position, it is.
    _ = run(&pipeline, [fix(10, 1000), try scan(11, at: 2)])
    let beside = pipeline.drainAid()
    _ = run(&pipeline, [try scan(3600, at: 8)])
    let later = pipeline.drainAid()
    #expect(beside == nil && later?.time != nil)
  }

  /// An aborted scan satisfies no demand, but its energy is counted.
  @Test func abortedScanYieldsNoPosition() throws {
    var pipeline = try pipeline({ $0.location.desiredAccuracy = .kilometer })
    let broken = RadioScan(
      timestamp: Timestamp(seconds: 2), sightings: [], kind: .wifi, duration: 1.5, isComplete: false)
    _ = run(&pipeline, [.radio([broken])])
    #expect(pipeline.demands[.wifi]?.isOn == true)
    let account = pipeline.energy(at: Timestamp(seconds: 3))[.wifi]
    #expect(account?.starts == 1 && account?.seconds == 1.5)
    _ = run(&pipeline, [try scan(4, at: 2)])
    #expect(pipeline.demands[.wifi] == .off)
  }

  @Test func coarsePositionHasNoErrorBound() throws {
    var pipeline = try pipeline({ $0.location.setBounds() })
    var messages: [LocationMessage] = []
    for event in [try scan(4, at: 2)] + (10...40).map({ fix(Double($0), 1000) }) {
      pipeline.process(event) { if case .location(let message) = $0 { messages.append(message) } }
    }
    let sources = messages.map(\.location.positionSource)
    #expect(sources.first == .coarse && messages.first?.predictor == nil)
    #expect(messages.count > 1)
    for message in messages.dropFirst() {
      #expect(message.predictor != nil && message.location.positionSource != .coarse)
    }
  }

  private static let movedBy: [Setting] = [
    { $0.location.desiredAccuracy = .reduced }, { $0.privacy.accuracy = 1000 },
    { $0.privacy.addZone(48, 11.06, radius: 1000, .blur) },
  ]

  /// A velocity between the centres of two cells would be kilometres per second. A cell is published once,
  /// without a prediction, also at the boundary of a zone.
  @Test(arguments: movedBy.indices) func movedPositionsHaveNoPrediction(case index: Int) throws {
    let configuration = PipelineConfiguration(
      [Self.movedBy[index], { $0.navigation.isEnabled = false }], isVirtual: false)
    var pipeline = AgentPipeline(
      configuration: configuration, start: Timestamp(nanoseconds: 0), time: Self.start, version: "1")
    var messages: [LocationMessage] = []
    for second in 1...900 {
      pipeline.process(fix(Double(second), 20 * Double(min(second, 600)), speed: second < 600 ? 20 : 0)) {
        if case .location(let message) = $0 { messages.append(message) }
      }
    }
    // The road is at latitude 48°; no cell is centred there.
    let moved = messages.filter { abs($0.location.coordinate.latitude - 48) > 1e-4 }
    #expect(moved.count >= [3, 10, 1][index] && moved.allSatisfy { $0.prediction == nil })
    #expect(zip(moved, moved.dropFirst()).allSatisfy { $0.location.coordinate != $1.location.coordinate })
    let speeds = messages.compactMap { $0.prediction?.velocity }.map { max(abs($0.x), abs($0.y)) }
    #expect(speeds.allSatisfy { $0 < 21 }, "\(speeds)")
    #expect((index == 2) == !speeds.isEmpty)
  }

  /// A vehicle parks at the edge of two cells: noise of the receiver does not make the position alternate between them.
  @Test(arguments: [0, 1], UInt64(1)...3) func parkedAtAnEdgeIsPublishedOnce(
    case index: Int, seed: UInt64
  ) throws {
    var random = SeededGenerator(seed: seed)
    var configuration = PipelineConfiguration(
      [Self.movedBy[index], { $0.navigation.isEnabled = false }], isVirtual: false)
    configuration.location.pausesAutomatically = false
    // East coordinate of the first edge beyond 1 km.
    let policy = PrivacyPolicy(accuracy: configuration.privacy.accuracy ?? 5000)
    func cell(_ east: Double) throws -> Coordinate? {
      guard case .position(let fixes) = fix(0, east), let place = fixes.first?.coordinate else { return nil }
      return policy.shown(Location(timestamp: Timestamp(seconds: 0), coordinate: place))?.coordinate
    }
    let first = try cell(1000)
    let edge = try #require(try (1000...8000).first { try cell(Double($0)) != first }.map(Double.init))
    var pipeline = AgentPipeline(
      configuration: configuration, start: Timestamp(nanoseconds: 0), time: Self.start, version: "1")
    var parked: [Coordinate] = []
    var isAlternating: Set<Coordinate?> = []
    for second in 1...1200 {
      let east = min(edge, edge - 20 * Double(600 - second)) + 5 * random.nextNormal()
      pipeline.process(fix(Double(second), east, speed: second < 600 ? 20 : 0)) {
        if case .location(let message) = $0, second > 600 { parked.append(message.location.coordinate) }
      }
      if second > 600 { isAlternating.insert(try cell(east)) }
    }
    #expect(Set(parked).count <= 1 && isAlternating.count == 2, "\(parked)")
  }

  /// Cells smaller than the error bound do not require a message each.
  @Test func movedPositionsFollowTheErrorBound() throws {
    let configuration = PipelineConfiguration(
      [
        { $0.privacy.accuracy = 20 }, { $0.location.setBounds(error: 500) },
        { $0.navigation.isEnabled = false },
      ], isVirtual: false)
    var pipeline = AgentPipeline(
      configuration: configuration, start: Timestamp(nanoseconds: 0), time: Self.start, version: "1")
    var count = 0
    for second in 1...100 {
      pipeline.process(fix(Double(second), 20 * Double(second), speed: 20)) {
        if case .location = $0 { count += 1 }
      }
    }
    #expect((3...5).contains(count), "\(count)")
  }

  @Test func tracksContainNoCoarsePositions() throws {
    var pipeline = try pipeline(
      { $0.location.desiredAccuracy = .best },
      { $0.location.deferral = .init(distance: nil, timeout: 60, error: nil) })
    var messages: [VehicleMessage] = []
    for event in [try scan(4, at: 2)] + (10...80).map({ fix(Double($0), 1000) }) {
      pipeline.process(event) { messages.append($0) }
    }
    guard case .location(let first)? = messages.first(where: { $0.kind == .location }) else {
      Issue.record("nothing told")
      return
    }
    #expect(first.location.positionSource == .coarse)
    for case .track(let track) in messages {
      #expect(track.fixes.allSatisfy { ($0.horizontalAccuracy ?? 0) < 10 })
    }
    #expect(messages.contains { $0.kind == .track })
  }

  // MARK: Never worse than a fix

  @Test func freshFixPrecedesCoarsePosition() throws {
    var pipeline = try pipeline({ $0.location.desiredAccuracy = .kilometer })
    #expect(run(&pipeline, [fix(10, 1000, speed: 10)]).count == 1)
    // After 1 s the vehicle is within metres of the fix; after 60 s it may be a kilometre away.
    let soon = run(&pipeline, [try scan(11, at: 2)])
    #expect(soon.isEmpty)
    let later = run(&pipeline, [try scan(70, at: 3)])
    #expect(later.map(\.positionSource) == [.coarse])
    let back = run(&pipeline, [fix(71, 1500, speed: 10)])
    #expect(back.count == 1 && back[0].positionSource != .coarse)
  }

  @Test func bestAccuracyGetsNoCoarsePositionInATunnel() throws {
    var pipeline = try pipeline({ $0.location.desiredAccuracy = .best })
    _ = run(&pipeline, [fix(10, 0, speed: 10)])
    let told = run(&pipeline, [try scan(100, at: 2)])
    #expect(told.isEmpty)
  }

  @Test func distanceFilterRequiresMoreThanTheRadius() throws {
    var pipeline = try pipeline(
      { $0.location.desiredAccuracy = .kilometer }, { $0.location.policy = .distance(10) })
    let told = run(
      &pipeline, [try scan(4, at: 2), try scan(40, at: 2), try scan(80, at: 2), try scan(120, at: 3)])
    #expect(told.count == 2)
  }

  @Test func radiosReportSignificantChanges() throws {
    var pipeline = try pipeline({ $0.location.policy = .significant })
    let told = run(
      &pipeline, [try scan(4, at: 0), try scan(100, at: 1), try scan(400, at: 2), try scan(800, at: 4)])
    #expect(told.map(\.positionSource) == [.coarse, .coarse, .coarse])
  }

  @Test func privacyAppliesToCoarsePositions() throws {
    // The zone ends 20 m before the estimated position, so the vehicle may be inside.
    var pipeline = try pipeline(
      { $0.location.desiredAccuracy = .kilometer }, { $0.privacy.addZone(48, 11, radius: 980) })
    let told = run(&pipeline, [try scan(4, at: 2)])
    #expect(told.isEmpty)
    let away = run(&pipeline, [try scan(400, at: 3)])
    #expect(away.count == 1)
  }

  @Test func withoutRadioNothingIsScannedOrPublished() throws {
    var pipeline = try pipeline({ $0.location.desiredAccuracy = .kilometer }, radios: [])
    let told = run(&pipeline, [try scan(4, at: 2)])
    #expect(told.isEmpty && pipeline.demands[.wifi] == .off && pipeline.demands[.cellular] == .off)
  }

  // MARK: Learning

  @Test func scansNearGoodFixesAreForwardedForLearning() throws {
    var pipeline = try pipeline(
      { $0.location.desiredAccuracy = .best }, { $0.privacy.addZone(48, 11, radius: 300) },
      isLearning: true, map: TableMap())
    // Scans inside the zone, next to a fix, next to another fix 0.6 s later, and long after a fix.
    _ = run(
      &pipeline,
      [
        fix(10, 0, speed: 10), try scan(10.5, at: 0), fix(60, 500, speed: 10), try scan(61, at: 1),
        fix(61.5, 505, speed: 10), try scan(61.6, at: 1), fix(100, 1000, speed: 10), try scan(103, at: 2),
      ])
    let learnable = pipeline.drainLearnable()
    #expect(learnable.map(\.scan.timestamp) == [Timestamp(seconds: 61)])
    #expect(learnable[0].accuracy <= 30 && learnable[0].time == Self.start.advanced(bySeconds: 61))
    #expect(
      learnable[0].coordinate.coordinate.distance(to: Self.frame.coordinate(at: SIMD2(500, 0))) < 1)
    let again = pipeline.drainLearnable()
    #expect(again.isEmpty)
  }

  @Test func radioScansOnTheMoveWhileBeaconsAreUnlearned() throws {
    var pipeline = try pipeline(
      { $0.location.desiredAccuracy = .best }, isLearning: true, map: TableMap())
    _ = run(&pipeline, [try scan(1, at: 0)])
    var asked: [Double] = []
    for second in 10...200 {
      _ = run(&pipeline, [fix(Double(second), 10 * Double(second), speed: 10)])
      guard pipeline.demands[.wifi]?.isOn == true else { continue }
      asked.append(Double(second))
      _ = run(&pipeline, [try scan(Double(second) + 0.5, at: 0)])
    }
    #expect((5...7).contains(asked.count), "\(asked)")
    #expect(pipeline.drainLearnable().count == asked.count)
  }

  // MARK: Witness

  @Test func spoofedReceiverIsReported() throws {
    var pipeline = try pipeline({ $0.location.desiredAccuracy = .best }, isLearning: true)
    let sound = run(&pipeline, [fix(10, 1000), try scan(11, at: 2), fix(12, 1000)])
    #expect(sound.allSatisfy { !$0.contradictsBeacons })
    // The receiver is spoofed away at a plausible speed, while the radios do not change.
    var told: [Location] = []
    for step in 1...60 {
      let second = 12 + Double(step)
      told += run(&pipeline, [fix(second, 1000, speed: 20, north: 20 * Double(step))])
      if step % 20 == 0 { told += run(&pipeline, [try scan(second + 0.5, at: 2)]) }
    }
    #expect(told.first?.contradictsBeacons == false && told.last?.contradictsBeacons == true)
    #expect(told.allSatisfy { $0.positionSource != .coarse })
    // Scans with spoofed positions are not learned: only one scan is valid.
    #expect(pipeline.drainLearnable().map(\.scan.timestamp.seconds) == [11])
    var status: StatusMessage?
    pipeline.requestStatus()
    pipeline.advance(to: Timestamp(seconds: 80)) { if case .status(let message) = $0 { status = message } }
    #expect(try #require(status).counters["fixes.contradicted"] ?? 0 >= 1)
    // Back at the known beacons, positions are no longer marked.
    told = run(
      &pipeline, (0..<6).map { fix(90 + Double($0), 1000) } + [try scan(96, at: 2), fix(97, 1000)])
    #expect(told.last?.contradictsBeacons == false)
  }

  /// Without known beacons nearby, no scan can end the suspicion. It expires 10 min after its last cause.
  @Test func suspicionExpiresWithoutKnownBeacons() throws {
    var pipeline = try pipeline({ $0.location.desiredAccuracy = .best }, isLearning: true)
    var told: [Location] = []
    for step in 0...60 {
      let second = 12 + Double(step)
      told += run(&pipeline, [fix(second, 1000, speed: 20, north: 20 * Double(step))])
      if step % 20 == 19 { told += run(&pipeline, [try scan(second + 0.5, at: 2)]) }
    }
    #expect(told.last?.contradictsBeacons == true)
    func unknown(_ second: Double) throws -> SensorEvent {
      .radio([
        RadioScan(
          timestamp: Timestamp(seconds: second),
          sightings: try (90_001...90_006).map { BeaconSighting(beacon: try Self.beacon($0), signal: -60) },
          kind: .wifi)
      ])
    }
    told = run(&pipeline, [fix(500, 1000), try unknown(500.5), fix(501, 1000)])
    #expect(told.last?.contradictsBeacons == true)
    told = run(
      &pipeline, [fix(700, 1000), try unknown(700.5), fix(701, 1015, speed: 15), fix(702, 1030, speed: 15)])
    #expect(told.last?.contradictsBeacons == false)
    #expect(pipeline.drainLearnable().map(\.scan.timestamp.seconds).last == 700.5)
  }

  @Test func singleBeaconContradictsNoFix() throws {
    var pipeline = try pipeline({ $0.location.desiredAccuracy = .best })
    _ = run(&pipeline, [fix(10, 0)])
    for second in [10.5, 20.5, 30.5] {
      let lone = RadioScan(
        timestamp: Timestamp(seconds: second),
        sightings: [BeaconSighting(beacon: try Self.beacon(45), signal: -60)], kind: .wifi)
      let told = run(&pipeline, [.radio([lone]), fix(second + 1, 0)])
      #expect(told.allSatisfy { !$0.contradictsBeacons })
    }
  }
}
