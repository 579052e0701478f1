import Motion
import Pipeline
import Positioning
import Sensors
import Spatial
import Telemetry
import TestSupport
import Testing

/// Energy saved by coarse positions, in virtual time: receiver alone, compared with receiver and radios together.
///
/// Assumptions: the receiver (87 mW) takes 2 s from power-on to a fix after a sleep of less than one minute,
/// else 6 s (initial values of `FixTimeEstimate`). A modem query and a Wi-Fi scan have the default energy of
/// `energy.cellular_…` and `energy.wifi_…`. Cells are 800 m apart.
@Suite struct CoarseEnergyTests {
  private static let start = UTCTime(nanoseconds: 1_795_248_000_000_000_000)
  private static let frame = LocalFrame(origin: Coordinate(latitude: 48, longitude: 11))

  /// A grid of cells and access points, and their scans.
  private struct Town: BeaconMap {
    static let (cells, points) = (800.0, 60.0)

    func beacons(near place: SIMD2<Double>, _ technology: Beacon.Technology) -> [(Beacon, SIMD2<Double>)] {
      let grid = technology.isCell ? Self.cells : Self.points
      let middle = place / grid
      return (-1...1).flatMap { east in
        (-1...1).compactMap { north in
          let (x, y) = (Int(middle.x.rounded()) + east, Int(middle.y.rounded()) + north)
          return Self.beacon(technology, x, y).map { ($0, grid * SIMD2(Double(x), Double(y))) }
        }
      }
    }

    private static func beacon(_ technology: Beacon.Technology, _ x: Int, _ y: Int) -> Beacon? {
      let number = UInt64((x + 2048) * 4096 + y + 2048)
      return technology.isCell
        ? Beacon(technology, country: 262, network: 1, cell: number)
        : Beacon(accessPoint: 0x0011_0000_0000 + number)
    }

    func lookUp(_ beacons: [Beacon]) -> [MappedBeacon] {
      beacons.map { beacon in
        let isCell = beacon.technology.isCell
        let number = isCell ? Int(beacon.rawValue & 0xfff_ffff) : Int(beacon.rawValue & 0xffff_ffff)
        let grid = isCell ? Self.cells : Self.points
        let place = grid * SIMD2(Double(number / 4096 - 2048), Double(number % 4096 - 2048))
        return MappedBeacon(
          beacon: beacon, coordinate: CoarseEnergyTests.frame.coordinate(at: place), reach: grid / 2,
          sightings: 100, lastSeen: Int(CoarseEnergyTests.start.nanoseconds / 86_400_000_000_000))
      }
    }

    /// Returns a scan of the serving cell and two neighbours, or of the surrounding access points.
    func scan(at place: SIMD2<Double>, _ kind: SensorKind, _ seconds: Double) -> RadioScan {
      let near = beacons(near: place, kind == .cellular ? .lte : .wifi).sorted {
        (($0.1 - place) * ($0.1 - place)).sum() < (($1.1 - place) * ($1.1 - place)).sum()
      }
      let heard = near.prefix(kind == .cellular ? 3 : 9)
      return RadioScan(
        timestamp: Timestamp(seconds: seconds),
        sightings: heard.map { BeaconSighting(beacon: $0.0, signal: kind == .cellular ? -95 : -78) },
        kind: kind)
    }
  }

  /// An empty map.
  private struct Wilderness: BeaconMap {
    func lookUp(_ beacons: [Beacon]) -> [MappedBeacon] { [] }
  }

  struct Result: CustomStringConvertible {
    var joules: [EnergyComponent: Double] = [:]
    var worstError = 0.0
    var told: [PositionSource?] = []

    var description: String {
      let parts = joules.filter { $0.value > 0 }.sorted { $0.key < $1.key }
      return parts.map { "\($0.key) \(($0.value * 10).rounded() / 10) J" }.joined(separator: ", ")
        + ", worst error \(Int(worstError)) m"
    }

    /// Energy in J of the components that determine positions.
    var total: Double {
      [.receiver, .wifi, .cellular].reduce(0) { $0 + (joules[$1] ?? 0) }
    }
  }

