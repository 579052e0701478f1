import Foundation
import JSON
import Logging
import Motion
import Navigation
import Pipeline
import Platform
import Sensors
import Simulation
import Spatial
import StoreAndForward
import Telemetry
import TestSupport
import Testing

@testable import AgentCore

/// The agent's state in the message store.
@Suite struct StateDocumentTests {
  private static let start = UTCTime(nanoseconds: 1_795_248_000_000_000_000)
  private static let log = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
  private let directory: TemporaryDirectory
  private let path: String

  init() throws {
    directory = try TemporaryDirectory()
    path = directory.file("outbox.sqlite")
  }

  private func store() throws -> StateStore { StateStore(path: path, outbox: try Outbox(path: path)) }

  private func document(_ store: StateStore, path: String? = nil) -> StateDocument {
    StateDocument("thing", path: path ?? directory.file("thing"), store: store, log: Self.log)
  }

  private func load(_ document: StateDocument) -> String? {
    document.load(now: Self.start) { text throws(StateDocument.Failure) in
      guard text != "damaged" else { throw StateDocument.Failure(description: text) }
      return text
    }
  }

  private func text(_ path: String) -> String? { try? String(contentsOfFile: path, encoding: .utf8) }

  private func names() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted()
  }

  @Test func fileOfAnEarlierVersionReplacesTheDocumentOnce() throws {
    try directory.write("thing", "first")
    do {
      let store = try store()
      #expect(load(document(store)) == "first")
      #expect(text(directory.file("thing")) == nil)
      var document = document(store)
      let isSaved = document.save("second")
      #expect(isSaved && load(document) == "second")
    }
    // An earlier version was run again and has written its file.
    #expect(try load(document(store())) == "second")
    try directory.write("thing", "third")
    #expect(try load(document(store())) == "third")
    // A damaged file does not replace the document.
    try directory.write("thing", "damaged")
    #expect(try load(document(store())) == "third")
    let aside = try #require(names().first { $0.hasPrefix("thing.damaged-") })
    #expect(text(directory.file(aside)) == "damaged")
    try document(store()).write(nil)
    #expect(try load(document(store())) == nil)
  }

  /// The file could not be deleted because the disk was read-only. It does not replace newer state.
  @Test func fileThatStayedDoesNotReplaceNewerState() throws {
    var document = document(try store())
    try directory.write("thing", "first")
    let isSaved = document.save("second")
    #expect(isSaved && text(directory.file("thing")) == nil && load(document) == "second")
    try directory.write("thing", "first")
    let prepared = document.prepare("third")
    #expect(prepared.isSaved && text(directory.file("thing")) == nil && load(document) == "third")
  }

  /// The store was moved, or the state path was set to another folder.
  @Test func documentOfTheStoreIsMovedToTheFile() throws {
    let (store, other) = (try store(), try TemporaryDirectory())
    store.outbox?.preserve(PreservedDocument(name: "thing", bytes: Array("value".utf8)))
    #expect(load(document(store, path: other.file("thing"))) == "value")
    #expect(text(other.file("thing")) == "value" && store.outbox?.document(named: "thing") == nil)
    #expect(load(document(store, path: other.file("thing"))) == "value")
  }

  @Test func damagedDocumentIsSetAside() throws {
    let store = try store()
    var document = document(store)
    _ = document.save("damaged")
    #expect(load(document) == nil)
    let aside = try #require(names().first { $0.hasPrefix("thing.damaged-") })
    #expect(text(directory.file(aside)) == "damaged")
    #expect(store.outbox?.document(named: "thing") == nil)
    let isSaved = document.save("new")
    #expect(isSaved && load(document) == "new")
  }

  @Test func documentOfAnotherFolderIsAFile() throws {
    let other = try TemporaryDirectory()
    let store = try store()
    var document = document(store, path: other.file("thing"))
    let isSaved = document.save("value")
    #expect(isSaved && load(document) == "value" && text(other.file("thing")) == "value")
    #expect(store.outbox?.document(named: "thing") == nil)
    let prepared = document.prepare("next")
    #expect(prepared.document == nil && prepared.isSaved && text(other.file("thing")) == "next")
  }

  /// The service may have the store open as another user.
  @Test func agentThatPrintsReadsAndChangesNothing() throws {
    let service = try store()
    _ = service.outbox?.preserve(PreservedDocument(name: "thing", bytes: Array("stored".utf8)))
    let before = try names()
    var document = document(StateStore(path: path, outbox: nil))
    #expect(load(document) == "stored")
    let isSaved = document.save("printed")
    #expect(isSaved && load(document) == "stored")
    #expect(try names() == before)
    #expect(load(self.document(service)) == "stored")
    _ = service.outbox?.preserve(PreservedDocument(name: "thing", bytes: Array("damaged".utf8)))
    #expect(load(self.document(StateStore(path: path, outbox: nil))) == nil)
    #expect(try names() == before)
  }

  @Test func unwritableStoreHoldsTheStateInMemory() throws {
    let store = StateStore(
      path: "/proc/none/outbox.sqlite", outbox: try Outbox(path: "/proc/none/outbox.sqlite"))
    var document = document(store, path: "/proc/none/thing")
    let isSaved = document.save("value")
    #expect(!isSaved && load(document) == "value")
    // State that was reported as refused is not stored later.
    #expect(throws: StateDocument.Failure.self) { try document.write(Array("next".utf8), isHeld: false) }
    #expect(load(document) == "value")
  }

  /// Files in the format of earlier versions.
  @Test func folderOfAnEarlierVersionContinues() throws {
    let odometer = OdometerState(distance: 5000, estimated: 10, offset: 80_000_000)
    var recorder = TripRecorder(TripState(series: 77))
    recorder.set(driver: "ann")
    let trips = recorder.state
    var calibration = MotionCalibration()
    calibration.made = Self.start
    var settings = RemoteMemory()
    settings.settings.version = "5"
    settings.newestVersion = "5"
    try directory.write("outbox.sqlite.odometer", odometer.text)
    try directory.write("outbox.sqlite.trips", trips.text)
    try directory.write("calibration", calibration.text)
    let remote = directory.file("remote")
    try FileManager.default.createDirectory(atPath: remote, withIntermediateDirectories: false)
    try directory.write("remote/settings.json", String(decoding: settings.encoded, as: UTF8.self))
    let regions =
      #"{"type":"FeatureCollection","version":"9","features":[{"type":"Feature","id":"yard","geometry":"#
      + #"{"type":"Point","coordinates":[11,48]},"properties":{"radius":100}}]}"#
    try directory.write("remote/regions.geojson", regions)
    for _ in 0..<2 {
      let store = try store()
      var odometers = OdometerStore(
        path: directory.file("outbox.sqlite.odometer"), memory: nil, store: store, log: Self.log)
      #expect(odometers.load(now: Self.start) == odometer)
      let tripStore = TripStore(path: directory.file("outbox.sqlite.trips"), store: store, log: Self.log)
      #expect(tripStore.load(now: Self.start).text == trips.text)
      var calibrations = CalibrationStore(path: directory.file("calibration"), store: store, log: Self.log)
      #expect(calibrations.load(now: Self.start) == calibration)
      let folder = RemoteFolder(path: remote, store: store, log: Self.log)
      #expect(folder.memory(now: Self.start) == settings)
      #expect(folder.regions(now: Self.start)?.version == "9")
      let former = ["outbox.sqlite.odometer", "outbox.sqlite.trips", "calibration"]
      #expect(try names().filter(former.contains).isEmpty)
      #expect(try FileManager.default.contentsOfDirectory(atPath: remote).isEmpty)
    }
    let folder = RemoteFolder(path: remote, store: try store(), log: Self.log)
    try folder.save(regions: nil)
    #expect(folder.regions(now: Self.start) == nil)
  }
}

