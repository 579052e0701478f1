import Fleet
import FleetFixtures
import FleetManagement
import JSON
import MQTT
import Spatial
import Telemetry
import Testing
import VehicleData

@Suite struct SimulatedFleetTests {
  private func fleet(
    _ change: (inout SimulatedFleet.Configuration) -> Void = { _ in }
  ) throws -> SimulatedFleet {
    var configuration = SimulatedFleet.Configuration(root: "odograph/v1")
    configuration.vehicles = 20
    configuration.eventsPerHour = 0
    change(&configuration)
    return try SimulatedFleet(configuration, start: noon)
  }

  private func report(_ fleet: inout SimulatedFleet, until seconds: Double) -> [SimulatedFleet.Output] {
    var outputs: [SimulatedFleet.Output] = []
    fleet.advance(to: seconds, into: &outputs)
    return outputs
  }

  @Test func reportsAreEvenlySpreadAndInOrder() throws {
    var fleet = try fleet { $0.rate = 2 }
    let outputs = report(&fleet, until: 9.999)
    #expect(outputs.count == 400)
    for vehicle in 0..<20 {
      let own = try outputs.filter { $0.vehicle == vehicle }.map {
        try LocationMessage(json: JSONValue(parsing: $0.message.payload))
      }
      #expect(own.map { $0.identity?.seq } == (1...20).map { UInt64($0) })
      for (a, b) in zip(own, own.dropFirst()) { #expect(abs(b.time.seconds(since: a.time) - 0.5) < 0.002) }
    }
    // The number of calls does not change the reports.
    var again = try self.fleet { $0.rate = 2 }
    let parts =
      stride(from: 0.37, to: 10, by: 0.37).flatMap { report(&again, until: $0) }
      + report(&again, until: 9.999)
    #expect(parts.map(\.message.topic) == outputs.map(\.message.topic))
  }

  /// After a connection, each of its vehicles publishes its status again, except those that have lost their link.
  @Test func statusIsRepeatedAfterAConnection() throws {
    var fleet = try fleet()
    let again = fleet.statusAgain(at: noon) { $0 % 2 == 1 }
    #expect(again.map(\.vehicle) == Array(stride(from: 1, to: 20, by: 2)))
    for output in again {
      let status = try StatusMessage(json: JSONValue(parsing: output.message.payload))
      #expect(status.state == .online && output.message.retain && output.number == 1)
    }
    var lost = try self.fleet {
      $0.outagesPerHour = 3600
      $0.outageSeconds = 1000
    }
    _ = report(&lost, until: 60)
    let out = Set(lost.vehicles.indices.filter { lost.vehicles[$0].isOut })
    #expect(!out.isEmpty)
    let others = lost.statusAgain(at: noon) { _ in true }
    #expect(out.isDisjoint(with: others.map(\.vehicle)))
  }

  /// Messages that start a connection are accepted by a full queue, up to a second limit.
  @Test func aFullQueueHasRoomForStatus() {
    let queue = PublishQueue(capacity: 2)
    let message = MQTTMessage(topic: "t", text: "")
    for _ in 0..<3 { queue.append(message) }
    #expect(queue.pending == 2)
    for _ in 0..<3 { queue.append(message, isVital: true) }
    #expect(queue.pending == 4)
  }

  @Test func vehiclesMoveWithTheirReportedSpeed() throws {
    var fleet = try fleet { $0.vehicles = 3 }
    let outputs = report(&fleet, until: 120)
    for vehicle in 0..<3 {
      let own = try outputs.filter { $0.vehicle == vehicle }.map {
        try LocationMessage(json: JSONValue(parsing: $0.message.payload)).location
      }
      for (a, b) in zip(own, own.dropFirst()) {
        let speed = try #require(b.speed)
        #expect(a.coordinate.distance(to: b.coordinate) < max(speed, a.speed ?? 0) + 12)
      }
      #expect(own.contains { ($0.speed ?? 0) > 3 })
    }
  }

  @Test func headingIsTheCourse() throws {
    var fleet = try fleet {
      $0.vehicles = 1
      $0.liveRate = 1
    }
    var courses: [Double?] = []
    var headings: [Double] = []
    for output in report(&fleet, until: 60) {
      let json = try JSONValue(parsing: output.message.payload)
      if output.message.topic.hasSuffix("/location") {
        courses.append(try LocationMessage(json: json).location.course)
      }
      if output.message.topic.hasSuffix("/heading") {
        headings.append(try HeadingMessage(json: json).magneticHeading)
      }
    }
    #expect(courses.count == headings.count && courses.contains { $0 != nil })
    for (course, heading) in zip(courses, headings) {
      guard let course else { continue }
      #expect(abs(signedDegrees(from: course, to: heading)) < 5)
    }
  }

  @Test func anOutageIsAWillThenSilenceThenTheTrack() throws {
    var fleet = try fleet {
      $0.vehicles = 1
      $0.outagesPerHour = 60
      $0.outageSeconds = 30
    }
    let outputs = report(&fleet, until: 600)
    let kinds = outputs.map { String($0.message.topic.split(separator: "/").last ?? "") }
    let lost = try #require(kinds.firstIndex(of: "status"))
    #expect(Array(kinds[lost..<(lost + 4)]) == ["status", "status", "track", "location"])
    let will = try StatusMessage(json: JSONValue(parsing: outputs[lost].message.payload))
    #expect(will.isWill && will.state == .offline)
    let track = try TrackMessage(json: JSONValue(parsing: outputs[lost + 2].message.payload))
    #expect((29...31).contains(track.fixes.count))
    // Only a will has no sequence number; nothing is missing from the sequence.
    let numbers = try outputs.compactMap { try JSONValue(parsing: $0.message.payload)["seq"]?.integer }
    #expect(numbers == Array(1...Int64(outputs.count { $0.number != nil })))
  }

  @Test func equalSeedsDriveEqually() throws {
    func places(_ seed: UInt64) throws -> [Coordinate] {
      var fleet = try fleet { $0.seed = seed }
      return try report(&fleet, until: 3).map {
        try LocationMessage(json: JSONValue(parsing: $0.message.payload)).location.coordinate
      }
    }
    #expect(try places(1) == places(1))
    #expect(try places(1) != places(2))
  }

  @Test(arguments: ["vehicles", "rate", "connections", "qos"]) func settingsOutOfBounds(
    setting: String
  ) throws {
    let error = try #require(throws: FleetError.self) {
      try fleet { settings in
        switch setting {
        case "vehicles": settings.vehicles = 0
        case "rate": settings.rate = .nan
        case "connections": settings.connections = 21
        default: settings.qos = 2
        }
      }
    }
    #expect(error.object.hasPrefix(setting) && error.kind == .invalidInput)
  }
}
