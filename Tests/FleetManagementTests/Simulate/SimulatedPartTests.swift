import Fleet
import FleetFixtures
import FleetManagement
import JSON
import MQTT
import Telemetry
import TestSupport
import Testing

/// The parts of a fleet publish the same messages as a fleet in one process.
@Suite struct SimulatedPartTests {
  private func fleet(
    _ part: String? = nil, _ change: (inout SimulatedFleet.Configuration) -> Void = { _ in }
  ) throws -> SimulatedFleet {
    var configuration = SimulatedFleet.Configuration(root: "odograph/v1")
    (configuration.vehicles, configuration.seed) = (23, 5)
    (configuration.eventsPerHour, configuration.outagesPerHour, configuration.liveRate) = (600, 60, 0.5)
    configuration.part = try SimulatedPart(parsing: part)
    change(&configuration)
    return try SimulatedFleet(configuration, start: noon)
  }

  /// Topics and payloads without the epoch, which differs between processes.
  private func published(_ fleet: inout SimulatedFleet) throws -> [String] {
    var outputs = fleet.status(.online, at: noon)
    fleet.advance(to: 120, into: &outputs)
    return try outputs.map { output in
      var members: [String: JSONValue] = [:]
      if case .object(let own) = try JSONValue(parsing: output.message.payload) { members = own }
      members["epoch"] = nil
      let number = output.number.map { "\($0)" } ?? "-"
      return "\(output.message.topic) \(number) \(JSONValue.object(members).text)"
    }
  }

  @Test(arguments: [1, 2, 4, 7, 23]) func partsTogetherAreTheWhole(count: Int) throws {
    var whole = try fleet()
    var parts: [String] = []
    for part in 1...count {
      var fleet = try fleet("\(part)/\(count)")
      #expect((23 / count...(23 + count - 1) / count).contains(fleet.vehicles.count))
      parts += try published(&fleet)
    }
    #expect(try parts.sorted() == published(&whole).sorted())
  }

  /// Each part publishes in the order of time, at an even rate.
  @Test func aPartIsInOrder() throws {
    var fleet = try fleet("3/4") {
      ($0.eventsPerHour, $0.outagesPerHour, $0.liveRate) = (0, 0, 0)
    }
    var outputs: [SimulatedFleet.Output] = []
    fleet.advance(to: 20, into: &outputs)
    let times = try outputs.map { output in
      try LocationMessage(json: JSONValue(parsing: output.message.payload)).time
    }
    #expect(times == times.sorted() && times.count > 5 * 19)
  }

  @Test(arguments: ["/", "2", "0/4", "5/4", "a/4", "1/", "1/4/2", "-1/4", "1/1001", "1/24"])
  func rejectsInvalidParts(text: String) throws {
    let error = try #require(throws: FleetError.self) { try fleet(text) }
    #expect(error.object.hasPrefix("part \(text)") && error.kind == .invalidInput)
  }

  @Test func sentNumbersAreReadBack() throws {
    let van = VehicleKey(fleet: "a", vehicle: "ü\"b")
    let told = SentNumbersFile(
      root: "odograph/v1",
      numbers: [
        SentNumbers(vehicle: van, epoch: "e", last: 12, unacknowledged: [2...2, 5...12]),
        SentNumbers(vehicle: van, epoch: "f", last: 0),
      ])
    let read = try SentNumbersFile(told.bytes, of: "told.jsonl")
    #expect(read.numbers == told.numbers && read.root == told.root)
    // A truncated file is refused with the number of the line.
    for count in 0..<(told.bytes.count - 1) {
      let error = #expect(throws: FleetError.self) {
        try SentNumbersFile(Array(told.bytes.prefix(count)), of: "told.jsonl")
      }
      #expect(error?.object.hasPrefix("told.jsonl, line ") == true)
    }
    let wrong = String(decoding: told.bytes, as: UTF8.self).replacing("[2,2]", with: "[2,13]")
    #expect(throws: FleetError.self) { try SentNumbersFile(Array(wrong.utf8), of: "told.jsonl") }
  }
}
