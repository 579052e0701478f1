import AgentCore
import Foundation
import Logging
import Navigation
import Pipeline
import Positioning
import Sensors
import Simulation
import Spatial
import Telemetry
import TestSupport
import Testing

/// Trips with kills and power losses.
@Suite struct TripStoreTests {
  private static let start = UTCTime(nanoseconds: 1_795_248_000_000_000_000)
  private static let origin = Coordinate(latitude: 48, longitude: 11)
  private static let log = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

  /// Creates folders that represent the disk and the memory. A power loss deletes the latter.
  private func withFolders(_ body: (_ disk: String, _ memory: String) throws -> Void) throws {
    let name = "odograph-\(UUID().uuidString)"
    let folders = ["-disk", "-memory"].map { URL(filePath: "/dev/shm/" + name + $0) }
    for folder in folders {
      try FileManager.default.createDirectory(
        at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }
    defer { for folder in folders { try? FileManager.default.removeItem(at: folder) } }
    try body(folders[0].path, folders[1].path)
  }

  /// The parts of the agent that handle trips, with files.
  private struct Agent {
    var pipeline: AgentPipeline
    var odometer: OdometerStore
    var trips: TripStore
    /// Messages received by the fleet.
    var told: [TripMessage] = []

    init(_ disk: String, _ memory: String, at second: Int, _ settings: [String] = []) throws {
      let configuration = try AgentConfiguration(
        settings: ["vehicle.id=v", "input.mode=simulation"] + settings)
      odometer = OdometerStore(
        path: disk + "/odometer", memory: memory + "/odometer", log: TripStoreTests.log)
      trips = TripStore(path: disk + "/trips", log: TripStoreTests.log)
      let now = TripStoreTests.start.advanced(bySeconds: Double(second))
      pipeline = AgentPipeline(
        configuration: configuration.pipeline, start: Timestamp(seconds: Double(second)), time: now,
        version: "1",
        odometer: odometer.load(now: now), trips: trips.load(now: now))
    }

    /// - Parameter isLost: true if power fails before the messages are in the outbox.
    mutating func process(_ event: SensorEvent, at timestamp: Timestamp, isLost: Bool) {
      var messages: [TripMessage] = []
      pipeline.process(event) { if case .trip(let message) = $0 { messages.append(message) } }
      keepOdometer(timestamp, isSet: trips.isUrgent(pipeline))
      _ = trips.keep(pipeline, at: timestamp)
      guard !isLost else { return }
      for message in messages { pipeline.confirm(message) }
      told += messages
    }

    private mutating func keepOdometer(_ timestamp: Timestamp, isSet: Bool) {
      guard let outcome = odometer.keep(pipeline, at: timestamp, isSet: isSet) else { return }
      pipeline.observe(odometerKept: outcome.state)
    }
  }

  private func event(_ second: Int, way: Double, speed: Double, _ random: inout SeededGenerator)
    -> SensorEvent
  {
    var fix = PositionFix(
      timestamp: Timestamp(seconds: Double(second)), time: Self.start.advanced(bySeconds: Double(second)),
      mode: .threeDimensional,
      coordinate: Self.origin.destination(distance: way + 0.5 * random.nextNormal(), bearing: 0))
    (fix.speed, fix.course, fix.horizontalError) = (max(0, speed + 0.03 * random.nextNormal()), 0, 2)
    return .position([fix])
  }

  /// Three drives with 200 kills or power losses, some before messages are stored. Each trip is published
  /// completely and only once, and each interruption loses less than 10 m.
  @Test(arguments: [false, true]) func twoHundredInterruptionsLoseNoTrip(isPowerCut: Bool) throws {
    try withFolders { disk, memory in
      var random = SeededGenerator(seed: 21)
      var agent = try Agent(disk, memory, at: 0)
      var told: [TripMessage] = []
      var (second, way, kills) = (0, 0.0, 0)
      var ends: [Double] = []
      for part in 0..<3 {
        for phase in 0..<2 {
          for _ in 0..<(phase == 0 ? 1400 : 400) {
            second += 1
            let speed = phase == 0 ? 6 + 6 * sin(Double(second) / 30) : 0
            way += speed
            let isKilled = phase == 0 && second % 20 == 0 && kills < 200 && second % 1800 > 60
            agent.process(
              event(second, way: way, speed: speed, &random), at: Timestamp(seconds: Double(second)),
              isLost: isKilled && kills % 2 == 0)
            guard isKilled else { continue }
            kills += 1
            told += agent.told
            if isPowerCut { try? FileManager.default.removeItem(atPath: memory + "/odometer") }
            agent = try Agent(disk, memory, at: second)
          }
        }
        ends.append(way)
        #expect(part < 3)
      }
      told += agent.told
      #expect(kills == 200 || kills > 195)
      var newest: [Int64: TripMessage] = [:]
      for message in told where newest[message.trip.number].map({ $0.revision <= message.revision }) ?? true {
        // A repeated message is identical.
        if let before = newest[message.trip.number], before.revision == message.revision {
          #expect(before.distance == message.distance && before.phase == message.phase)
        }
        newest[message.trip.number] = message
      }
      #expect(Set(told.map(\.trip.series)).count == 1)
      #expect(newest.keys.sorted() == [1, 2, 3])
      var before = 0.0
      for (trip, end) in zip(newest.values.sorted { $0.trip.number < $1.trip.number }, ends) {
        #expect(trip.phase == .ended && trip.start.time < trip.end.time)
        #expect(abs(trip.distance - (end - before)) < 10 * 70, "\(trip.distance) for \(end - before)")
        before = end
      }
      let sum = newest.values.reduce(0) { $0 + $1.distance }
      let odometer = try #require(agent.pipeline.odometerToKeep).distance
      print("\(isPowerCut ? "power cuts" : "kills"): \(kills), way \(way), odometer \(odometer), sum \(sum)")
      #expect(abs(sum - odometer) < 1)
      #expect(abs(odometer - way) < 10 * Double(kills))
    }
  }

  /// A zone that is new at a start removes its positions from the file before anything is published. Other
  /// positions remain.
  @Test func newZoneClearsStoredTrips() throws {
    try withFolders { disk, memory in
      var random = SeededGenerator(seed: 4)
      var agent = try Agent(disk, memory, at: 0)
      var way = 0.0
      for second in 1...600 {
        let speed = second % 100 < 50 ? 15.0 : 12
        way += speed
        agent.process(
          event(second, way: way, speed: speed, &random), at: Timestamp(seconds: Double(second)),
          isLost: second > 30)
      }
      _ = agent.trips.save(agent.pipeline, at: Timestamp(seconds: 600))
      func kept() throws -> TripState {
        try TripState(text: String(contentsOfFile: disk + "/trips", encoding: .utf8))
      }
      let zone = Self.origin.destination(distance: 500, bearing: 0)
      func places(_ state: TripState, _ isWanted: (Coordinate) -> Bool) -> Int {
        var count = 0
        var rest = state
        rest.forgetPlaces {
          if isWanted($0) { count += 1 }
          return false
        }
        return count
      }
      let isInside: (Coordinate) -> Bool = { zone.distance(to: $0) < 1000 }
      let (inside, outside) = (try places(kept(), isInside), try places(kept()) { !isInside($0) })
      #expect(inside > 0 && outside > 0)
      agent = try Agent(
        disk, memory, at: 601, ["privacy.zones=\(zone.latitude) \(zone.longitude) 1000 withhold"])
      agent.pipeline.advance(to: Timestamp(seconds: 601)) { _ in }
      #expect(agent.trips.isUrgent(agent.pipeline))
      _ = agent.trips.keep(agent.pipeline, at: Timestamp(seconds: 601))
      #expect(try places(kept(), isInside) == 0)
      #expect(try places(kept()) { !isInside($0) } == outside)
    }
  }

  @Test func newFileStartsANewSeries() throws {
    try withFolders { disk, memory in
      let first = try Agent(disk, memory, at: 0).pipeline.tripsToKeep?.series
      #expect(try Agent(disk, memory, at: 0).pipeline.tripsToKeep?.series != first)
      var agent = try Agent(disk, memory, at: 0)
      var random = SeededGenerator(seed: 1)
      agent.process(event(1, way: 0, speed: 0, &random), at: Timestamp(seconds: 1), isLost: false)
      let kept = agent.pipeline.tripsToKeep?.series
      #expect(try Agent(disk, memory, at: 2).pipeline.tripsToKeep?.series == kept)
      try "odograph-trips 1\nseries x\n".write(toFile: disk + "/trips", atomically: true, encoding: .utf8)
      #expect(try Agent(disk, memory, at: 3).pipeline.tripsToKeep?.series != kept)
    }
  }
}
