import AgentCore
import Foundation
import JSON
import Pipeline
import Positioning
import Sensors
import Spatial
import Telemetry
import Testing

/// Publication of `regions/state`, in virtual time.
@Suite struct RegionStatesTests {
  private static let start = UTCTime(nanoseconds: 1_795_248_000_000_000_000)

  /// A yard from 200 to 500 m on a drive to the north, and a gate from 740 to 860 m.
  private static let yard =
    #"{"type":"Feature","id":"yard","properties":{"dwell":10},"geometry":{"type":"Polygon","coordinates":"#
    + #"[[[10.99,48.0018],[11.01,48.0018],[11.01,48.0045],[10.99,48.0045],[10.99,48.0018]]]}}"#
  private static let gate =
    #"{"type":"Feature","id":"gate","properties":{"radius":60,"desiredAccuracy":8},"geometry":{"type":"Point","coordinates":[11,48.0072]}}"#

  private func collection(_ features: String...) throws -> RegionCollection {
    try RegionCollection(
      json: JSONValue(
        parsing: Array(#"{"type":"FeatureCollection","features":[\#(features.joined(separator: ","))]}"#.utf8)
      ))
  }

  private func pipeline(_ settings: String..., watching collection: RegionCollection?) throws -> AgentPipeline
  {
    let configuration = try AgentConfiguration(
      settings: ["vehicle.id=v", "input.mode=simulation", "location.reporting=distance"] + settings)
    var pipeline = AgentPipeline(
      configuration: configuration.pipeline, start: Timestamp(nanoseconds: 0), time: Self.start, version: "1")
    if let collection {
      _ = collection.watch(in: &pipeline.regions)
      pipeline.regionSource = .file
    }
    return pipeline
  }

  private func fix(_ second: Double, at metres: Double? = nil, speed: Double = 10) -> SensorEvent {
    var fix = PositionFix(
      timestamp: Timestamp(seconds: second), time: Self.start.advanced(bySeconds: second),
      mode: .threeDimensional,
      coordinate: Coordinate(latitude: 48, longitude: 11).destination(
        distance: metres ?? 10 * second, bearing: 0))
    (fix.speed, fix.course, fix.horizontalError) = (speed, 0, 5)
    return .position([fix])
  }

  /// Drives at 10 m/s. Returns each published state as `second region:state …`.
  private func told(_ pipeline: inout AgentPipeline, _ seconds: ClosedRange<Int>) -> [String] {
    var lines: [String] = []
    for second in seconds {
      var messages: [VehicleMessage] = []
      pipeline.process(fix(Double(second))) { messages.append($0) }
      lines += states(messages).map { "\(second) \(text($0))" }
    }
    return lines
  }

  private func states(_ messages: [VehicleMessage]) -> [RegionsStateMessage] {
    messages.compactMap { if case .regionsState(let message) = $0 { message } else { nil } }
  }

  private func text(_ message: RegionsStateMessage) -> String {
    message.regions.map { "\($0.identifier):\($0.state)" }.joined(separator: " ")
  }

  @Test func statesArePublishedAtTheStartAndAfterChanges() throws {
    var pipeline = try pipeline(watching: collection(Self.yard, Self.gate))
    var first: [VehicleMessage] = []
    pipeline.advance(to: Timestamp(seconds: 0.1)) { first.append($0) }
    #expect(states(first).isEmpty)
    pipeline.advance(to: Timestamp(seconds: 0.6)) { first.append($0) }
    #expect(states(first).map(text) == ["yard:unknown gate:unknown"])
    #expect(states(first).first?.source == .file && states(first).first?.count == 2)
    // The states decided by the first fix are published after one second, later changes within ten seconds.
    // Without changes, nothing is published.
    #expect(
      told(&pipeline, 1...120) == [
        "2 yard:outside gate:outside", "22 yard:inside gate:outside", "52 yard:outside gate:outside",
        "76 yard:outside gate:inside", "88 yard:outside gate:outside",
      ])
  }

  @Test func rapidChangesMakeOneMessage() throws {
    // The vehicle crosses two edges within ten seconds.
    let near = Self.yard.replacing("yard", with: "near").replacing("48.0018", with: "48.0023")
    var pipeline = try pipeline(watching: collection(Self.yard, near))
    let lines = told(&pipeline, 0...45)
    #expect(lines.last == "32 yard:inside near:inside", "\(lines)")
    #expect(lines.count == 3, "\(lines)")
  }

  @Test func eachEntryHasItsTimeAndAccuracy() throws {
    var pipeline = try pipeline(watching: collection(Self.yard, Self.gate))
    var messages: [VehicleMessage] = []
    for second in 0...40 { pipeline.process(fix(Double(second))) { messages.append($0) } }
    let last = try #require(states(messages).last)
    #expect(abs(last.regions[0].since?.seconds(since: Self.start.advanced(bySeconds: 20)) ?? 99) < 0.5)
    #expect(last.regions.map(\.desiredAccuracy) == [nil, 8])
  }

  @Test func nothingIsPublishedWithoutRegions() throws {
    var pipeline = try pipeline(watching: nil)
    #expect(told(&pipeline, 0...60).isEmpty)
    var rest: [VehicleMessage] = []
    pipeline.finish { rest.append($0) }
    #expect(states(rest).isEmpty)
  }

