import Foundation
import JSON
import LiveSensors
import Pipeline
import Platform
import Positioning
import Sensors
import Spatial
import StoreAndForward
import Telemetry
import TestSupport
import Testing

@testable import AgentCore

/// The agent is killed at any step of the processing of a region event. No event is duplicated or lost.
@Suite struct RegionKillTests {
  private static let start = UTCTime(nanoseconds: 1_795_248_000_000_000_000)
  private let directory: TemporaryDirectory
  private let log = AgentLog.make(level: "error")

  init() throws { directory = try TemporaryDirectory() }

  /// Two regions on a drive to the north. The vehicle is inside from 200 to 500 m and from 740 to 860 m.
  private func regions() throws -> RegionCollection {
    let text = #"""
      {"type":"FeatureCollection","features":[
       {"type":"Feature","id":"yard","properties":{"dwell":10},"geometry":{"type":"Polygon","coordinates":
        [[[10.99,48.0018],[11.01,48.0018],[11.01,48.0045],[10.99,48.0045],[10.99,48.0018]]]}},
       {"type":"Feature","id":"gate","properties":{"radius":60},"geometry":{"type":"Point","coordinates":[11,48.0072]}}]}
      """#
    return try RegionCollection(json: JSONValue(parsing: Array(text.utf8)))
  }

  private func pipeline(at second: Int) throws -> AgentPipeline {
    let configuration = try AgentConfiguration(settings: ["vehicle.id=v", "input.mode=simulation"])
    let seconds = Double(second)
    var pipeline = AgentPipeline(
      configuration: configuration.pipeline, start: Timestamp(seconds: seconds),
      time: Self.start.advanced(bySeconds: seconds), version: "1")
    _ = try regions().watch(in: &pipeline.regions)
    return pipeline
  }

  private func fix(_ second: Int) -> SensorEvent {
    var fix = PositionFix(
      timestamp: Timestamp(seconds: Double(second)), time: Self.start.advanced(bySeconds: Double(second)),
      mode: .threeDimensional,
      coordinate: Coordinate(latitude: 48, longitude: 11)
        .destination(distance: 10 * Double(second), bearing: 0))
    (fix.speed, fix.course, fix.horizontalError) = (10, 0, 5)
    return .position([fix])
  }

  /// Step in the processing of a fix at which the process is killed.
  private enum Moment: CaseIterable {
    /// The event is decided, but not stored.
    case beforeTheStore
    case afterTheStore
  }

  /// Drives for 100 s with one kill. Returns all stored events as `event region`, in order.
  private func drive(killedAfter second: Int, _ moment: Moment) throws -> [String] {
    let name = "\(second)-\(moment)"
    var path = directory.file("\(name).sqlite")
    var outbox = try Outbox(path: path)
    var pipeline = try pipeline(at: 0)
    var states = RegionStates(path: directory.file("none"), log: log)
    for now in 0...100 {
      var messages: [VehicleMessage] = []
      pipeline.process(fix(now)) { messages.append($0) }
      let told = messages.filter { $0.kind == .region }.compactMap(publication)
      let dies = now == second
      if !(dies && moment == .beforeTheStore) {
        let change = states.change(of: pipeline.regions)
        // Each event is caused by a change of state.
        #expect(change != nil || told.isEmpty)
        outbox.append(told, preserving: [change].compactMap { $0 })
      }
      guard dies else { continue }
      let next = directory.file("\(name)-next.sqlite")
      try Self.copyAsAfterAKill(path, to: next)
      path = next
      outbox = try Outbox(path: path)
      pipeline = try self.pipeline(at: now)
      states = RegionStates(path: directory.file("none"), log: log)
      states.restore(&pipeline.regions, from: outbox)
    }
    return outbox.next(limit: 100).compactMap { record in
      (try? RegionMessage(json: JSONValue(parsing: record.payload))).map { "\($0.event) \($0.region)" }
    }
  }

  private func publication(_ message: VehicleMessage) -> Publication? {
    guard let topics = try? TopicScheme(fleet: "f", vehicle: "v") else { return nil }
    var formats = MessageFormats(topics: topics, isNative: true)
    return formats.encode(message).first
  }

  /// Copies the files as left by a killed process. The outbox treats the copy as a restored backup and starts a
  /// new epoch.
  private static func copyAsAfterAKill(_ path: String, to next: String) throws {
    for suffix in ["", "-wal", ".recent"] where FileManager.default.fileExists(atPath: path + suffix) {
      try FileManager.default.copyItem(atPath: path + suffix, toPath: next + suffix)
    }
  }

  /// Kills the agent at each second around an event, at each step.
  @Test(arguments: [19, 20, 21, 22, 29, 30, 31, 49, 50, 51, 52, 53, 73, 74, 75, 76, 85, 86, 87, 88, 89])
  func killNeitherRepeatsNorLosesEvents(second: Int) throws {
    for moment in Moment.allCases {
      let told = try drive(killedAfter: second, moment)
      // A dwell continues in civil time. Each event is published once, and late if it was not observed.
      #expect(
        told.sorted() == ["dwell yard", "enter gate", "enter yard", "exit gate", "exit yard"],
        "killed at \(second) s, \(moment)")
    }
  }

  /// A region that was removed and added again after a restart is a new one without an earlier state.
  @Test func statesOfRemovedRegionsAreDeleted() throws {
    let regions = try { () throws in
      var pipeline = try pipeline(at: 0)
      for now in 0...30 { pipeline.process(fix(now)) { _ in } }
      return pipeline.regions
    }()
    #expect(!regions.inside.isEmpty)
    let file = RegionStates(path: directory.file("none"), log: log)
    #expect(file.change(of: RegionMonitor()) == nil)
    let before = try #require(file.change(of: regions))
    #expect(file.change(of: regions) == nil)
    var none = regions
    none.replaceAll([])
    let after = try #require(file.change(of: none))
    let store = try Outbox(path: directory.file("outbox.sqlite"))
    store.preserve(after)
    var next = try pipeline(at: 31).regions
    RegionStates(path: directory.file("none"), log: log).restore(&next, from: store)
    #expect(next.inside.isEmpty)
    store.preserve(before)
    var kept = try pipeline(at: 31).regions
    RegionStates(path: directory.file("none"), log: log).restore(&kept, from: store)
    #expect(kept.inside == regions.inside)
  }

  /// The loop stores the states together with the messages that they cause.
  @Test func statesAreStoredWithTheirEvents() throws {
    let recorder = RecordingDelivery()
    let feed = try SensorFeed(simulation())
    let (start, time) = try feed.startOfTime(simulation().sensorInput)
    var pipeline = AgentPipeline(
      configuration: try simulation().pipeline, start: start, time: time, version: "1")
    _ = try onTheWay().watch(in: &pipeline.regions)
    var services = AgentLoop.Services()
    services.regionStates = RegionStates(path: directory.file("none"), log: log)
    var loop = try AgentLoop(
      pipeline: pipeline, sensors: feed, inbox: AgentInbox(), delivery: recorder, services: services,
      log: log)
    try loop.run()
    let calls = recorder.calls.withLock { $0 }
    let crossings = calls.filter { $0.messages.contains { $0.kind == .region } }
    #expect(crossings.count >= 2)
    for call in crossings {
      // The stored states are those after the event.
      var monitor = RegionMonitor()
      _ = try onTheWay().watch(in: &monitor)
      try monitor.restore(#require(call.states.first).bytes)
      guard case .region(let event)? = call.messages.last(where: { $0.kind == .region }) else { continue }
      #expect(monitor.state(of: event.region) == (event.event == .exit ? .outside : .inside))
    }
  }

  private func simulation() throws -> AgentConfiguration {
    try AgentConfiguration(settings: [
      "vehicle.id=v", "input.mode=simulation", "input.speed=0", "simulation.duration=300",
      "simulation.start=2026-11-21T08:00:00Z",
    ])
  }

  /// Returns a circle around a position on the simulated route.
  private func onTheWay() throws -> RegionCollection {
    let recorder = RecordingDelivery()
    let feed = try SensorFeed(simulation())
    let (start, time) = try feed.startOfTime(simulation().sensorInput)
    var loop = try AgentLoop(
      pipeline: AgentPipeline(
        configuration: simulation().pipeline, start: start, time: time, version: "1"), sensors: feed,
      inbox: AgentInbox(), delivery: recorder, log: log)
    try loop.run()
    let places = recorder.calls.withLock { $0 }.flatMap(\.messages).compactMap { message in
      if case .location(let location) = message { location.location.coordinate } else { nil }
    }
    let middle = try #require(places.dropFirst(places.count / 2).first)
    let feature =
      #"{"type":"Feature","id":"way","properties":{"radius":80},"geometry":"#
      + #"{"type":"Point","coordinates":[\#(middle.longitude),\#(middle.latitude)]}}"#
    return try RegionCollection(
      json: JSONValue(parsing: Array(#"{"type":"FeatureCollection","features":[\#(feature)]}"#.utf8)))
  }
}

/// Collects messages and documents.
private final class RecordingDelivery: MessageDelivery {
  let calls = Locked<[(messages: [VehicleMessage], states: [PreservedDocument])]>([])

  func accept(_ messages: [VehicleMessage], preserving documents: [PreservedDocument]) throws {
    calls.withLock { $0.append((messages, documents)) }
  }
  func stop(farewell: () -> VehicleMessage) throws {}
  var counters: [String: Int] { [:] }
}