/// The agent is killed before or after the commit of trips and their messages. No trip is duplicated or lost.
extension StateDocumentTests {
  private struct Run: ~Copyable {
    var pipeline: AgentPipeline
    var memory: MotionMemory

    init(_ store: StateStore, in folder: TemporaryDirectory, at second: Int) throws {
      let configuration = try AgentConfiguration(settings: ["vehicle.id=v", "input.mode=simulation"])
      var odometer = OdometerStore(
        path: folder.file("odometer"), memory: nil, store: store, log: StateDocumentTests.log)
      let trips = TripStore(path: folder.file("trips"), store: store, log: StateDocumentTests.log)
      let now = StateDocumentTests.start.advanced(bySeconds: Double(second))
      let (metres, journal) = (odometer.load(now: now), trips.load(now: now))
      var plan = MotionMemory.Plan()
      (plan.odometer, plan.trips) = (odometer, trips)
      memory = try MotionMemory(plan, log: StateDocumentTests.log)
      pipeline = AgentPipeline(
        configuration: configuration.pipeline, start: Timestamp(seconds: Double(second)), time: now,
        version: "1", odometer: metres, trips: journal)
    }
  }

  @Test func killNeitherRepeatsNorLosesTrips() throws {
    var random = SeededGenerator.announced()
    var path = directory.file("0.sqlite")
    var outbox = try Outbox(path: path)
    var run = try Run(StateStore(path: path, outbox: outbox), in: directory, at: 0)
    let topics = try TopicScheme(fleet: "f", vehicle: "v")
    var formats = MessageFormats(topics: topics, isNative: true)
    var (way, kills) = (0.0, 0)
    for second in 1...2400 {
      let speed = second % 800 < 400 ? 8 + 4 * sin(Double(second) / 30) : 0
      way += speed
      let timestamp = Timestamp(seconds: Double(second))
      var fix = PositionFix(
        timestamp: timestamp, time: Self.start.advanced(bySeconds: Double(second)), mode: .threeDimensional,
        coordinate: Coordinate(latitude: 48, longitude: 11).destination(distance: way, bearing: 0))
      (fix.speed, fix.course, fix.horizontalError) = (speed, 0, 2)
      var messages: [VehicleMessage] = []
      run.pipeline.process(.position([fix])) { if case .trip = $0 { messages.append($0) } }
      run.memory.keepOdometer(&run.pipeline, at: timestamp)
      let state = run.memory.keepTrips(&run.pipeline, with: messages, at: timestamp)
      let publications = messages.flatMap { formats.encode($0) }
      let dies = random.nextUniform() < (messages.isEmpty ? 0.01 : 0.5)
      let isLost = dies && random.nextUniform() < 0.5
      if !isLost { outbox.append(publications, preserving: [state].compactMap { $0 }) }
      guard dies else { continue }
      kills += 1
      let next = directory.file("\(kills).sqlite")
      for suffix in ["", "-wal", ".recent"] where FileManager.default.fileExists(atPath: path + suffix) {
        try FileManager.default.copyItem(atPath: path + suffix, toPath: next + suffix)
      }
      path = next
      outbox = try Outbox(path: path)
      run = try Run(StateStore(path: path, outbox: outbox), in: directory, at: second)
    }
    let trips = outbox.next(limit: 10_000).compactMap { record in
      try? TripMessage(json: JSONValue(parsing: record.payload))
    }
    print("\(kills) kills, \(trips.count) messages")
    let names = trips.map { "\($0.trip.series) \($0.trip.number) \($0.revision)" }
    #expect(Set(names).count == names.count, "\(names)")
    #expect(trips.filter { $0.phase == .ended }.map(\.trip.number) == [1, 2, 3])
    #expect(Set(trips.map(\.trip.series)).count == 1)
    // The sum of the trip distances equals the distance driven, within 10 m per kill.
    let sum = trips.filter { $0.phase == .ended }.reduce(0) { $0 + $1.distance }
    #expect(abs(sum - way) < 10 * Double(kills), "\(sum) of \(way)")
  }
}