  /// Runs trips of one hour at 13.5 m/s, each followed by rest.
  /// - Parameters:
  /// - trips: start times in seconds.
  /// - hasSky: true if the receiver can get a fix.
  /// - isKnown: true if the map contains the beacons.
  private func run(
    _ settings: [Setting], radios: Set<SensorKind>, until end: Double, trips: [Double] = [],
    hasSky: Bool = true, isLearning: Bool = false, isKnown: Bool = true
  ) throws -> Result {
    let common: [Setting] = [
      { $0.location.policy = .distance(nil) }, { $0.heading.isEnabled = false },
      { $0.motion.events = [] },
      { $0.navigation.isEnabled = false }, { $0.location.desiredAccuracy = .threeKilometers },
      { $0.location.pausesAutomatically = false }, { $0.statusInterval = 86400 },
    ]
    var configuration = PipelineConfiguration(common + settings, isVirtual: false)
    configuration.coarse = PipelineConfiguration.Coarse(radios: radios, isLearning: isLearning)
    let town = Town()
    let map: any BeaconMap = isKnown ? town : Wilderness()
    var pipeline = AgentPipeline(
      configuration: configuration, start: Timestamp(nanoseconds: 0), time: Self.start, version: "1",
      beaconMap: radios.isEmpty ? nil : map)
    var result = Result()
    var (place, shown) = (SIMD2(0.0, 0), SIMD2<Double>?.none)
    var (onSince, offSince, search) = (Double?.none, -1e9, 6.0)
    var asked: [SensorKind: Double] = [:]
    func take(_ message: VehicleMessage) {
      guard case .location(let told) = message else { return }
      shown = Self.frame.offset(of: told.location.coordinate)
      result.told.append(told.location.positionSource)
    }
    var now = 0.0
    while now < end {
      let isDriving = trips.contains { $0 <= now && now < $0 + 3600 }
      // The accelerometer detects rest for one minute. After that, its samples would be repetitions.
      let isSettled = !isDriving && (trips.map { now - $0 - 3600 }.filter { $0 >= 0 }.min() ?? now) > 60
      if !isSettled {
        let scans = (0..<13).map { index in
          let shake = isDriving ? 0.06 * (index % 6 < 3 ? 1.0 : -1) : 0.001 * Double(index % 3)
          return InertialScan(
            timestamp: Timestamp(seconds: now + Double(index) / 13), acceleration: Vector3(shake, 0, -1))
        }
        pipeline.process(.inertial(scans), into: take)
      }
      var step = 1.0
      let isOn = pipeline.demands[.positioning]?.isOn == true
      if isOn, onSince == nil { (onSince, search) = (now, now - offSince < 60 ? 2 : 6) }
      if !isOn, onSince != nil { (onSince, offSince) = (nil, now) }
      let isAsked = [SensorKind.wifi, .cellular].filter { pipeline.demands[$0]?.isOn == true }
      if isSettled, onSince == nil, isAsked.isEmpty {
        let next = pipeline.nextDeadline?.seconds ?? end
        let trip = trips.filter { $0 > now }.min() ?? end
        step = max(1, min(next, trip, end) - now)
      }
      now += step
      if isDriving {
        // Around a square with sides of 6 km.
        let leg = Int(now / 450) % 4
        place += 13.5 * step * [SIMD2(1, 0), SIMD2(0, 1), SIMD2(-1, 0), SIMD2(0, -1)][leg]
      }
      pipeline.advance(to: Timestamp(seconds: now), into: take)
      for kind in [SensorKind.wifi, .cellular] {
        guard pipeline.demands[kind]?.isOn == true else {
          asked[kind] = nil
          continue
        }
        let since = asked[kind] ?? now
        asked[kind] = since
        guard now - since >= (kind == .wifi ? 4 : 1) else { continue }
        pipeline.process(.radio([town.scan(at: place, kind, now)]), into: take)
      }
      if let onSince, now - onSince >= search, pipeline.demands[.positioning]?.isOn == true {
        var fix = PositionFix(
          timestamp: Timestamp(seconds: now), time: Self.start.advanced(bySeconds: now),
          mode: .threeDimensional, coordinate: hasSky ? Self.frame.coordinate(at: place) : nil)
        (fix.speed, fix.course, fix.horizontalError) = (isDriving ? 13.5 : 0, 90, 8)
        if !hasSky { (fix.mode, fix.speed, fix.course, fix.horizontalError) = (.noFix, nil, nil, nil) }
        pipeline.process(.position([fix]), into: take)
      }
      if let shown {
        result.worstError = max(result.worstError, ((shown - place) * (shown - place)).sum().squareRoot())
      }
    }
    result.joules = pipeline.energy(at: Timestamp(seconds: end)).mapValues(\.joules)
    return result
  }

