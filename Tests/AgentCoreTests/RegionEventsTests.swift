import Foundation
import JSON
import Pipeline
import Platform
import Positioning
import Sensors
import Spatial
import StoreAndForward
import Telemetry
import Testing

@testable import AgentCore

/// From a GeoJSON file to `region` messages, and across a restart.
@Suite struct RegionEventsTests {
  private static let start = UTCTime(nanoseconds: 1_795_248_000_000_000_000)
  private let folder = FileManager.default.temporaryDirectory.appending(
    path: "odograph-regions-\(UUID().uuidString)")
  private let log = AgentLog.make(level: "error")

  init() throws { try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true) }

  private func file(_ name: String, _ text: String) throws -> String {
    let url = folder.appending(path: name)
    try Data(text.utf8).write(to: url)
    return url.path
  }

  private func pipeline(_ settings: String..., path: String) throws -> AgentPipeline {
    let configuration = try AgentConfiguration(
      settings: ["vehicle.id=v", "input.mode=simulation"] + settings)
    var pipeline = AgentPipeline(
      configuration: configuration.pipeline, start: Timestamp(nanoseconds: 0), time: Self.start, version: "1")
    _ = try RegionFile(path).watch(in: &pipeline.regions, at: Self.start, log: log)
    return pipeline
  }

  /// Drives north from 48° at 10 m/s, with one fix per second.
  private func drive(_ seconds: ClosedRange<Int>, from north: Double = 0, speed: Double = 10) -> [SensorEvent]
  {
    seconds.map { second in
      let metres = north + Double(second - seconds.lowerBound) * speed
      var fix = PositionFix(
        timestamp: Timestamp(seconds: Double(second)), time: Self.start.advanced(bySeconds: Double(second)),
        mode: .threeDimensional,
        coordinate: Coordinate(latitude: 48, longitude: 11).destination(distance: metres, bearing: 0))
      fix.speed = speed
      fix.course = 0
      fix.horizontalError = 5
      return .position([fix])
    }
  }

  private func messages(_ pipeline: inout AgentPipeline, _ events: [SensorEvent]) throws -> [RegionMessage] {
    var messages: [VehicleMessage] = []
    for event in events { pipeline.process(event) { messages.append($0) } }
    let regions = messages.filter { $0.kind == .region }
    #expect(regions.allSatisfy { $0.lane == .events && !$0.isRetained && $0.qos == 1 })
    return try regions.enumerated().map { index, message in
      try RegionMessage(
        json: JSONValue(parsing: message.encode(identity: MessageIdentity(epoch: "e", seq: UInt64(index)))))
    }
  }

  /// A yard from 48.0018° (200 m) to 48.0045° (500 m), and a gate behind it.
  private let geojson = #"""
    {"type":"FeatureCollection","features":[
     {"type":"Feature","id":"yard","properties":{"dwell":10},"geometry":{"type":"Polygon","coordinates":
      [[[10.99,48.0018],[11.01,48.0018],[11.01,48.0045],[10.99,48.0045],[10.99,48.0018]]]}},
     {"type":"Feature","id":"gate","properties":{"radius":60},"geometry":{"type":"Point","coordinates":[11,48.0072]}},
     {"type":"Feature","id":"broken","geometry":{"type":"Polygon","coordinates":[[[11,48],[11,48.1]]]}}]}
    """#

  /// An event contains the name and definition time of the region. Without a time in the region, the
  /// modification time of the file is used.
  @Test func eventNamesTheRegionAndItsTime() throws {
    let text = geojson.replacing(#""dwell":10"#, with: #""dwell":10,"name":"The yard","tst":1767323045"#)
    let path = try file("regions.geojson", text)
    let written = UTCTime(secondsSince1970: 1_790_000_000)
    try FileManager.default.setAttributes(
      [.modificationDate: Date(timeIntervalSince1970: 1_790_000_000)], ofItemAtPath: path)
    var pipeline = try pipeline(path: path)
    for event in try messages(&pipeline, drive(0...100)) {
      let isYard = event.region == "yard"
      #expect(event.name == (isYard ? "The yard" : nil))
      #expect(event.definedAt == (isYard ? UTCTime(secondsSince1970: 1_767_323_045) : written))
    }
  }

  @Test func driveThroughRegionsIsReportedInOrder() throws {
    var pipeline = try pipeline(path: file("regions.geojson", geojson))
    let told = try messages(&pipeline, drive(0...100))
    #expect(
      told.map { "\($0.event) \($0.region)" } == [
        "enter yard", "dwell yard", "exit yard", "enter gate", "exit gate",
      ])
    let seconds = told.map { ($0.time.seconds(since: Self.start) * 10).rounded() / 10 }
    #expect(seconds == [20, 30, 50, 74.1, 86.1])
    #expect(told.allSatisfy { !$0.isLate && $0.confidence >= 0.99 && $0.identity?.epoch == "e" })
    #expect(told.allSatisfy { $0.horizontalAccuracy.map { (2...6).contains($0) } == true })
  }

  @Test func dwellIsReportedWithoutAFix() throws {
    var pipeline = try pipeline("status.interval=86400", path: file("regions.geojson", geojson))
    #expect(try messages(&pipeline, drive(0...25)).count == 1)
    let deadline = try #require(pipeline.nextDeadline)
    #expect(abs(deadline.seconds - 30) < 0.2)
    var kinds: [MessageKind?] = []
    pipeline.advance(to: deadline) { kinds.append($0.kind) }
    #expect(kinds.contains(.region))
  }

  @Test func withheldPositionsStayWithheld() throws {
    var pipeline = try pipeline(
      "privacy.zones=48.003 11 400 withhold", path: file("regions.geojson", geojson))
    let told = try messages(&pipeline, drive(0...100))
    #expect(told.allSatisfy { $0.region == "gate" })
  }

  @Test func transitionsDuringDowntimeAreReportedOnce() throws {
    let path = try file("regions.geojson", geojson)
    let store = try Outbox(path: folder.appending(path: "outbox.sqlite").path)
    func run(_ seconds: ClosedRange<Int>, from start: Double = 0, speed: Double? = nil) throws -> [String] {
      var next = try pipeline(path: path)
      let states = RegionStates(path: folder.appending(path: "regions.state").path, log: log)
      states.restore(&next.regions, from: store)
      let events = speed.map { drive(seconds, from: start, speed: $0) } ?? drive(seconds)
      let told = try messages(&next, events).map { "\($0.event) \($0.region) \($0.isLate)" }
      if let change = states.change(of: next.regions) { store.preserve(change) }
      return told
    }
    #expect(try run(0...40) == ["enter yard false", "dwell yard false"])
    #expect(try run(1000...1010, from: 790, speed: 0) == ["exit yard true", "enter gate true"])
    #expect(try run(2000...2010, from: 790, speed: 0).isEmpty)
  }

  /// The file of an earlier version is read once. A damaged one does not prevent the start.
  @Test func fileOfAnEarlierVersionIsRead() throws {
    let path = try file("regions.geojson", geojson)
    let store = try Outbox(path: folder.appending(path: "outbox.sqlite").path)
    var first = try pipeline(path: path)
    let former = try file("regions.state", "nonsense")
    RegionStates(path: former, log: log).restore(&first.regions, from: store)
    #expect(try messages(&first, drive(0...30)).first?.event == .enter)
    try AtomicFile.write(first.regions.encoded, to: former)
    for _ in 0..<2 {
      var next = try pipeline(path: path)
      RegionStates(path: former, log: log).restore(&next.regions, from: store)
      #expect(next.regions.inside == ["yard"])
      #expect(!FileManager.default.fileExists(atPath: former))
    }
  }

  @Test func invalidFilesNamePositionAndRemedy() throws {
    func problem(_ path: String) -> String {
      do {
        _ = try RegionFile(path)
        return "accepted"
      } catch {
        return error.description
      }
    }
    let missing = folder.path + "/missing.geojson"
    #expect(problem(missing).hasPrefix("\(missing): cannot be read: No such file"))
    #expect(problem(missing).contains("regions.path"))
    let broken = try file("broken.geojson", "{\n\"type\": oops}")
    #expect(problem(broken).hasPrefix("\(broken): not a GeoJSON FeatureCollection: line 2"))
    let other = try file("other.geojson", #"{"type":"Feature"}"#)
    #expect(problem(other).contains("must be \"FeatureCollection\""))

    let path = try file("regions.geojson", geojson)
    let findings = RegionFile.findings(AgentConfiguration.Regions(path: path, statePath: ""))
    #expect(findings.map(\.severity) == [.ok, .warning])
    #expect(findings[1].message.hasPrefix("\(path): feature 2 (\"broken\"): ring 0 has fewer than three"))
    #expect(
      RegionFile.findings(AgentConfiguration.Regions(path: missing, statePath: "")).map(\.severity) == [
        .problem
      ])
    #expect(RegionFile.findings(AgentConfiguration.Regions(path: nil, statePath: "")).isEmpty)
  }
}
