import AgentCore
import Logging
import Pipeline
import Positioning
import Sensors
import Spatial
import Telemetry
import TestSupport
import Testing

/// An office with known access points moves. Covers scans near fixes and the map in its file over several days.
@Suite struct MovedGroupMemoryTests {
  private static let frame = LocalFrame(origin: Coordinate(latitude: 48, longitude: 11))
  /// Access points of the office, and its old and new position in metres to the east.
  private static let office = 1000..<1008
  private static let (old, new) = (2400.0, 6500.0)

  private let directory: TemporaryDirectory
  private let log = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

  init() throws { directory = try TemporaryDirectory() }

  private var path: String { directory.file("beacons.sqlite") }

  private static func beacons(_ numbers: some Sequence<Int>) -> [Beacon] {
    numbers.compactMap { Beacon(accessPoint: 0x0011_2200_0000 + UInt64($0)) }
  }

  private static func east(_ metres: Double) -> Coordinate { frame.coordinate(at: SIMD2(metres, 0)) }

  /// The agent of one day. Its map is loaded from the file.
  private struct Agent {
    var pipeline: AgentPipeline
    var memory: BeaconMemory
    let midnight: Double
    var second = 0.0
    var shared: [ScanMessage.Scan] = []
    /// True if the newest location is marked as contradicted by beacons.
    var isContradicted = false

    static let start = UTCTime(nanoseconds: 1_795_248_000_000_000_000)

    init(day: Int, path: String, log: Logger) throws {
      let store = BeaconStore(path: path, log: log)
      var configuration = try AgentConfiguration(settings: [
        "vehicle.id=v", "location.reporting=distance", "heading.enabled=false",
        "attitude.enabled=false",
        "navigation.enabled=false", "beacons.share=true",
      ]).pipeline
      configuration.coarse.radios = [.wifi]
      midnight = 86_400 * Double(day)
      pipeline = AgentPipeline(
        configuration: configuration, start: Timestamp(seconds: midnight),
        time: Self.start.advanced(bySeconds: midnight), version: "1", beaconMap: store)
      var plan = BeaconMemory.Plan(store: store, log: log)
      plan.shares = true
      memory = BeaconMemory(plan)
    }

    /// Advances one second. The receiver reports the given position, and the radio reports the given beacons.
    mutating func go(
      to east: Double, north: Double = 0, speed: Double, course: Double = 90, hears numbers: [Int] = []
    ) {
      second += 1
      let time = Timestamp(seconds: midnight + second)
      var fix = PositionFix(
        timestamp: time, time: Self.start.advanced(bySeconds: midnight + second), mode: .threeDimensional,
        coordinate: frame.coordinate(at: SIMD2(east, north)))
      (fix.speed, fix.course, fix.horizontalDilution) = (speed, course, 1)
      var contradictions: [Bool] = []
      pipeline.process(.position([fix])) {
        if case .location(let message) = $0 { contradictions.append(message.location.contradictsBeacons) }
      }
      isContradicted = contradictions.last ?? isContradicted
      if !numbers.isEmpty {
        let scan = RadioScan(
          timestamp: time.advanced(bySeconds: 0.5),
          sightings: beacons(numbers).map { BeaconSighting(beacon: $0, signal: -70) }, kind: .wifi)
        pipeline.process(.radio([scan])) { _ in }
      }
      take(memory.process(&pipeline, at: time.advanced(bySeconds: 0.5)))
    }

    mutating func close() { take(memory.close(pipeline)) }

    private mutating func take(_ messages: [VehicleMessage]) {
      for case .scan(let message) in messages { shared += message.scans }
    }
  }

  /// Drives along the street from the origin at 10 m/s. There are five access points every 100 m up to 2000 m,
  /// and those of the office near its position.
  private func drive(_ agent: inout Agent, to end: Double, office: Double) {
    for east in stride(from: 10.0, through: end, by: 10) {
      let block = Int(east / 100)
      var hears: [Int] = []
      if east.truncatingRemainder(dividingBy: 100) == 0 {
        hears = block <= 20 ? Array(5 * block..<5 * block + 5) : []
      } else if abs(east - office) < 50, east.truncatingRemainder(dividingBy: 20) == 10 {
        hears = Array(Self.office)
      }
      agent.go(to: east, speed: 10, hears: hears)
    }
  }

  private func known(_ numbers: some Sequence<Int>) -> [MappedBeacon] {
    BeaconStore(path: path, log: log).lookUp(Self.beacons(numbers))
  }

  private func day(
    _ day: Int, office: Double, to end: Double, then more: (inout Agent) -> Void = { _ in }
  ) throws -> Agent {
    var agent = try Agent(day: day, path: path, log: log)
    drive(&agent, to: end, office: office)
    more(&agent)
    agent.close()
    return agent
  }