  /// The retained states of removed regions are cleared, even if the regions were removed while the agent was
  /// not running.
  @Test func removedRegionsAreCleared() throws {
    var first = try pipeline(watching: collection(Self.yard))
    _ = told(&first, 0...30)
    first.regions.replaceAll([])
    var messages: [VehicleMessage] = []
    first.advance(to: Timestamp(seconds: 45)) { messages.append($0) }
    first.advance(to: Timestamp(seconds: 46)) { messages.append($0) }
    #expect(states(messages).map(\.count) == [0] && states(messages).first?.source == nil)

    var before = try pipeline(watching: collection(Self.yard))
    _ = told(&before, 0...30)
    var second = try pipeline(watching: nil)
    try second.regions.restore(before.regions.encoded)
    #expect(told(&second, 31...40).count == 1)
  }

  /// After a restart, the stored states are published, and then those decided by the first fixes.
  @Test func restartCorrectsPublishedStates() throws {
    var first = try pipeline(watching: collection(Self.yard))
    _ = told(&first, 0...30)
    var second = try pipeline(watching: collection(Self.yard))
    try second.regions.restore(first.regions.encoded)
    var messages: [VehicleMessage] = []
    second.advance(to: Timestamp(seconds: 1)) { messages.append($0) }
    second.advance(to: Timestamp(seconds: 2)) { messages.append($0) }
    #expect(states(messages).map(text) == ["yard:inside"])
    #expect(told(&second, 60...75) == ["61 yard:outside"])
  }

  @Test func pendingStatesArePublishedAtTheEnd() throws {
    var pipeline = try pipeline(watching: collection(Self.yard))
    #expect(told(&pipeline, 0...21).last?.contains("inside") != true)
    var messages: [VehicleMessage] = []
    pipeline.finish { messages.append($0) }
    #expect(states(messages).map(text) == ["yard:inside"])
  }

  @Test func requestPublishesStatesAgain() throws {
    var pipeline = try pipeline(watching: collection(Self.yard))
    _ = told(&pipeline, 0...40)
    var messages: [VehicleMessage] = []
    pipeline.advance(to: Timestamp(seconds: 41)) { messages.append($0) }
    #expect(states(messages).isEmpty)
    pipeline.requestRegionStates { _ in }
    pipeline.advance(to: Timestamp(seconds: 41)) { messages.append($0) }
    #expect(states(messages).map(text) == ["yard:inside"])
  }

  /// A request for states does not prevent the clearing of the retained message after all regions were removed.
  @Test func requestDoesNotDelayTheClearing() throws {
    var pipeline = try pipeline(watching: collection(Self.yard))
    _ = told(&pipeline, 0...40)
    pipeline.regions.replaceAll([])
    pipeline.requestRegionStates { _ in }
    var messages: [VehicleMessage] = []
    pipeline.advance(to: Timestamp(seconds: 41)) { messages.append($0) }
    pipeline.advance(to: Timestamp(seconds: 60)) { messages.append($0) }
    #expect(states(messages).map(\.count) == [0])
  }

  /// If positions are withheld, no state is decided or published.
  @Test func withheldPositionsDecideNoState() throws {
    var pipeline = try pipeline(
      "privacy.zones=48.003 11 400 withhold", watching: collection(Self.yard, Self.gate))
    #expect(told(&pipeline, 0...120).allSatisfy { !$0.contains("yard:inside") })
    // The zone covers the start of the drive, so no state is known before the far side.
    var inside = try self.pipeline("privacy.zones=48.003 11 400 withhold", watching: collection(Self.yard))
    #expect(told(&inside, 0...60).allSatisfy { !$0.contains("inside") && !$0.contains("outside") })
  }

  /// With coarse locations, the receiver sleeps, but not near the edge of a region with a higher desired accuracy.
  @Test(arguments: [true, false]) func regionAccuracyKeepsTheReceiverOn(hasOwn: Bool) throws {
    let gate = hasOwn ? Self.gate : Self.gate.replacing(#","desiredAccuracy":8"#, with: "")
    var pipeline = try pipeline("location.desired_accuracy=kilometer", watching: collection(gate))
    var isOn: [Bool] = []
    for second in 0...20 {
      pipeline.process(fix(Double(second), at: 400, speed: 0)) { _ in }
      pipeline.planPower(at: Timestamp(seconds: Double(second)))
      isOn.append(pipeline.demands[.positioning]?.isOn ?? false)
    }
    // 340 m from the edge: a car can reach it within half a minute.
    #expect(isOn.suffix(15).allSatisfy { $0 } == hasOwn, "\(isOn)")
    for second in 100...120 {
      pipeline.process(fix(Double(second), at: -90_000, speed: 0)) { _ in }
      pipeline.planPower(at: Timestamp(seconds: Double(second)))
    }
    #expect(pipeline.demands[.positioning]?.isOn == false)
  }

  @Test func commandIsValidated() throws {
    func command(_ text: String) throws -> RemoteCommand {
      try RemoteCommand(name: "region-state", arguments: JSONValue(parsing: Array(text.utf8)))
    }
    #expect(try command("{}") == .regionState(identifier: nil))
    #expect(try command(#"{"region":"yard"}"#) == .regionState(identifier: "yard"))
    for text in [#"{"region":7}"#, #"{"region":""}"#] {
      let error = try #require(throws: JSONError.self) { try command(text) }
      #expect("\(error)".contains("identifier of a region"))
    }
    #expect(RemoteCommand.names.contains("region-state"))
  }
}