  private static let week = 7 * 86_400.0

  @Test func parkedWeekUsesAThirdOfTheEnergy() throws {
    let today = try run([], radios: [], until: Self.week)
    for radios in [Set([SensorKind.cellular]), [.cellular, .wifi]] {
      let coarse = try run([], radios: radios, until: Self.week)
      print("parked week: today \(today); with \(radios.sorted()) \(coarse)")
      #expect(coarse.total <= today.total / 3)
      #expect(coarse.worstError < 1000 && coarse.told.first == .coarse)
    }
  }

  /// Two hours of driving: a commute in both directions.
  @Test func dayAtThreeKilometresUsesAThirdOfTheEnergy() throws {
    let trips = [3600.0, 36_000]
    let today = try run([], radios: [], until: 86_400, trips: trips)
    let coarse = try run([], radios: [.cellular, .wifi], until: 86_400, trips: trips)
    print(
      "day at three kilometres: today \(today); coarse \(coarse)"
    )
    #expect(coarse.total <= today.total / 3)
    #expect(coarse.worstError < 3000 && today.worstError < 3000)
    #expect(coarse.told.count { $0 == .coarse } > 20)
  }

  /// Without sky, the receiver searches repeatedly without result. A scan of access points every half hour uses
  /// less energy, with the default figures.
  @Test func garageWeekWithAccessPointsUsesAThirdOfTheEnergy() throws {
    let today = try run([], radios: [], until: Self.week, hasSky: false)
    let coarse = try run([], radios: [.wifi], until: Self.week, hasSky: false)
    print("week in a garage: today \(today); coarse \(coarse)")
    #expect(coarse.total <= today.total / 3)
    #expect(!coarse.told.isEmpty && today.told.isEmpty)
  }

  /// Energy of learning in two hours of driving at the default accuracy: at most the share and the reserve of
  /// `LearningSchedule`. In an area that the map covers, one scan every 8 min. A scan every 30 s would use 280
  /// J.
  @Test func learningUsesLittleEnergy() throws {
    let settings: [Setting] = [{ $0.location.desiredAccuracy = .best }]
    func learning(isKnown: Bool, _ radios: Set<SensorKind> = [.wifi]) throws -> Result {
      try run(
        settings, radios: radios, until: 7200, trips: [0, 3600], isLearning: true, isKnown: isKnown)
    }
    let (unknown, known) = (try learning(isKnown: false), try learning(isKnown: true))
    // Energy in J of a day of a car with two hours of driving, as estimated by `odographd check`.
    let day = 8700.0
    print(
      "learning on two hours of the way: unknown country \(unknown); known \(known); a car's day \(Int(day)) J"
    )
    let (most, least) = (try #require(unknown.joules[.wifi]), try #require(known.joules[.wifi]))
    let receiver = try #require(unknown.joules[.receiver])
    #expect(most <= LearningSchedule.share * receiver + LearningSchedule.reserve + 1.2)
    #expect(most > 60 && most <= 0.02 * day)
    #expect((15.0...28).contains(least) && least <= 0.005 * day)
    let both = try learning(isKnown: true, [.wifi, .cellular])
    #expect((15.0...28).contains(try #require(both.joules[.wifi])), "\(both)")
  }

  /// A scan that uses more energy than the fix it replaces is not requested.
  @Test func expensiveScanIsSkippedWithGNSSReception() throws {
    let today = try run([], radios: [], until: 86_400)
    let coarse = try run([], radios: [.wifi], until: 86_400)
    // Only the first scan adds energy.
    #expect(coarse.total <= today.total + 0.278 * 4.2 + 0.1)
  }
}