  @Test func mapFollowsAMovedOfficeWithinThreeDays() throws {
    let first = try day(0, office: Self.old, to: 2600)
    #expect(known(Self.office).count == 8 && !first.isContradicted)
    for place in known(Self.office) { #expect(place.coordinate.distance(to: Self.east(Self.old)) < 30) }

    let second = try day(1, office: Self.new, to: 6600)
    // The beacons are trusted, and their scans are not shared with the fleet.
    #expect(second.isContradicted && known(Self.office).count == 8)
    let office = Set(Self.beacons(Self.office))
    #expect(second.shared.allSatisfy { office.isDisjoint(with: $0.sightings.map(\.beacon)) })
    // From the first sighting of the second day on, they are no longer trusted.
    let next = try day(2, office: Self.new, to: 6600)
    #expect(!next.isContradicted && known(Self.office).isEmpty)
    let third = try day(3, office: Self.new, to: 6600)
    #expect(!third.isContradicted)
    #expect(known(Self.office).count == 8)
    for place in known(Self.office) { #expect(place.coordinate.distance(to: Self.east(Self.new)) < 60) }
    // The beacons in the street are unchanged.
    #expect(known(5..<100).count == 95)
    let fourth = try day(4, office: Self.new, to: 6600)
    #expect(!fourth.isContradicted && fourth.shared.contains { $0.sightings.count == 8 })
  }

  /// A spoofed receiver in the street is reported even on days when an office moves.
  @Test func spoofedReceiverIsReportedMeanwhile() throws {
    _ = try day(0, office: Self.old, to: 2600)
    for number in 1...3 {
      let agent = try day(number, office: Self.new, to: 1500) { agent in
        // The vehicle stays in the street while its receiver is spoofed to the north.
        for step in 1...100 {
          agent.go(
            to: 1500, north: 20 * Double(step), speed: 20, course: 0,
            hears: step.isMultiple(of: 20) ? Array(75..<80) : [])
        }
      }
      #expect(agent.isContradicted, "day \(number)")
      // No other beacons confirm the position, so no day is counted.
      #expect(known(75..<80).count == 5, "day \(number)")
      for place in known(75..<80) { #expect(place.coordinate.distance(to: Self.east(1500)) < 30) }
    }
  }

  /// Spoofing as documented in `Config/fleet.md`: two days hide beacons, three move them. After a visit they
  /// are known again.
  @Test func slowSpoofingOnTwoDaysOnlyHidesBeacons() throws {
    _ = try day(0, office: Self.old, to: 2600)
    for number in 1...2 {
      _ = try day(number, office: 0, to: 1500) { agent in
        // Starting in the known street, the receiver is spoofed past the turn: the radio observes the office at
        // a wrong position.
        for step in 1...100 {
          agent.go(
            to: 1500 + 9 * Double(step), north: 15 * Double(step), speed: 17.5, course: 31,
            hears: step > 60 && step.isMultiple(of: 20) ? Array(Self.office) : [])
        }
      }
      #expect(known(Self.office).count == (number == 1 ? 8 : 0))
    }
    _ = try day(3, office: Self.old, to: 2600)
    #expect(known(Self.office).count == 8)
    for place in known(Self.office) { #expect(place.coordinate.distance(to: Self.east(Self.old)) < 30) }
  }

  // MARK: Positions from the fleet

  private static func told(at east: Double) -> [MappedBeacon] {
    beacons(office).map {
      MappedBeacon(beacon: $0, coordinate: Self.east(east), reach: 60, sightings: 40, lastSeen: 20_000)
    }
  }

  private func hear(at east: Double, day: Int, in store: BeaconStore) {
    let scan = RadioScan(
      timestamp: Timestamp(seconds: 0),
      sightings: Self.beacons(Self.office).map { BeaconSighting(beacon: $0, signal: -70) })
    store.learn(scan, at: Self.east(east), accuracy: 5, day: 20_000 + day, isContested: true)
  }

  private func advance(_ store: BeaconStore, turn: Double, zones: [PrivacyPolicy.Zone] = []) {
    store.advance(to: Timestamp(seconds: BeaconStore.pace * turn), day: 20_001, zones: zones)
  }

  /// A contested position from the fleet is replaced by the next one, even if the contradiction was written to
  /// disk. After three days, own observations replace it.
  @Test(arguments: [true, false]) func contestedFleetEntryIsReplacedByTheNext(isWritten: Bool) {
    let store = BeaconStore(path: path, log: log)
    advance(store, turn: 0)
    store.accept(Self.told(at: Self.old))
    advance(store, turn: 1)
    hear(at: Self.new, day: 1, in: store)
    if isWritten { advance(store, turn: 2) }
    hear(at: Self.new, day: 2, in: store)
    #expect(store.lookUp(Self.beacons(Self.office)).isEmpty)
    if isWritten { advance(store, turn: 3) }
    store.accept(Self.told(at: 4000))
    store.close()
    #expect(known(Self.office).count == 8)
    for place in known(Self.office) { #expect(place.coordinate.distance(to: Self.east(4000)) < 1) }
    let again = BeaconStore(path: path, log: log)
    for day in 3...5 { hear(at: Self.new, day: day, in: again) }
    again.accept(Self.told(at: Self.old))
    for place in again.lookUp(Self.beacons(Self.office)) {
      #expect(place.coordinate.distance(to: Self.east(Self.new)) < 1 && place.sightings == 3)
    }
  }

  /// Positions from the fleet are not private, but the position of an own observation that contradicts them is.
  @Test func contestedPositionInAZoneIsRemoved() throws {
    let store = BeaconStore(path: path, log: log)
    advance(store, turn: 0)
    store.accept(Self.told(at: Self.old))
    hear(at: Self.new, day: 1, in: store)
    advance(store, turn: 1)
    let circle = try #require(Circle(center: Self.east(Self.new), radius: 300))
    advance(store, turn: 2, zones: [.init(area: .circle(circle))])
    #expect(store.lookUp(Self.beacons(Self.office)).isEmpty)
  }
}
