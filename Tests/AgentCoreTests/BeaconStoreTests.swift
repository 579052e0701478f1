import AgentCore
import Foundation
import Glibc
import Logging
import Positioning
import SQLite
import Sensors
import Spatial
import TestSupport
import Testing

/// The vehicle's beacon map: size, disk access, eviction, and damaged files.
@Suite struct BeaconStoreTests {
  private static let day = 20_780
  private static let place = Coordinate(latitude: 48.137431, longitude: 11.575490)

  private let directory: TemporaryDirectory
  private let path: String
  private let recorder = LogRecorder()

  init() throws {
    directory = try TemporaryDirectory()
    path = directory.file("beacons.sqlite")
  }

  private func store(limit: Int = 20_000, forgetAfter: Int = 180) -> BeaconStore {
    BeaconStore(
      path: path, limit: limit, forgetAfter: forgetAfter,
      log: Logger(label: "test") { [recorder] _ in RecordingLogHandler(recorder) })
  }

  private static func beacon(_ number: Int) -> Beacon? {
    // Consecutive addresses of one manufacturer, as in a street.
    Beacon(accessPoint: 0x0012_3400_0000 + UInt64(number))
  }

  private static func scan(_ numbers: some Sequence<Int>) -> RadioScan {
    RadioScan(
      timestamp: Timestamp(nanoseconds: 0),
      sightings: numbers.compactMap { number in
        beacon(number).map { BeaconSighting(beacon: $0, signal: -60 - Double(number % 20)) }
      })
  }

  private func learn(
    _ numbers: some Sequence<Int>, in store: BeaconStore, at place: Coordinate = place, day: Int = day
  ) {
    store.learn(Self.scan(numbers), at: place, accuracy: 5, day: day)
  }

  /// Advances the store by one write interval per turn.
  private func write(_ store: BeaconStore, turn: Double, day: Int? = day, zones: [PrivacyPolicy.Zone] = []) {
    store.advance(to: Timestamp(seconds: BeaconStore.pace * turn), day: day, zones: zones)
  }

  private var size: Int {
    ["", "-journal"].reduce(0) { sum, suffix in
      var status = stat()
      return stat(path + suffix, &status) == 0 ? sum + Int(status.st_size) : sum
    }
  }

  private func known(_ numbers: some Sequence<Int>, _ store: BeaconStore) -> [MappedBeacon] {
    store.lookUp(numbers.compactMap(Self.beacon))
  }

  @Test func storeOf20000IsBelowAMegabyteAndAScanNeeds20Reads() throws {
    let store = store()
    write(store, turn: 0)
    for start in stride(from: 0, to: 20_000, by: 100) {
      learn(start..<start + 100, in: store)
      write(store, turn: Double(start / 100 + 1))
    }
    #expect(store.work?.beacons == 20_000)
    #expect(size <= 950_000, "\(size) bytes")
    let before = try #require(store.work)
    #expect(known((0..<20).map { 997 * $0 }, store).count == 20)
    let after = try #require(store.work)
    #expect(after.reads - before.reads == 20 && after.writes == before.writes)
    // Ten scans within an interval cause one write of at most one row per beacon.
    for start in 0..<10 { learn(start * 20..<start * 20 + 20, in: store) }
    #expect(store.work?.writes == after.writes)
    write(store, turn: 300)
    #expect(try #require(store.work).writes - after.writes <= 200)
    let scan = (0..<20).compactMap { Self.beacon(997 * $0) }
    let clock = ContinuousClock()
    let time = clock.measure { for _ in 0..<100 { _ = store.lookUp(scan) } } / 100
    print("a look-up of twenty in it: \(time)")
    print("a map of 20,000 beacons: \(size) bytes")
  }

  @Test func learnedDataSurvivesARestart() throws {
    let first = store()
    learn(0..<20, in: first)
    #expect(known(0..<25, first).count == 20)
    #expect(!FileManager.default.fileExists(atPath: path))
    first.close()
    let second = store()
    let found = known(0..<25, second)
    #expect(found.count == 20)
    #expect(found.allSatisfy { $0.coordinate.distance(to: Self.place) < 0.1 && $0.lastSeen == Self.day })
    // Learning continues from the stored evidence.
    learn(0..<20, in: second, day: Self.day + 1)
    #expect(known(0..<20, second).allSatisfy { $0.sightings == 2 && $0.lastSeen == Self.day + 1 })
  }

  @Test func lookupCreatesNoFile() {
    let store = store()
    #expect(known(0..<20, store).isEmpty && store.versions().isEmpty)
    write(store, turn: 0)
    write(store, turn: 2)
    store.close()
    #expect(!FileManager.default.fileExists(atPath: path))
  }

  @Test func rareAndOldBeaconsAreReplaced() throws {
    let store = store(limit: 1000)
    write(store, turn: 0)
    // Beacons seen every day for ten days, and others seen once, long ago or today.
    for day in 0..<10 { learn(0..<100, in: store, day: Self.day - 10 + day) }
    write(store, turn: 1)
    for start in stride(from: 1000, to: 2200, by: 100) {
      learn(start..<start + 100, in: store, day: start < 1300 ? Self.day - 60 : Self.day)
      write(store, turn: Double(start))
    }
    let count = try #require(store.work).beacons
    #expect(count <= 1000 && count >= 900)
    #expect(known(0..<100, store).count == 100)
    #expect(known(1000..<1300, store).count <= 10)
    #expect(known(2100..<2200, store).count >= 90)
  }

  @Test func beaconsUnseenForLongAreRemoved() throws {
    let store = store(forgetAfter: 30)
    write(store, turn: 0)
    learn(0..<100, in: store, day: Self.day - 40)
    learn(100..<200, in: store, day: Self.day - 20)
    write(store, turn: 1)
    #expect(known(0..<200, store).count == 100)
    // Removal runs once a day, even without new scans.
    write(store, turn: 2, day: Self.day + 15)
    #expect(known(0..<200, store).isEmpty && store.work?.beacons == 0)
  }

  @Test func newZoneRemovesBeaconsInside() throws {
    let home = Coordinate(latitude: 48.2, longitude: 11.6)
    let first = store()
    write(first, turn: 0)
    learn(0..<20, in: first, at: home)
    learn(20..<40, in: first)
    first.close()
    let zone = PrivacyPolicy.Zone(area: .circle(try #require(Circle(center: home, radius: 300))))
    let second = store()
    learn(0..<20, in: second, at: home)
    write(second, turn: 0, zones: [zone])
    #expect(known(0..<40, second).count == 20)
    second.close()
    // The file contains no trace of the removed beacons.
    let bytes = try Data(contentsOf: URL(filePath: path))
    for number in 0..<20 {
      let identity = withUnsafeBytes(of: try #require(Self.beacon(number)).rawValue.littleEndian) { Data($0) }
      #expect(bytes.range(of: identity) == nil)
    }
    #expect(recorder.lines.contains { $0.contains("beacons in privacy zones forgotten") })
  }

  @Test func ownBeaconsPrecedeThoseOfTheFleet() throws {
    let store = store()
    write(store, turn: 0)
    learn(0..<10, in: store)
    let far = Coordinate(latitude: -33.9, longitude: 18.4)
    func told(_ place: Coordinate) -> [MappedBeacon] {
      (0..<20).compactMap(Self.beacon).map {
        MappedBeacon(beacon: $0, coordinate: place, reach: 1, sightings: 30_000, lastSeen: 65_000)
      }
    }
    store.accept(told(far))
    for beacon in known(0..<10, store) { #expect(beacon.coordinate.distance(to: Self.place) < 1) }
    #expect(known(10..<20, store).count == 10)
    for beacon in known(10..<20, store) {
      #expect(beacon.coordinate.distance(to: far) < 1 && beacon.lastSeen == Self.day)
    }
    // A newer position from the fleet replaces an older one. A privacy zone does not remove positions from the fleet.
    store.accept(told(Self.place))
    let zone = PrivacyPolicy.Zone(
      area: .circle(try #require(Circle(center: Self.place, radius: 300))))
    write(store, turn: 1, zones: [zone])
    #expect(known(0..<10, store).isEmpty)
    for beacon in known(10..<20, store) { #expect(beacon.coordinate.distance(to: Self.place) < 1) }
    // Invalid positions from the fleet are rejected.
    var wrong = told(Self.place)
    for index in wrong.indices { wrong[index].coordinate.latitude = .nan }
    store.accept(wrong)
    #expect(known(10..<20, store).count == 10)
  }

  private func told(_ numbers: Range<Int>, sightings: Int = 4, at place: Coordinate = place) -> [MappedBeacon]
  {
    numbers.compactMap(Self.beacon).map {
      MappedBeacon(beacon: $0, coordinate: place, reach: 90, sightings: sightings, lastSeen: Self.day)
    }
  }

  /// Eight pieces are written together with learned beacons, one write per row. They are used before they are written.
  @Test func piecesAreWrittenInOrder() throws {
    let store = store()
    write(store, turn: 0)
    learn(0..<100, in: store)
    write(store, turn: 1)
    let before = try #require(store.work)
    for part in 0..<8 { store.accept(told(part * 2000..<part * 2000 + 2000)) }
    store.setVersion("0123456789abcdef", of: "u281")
    #expect(store.work?.writes == before.writes && store.versions() == ["u281": "0123456789abcdef"])
    #expect(known(0..<16_000, store).count == 16_000)
    #expect(known(0..<100, store).allSatisfy { $0.sightings == 1 }, "own observations have precedence")
    write(store, turn: 1.5)
    #expect(store.work?.writes == before.writes)
    write(store, turn: 2)
    let after = try #require(store.work)
    #expect(after.writes - before.writes <= Int(BeaconFile.bucketCount) && after.beacons == 16_000)
    #expect(known(0..<100, store).allSatisfy { $0.sightings == 1 })
    #expect(store.drainLost().isEmpty && store.versions() == ["u281": "0123456789abcdef"])
    // More pieces are written immediately to limit memory.
    for part in 0..<9 { store.accept(told(part * 100..<part * 100 + 100, sightings: 9)) }
    #expect(try #require(store.work).writes > after.writes)
    store.close()
    #expect(self.store().versions() == ["u281": "0123456789abcdef"])
  }

  /// A map that exceeds the limit is marked as incomplete.
  @Test func evictedCellsAreIncomplete() throws {
    let store = store(limit: 1000)
    write(store, turn: 0)
    store.accept(told(0..<800))
    store.setVersion("0123456789abcdef", of: "u281")
    write(store, turn: 1)
    #expect(store.versions().count == 1 && store.drainLost().isEmpty)
    store.accept(told(800..<1600, sightings: 200, at: Coordinate(latitude: 37.8, longitude: -122.4)))
    store.setVersion("1123456789abcdef", of: "9q8y")
    write(store, turn: 2)
    #expect(store.drainLost() == ["u281"] && store.drainLost().isEmpty)
    #expect(store.versions() == ["9q8y": "1123456789abcdef", "u281": "-0123456789abcdef"])
  }

  /// Own observations replace positions of services with a single sighting.
  @Test func singleSightingIsReplacedByOwnObservation() throws {
    let store = store()
    write(store, turn: 0)
    let off = Coordinate(latitude: Self.place.latitude + 0.003, longitude: Self.place.longitude)
    store.accept(told(0..<10, sightings: 1, at: off) + told(10..<20, sightings: 50, at: off))
    write(store, turn: 1)
    learn(0..<20, in: store)
    for beacon in known(0..<10, store) { #expect(beacon.coordinate.distance(to: Self.place) < 1) }
    for beacon in known(10..<20, store) { #expect(beacon.coordinate.distance(to: Self.place) > 100) }
  }

  @Test func optedOutBeaconsAreRemovedPermanently() throws {
    let store = store()
    write(store, turn: 0)
    learn(0..<10, in: store)
    write(store, turn: 1)
    store.accept(told(10..<20))
    store.drop((5..<15).compactMap(Self.beacon) + [try #require(Beacon(accessPoint: 77))])
    #expect(known(0..<20, store).count == 10)
    store.close()
    #expect(
      known(0..<20, self.store()).map(\.beacon).sorted()
        == ((0..<5).map { $0 } + (15..<20)).compactMap(Self.beacon))
  }

  /// A new zone also removes beacons with a second position inside, and deletes damaged files, which cannot be
  /// searched.
  @Test func newZoneRemovesOtherPositionsAndDamagedEntries() throws {
    let home = Coordinate(latitude: 48.2, longitude: 11.6)
    let first = store()
    learn(0..<20, in: first)
    learn(0..<10, in: first, at: home)
    first.close()
    let aside = try directory.write(
      "beacons.sqlite.damaged-2026-11-01T00-00-00.000Z", "what was learned at home")
    let other = try directory.write("other.sqlite.damaged-2026", "another's")
    let second = store()
    write(second, turn: 0)
    #expect(FileManager.default.fileExists(atPath: aside))
    write(second, turn: 0.1, zones: [.init(area: .circle(try #require(Circle(center: home, radius: 300))))])
    #expect(known(0..<20, second).count == 10)
    #expect(!FileManager.default.fileExists(atPath: aside) && FileManager.default.fileExists(atPath: other))
    #expect(recorder.lines.contains { $0.contains("damaged maps of beacons deleted") })
  }

  @Test func cellVersionsAreStored() {
    let first = store()
    write(first, turn: 0)
    first.setVersion("0123456789abcdef", of: "u281")
    first.close()
    #expect(store().versions() == ["u281": "0123456789abcdef"])
  }

  /// A scan of a million beacons, and a thousand addresses with the same row of the file.
  @Test func hugeScansAreBounded() throws {
    let store = store(limit: 1000)
    write(store, turn: 0)
    learn(0..<1_000_000, in: store)
    write(store, turn: 1)
    #expect(store.work?.beacons == 128)
    var crowd: [Int] = []
    var number = 0
    while crowd.count < 1000 {
      number += 1
      let address = 0x1000_0012_3400_0000 as UInt64 + UInt64(number)
      if (address &* 0x9e37_79b9_7f4a_7c15) >> 53 == 7 { crowd.append(number) }
    }
    for start in stride(from: 0, to: 1000, by: 100) {
      learn(crowd[start..<start + 100], in: store)
      write(store, turn: Double(start + 2))
    }
    #expect(try #require(store.work).beacons <= 128 + 65)
  }

  enum Damage: CaseIterable { case header, page, row, text }

  @Test(arguments: Damage.allCases) func damagedFileIsSetAsideAndReplaced(damage: Damage) throws {
    let first = store()
    write(first, turn: 0)
    learn(0..<128, in: first)
    first.close()
    var bytes = [UInt8](try Data(contentsOf: URL(filePath: path)))
    let identity = withUnsafeBytes(of: try #require(Self.beacon(5)).rawValue.littleEndian) { [UInt8]($0) }
    let entry = try #require(
      bytes.indices.dropLast(8).first { Array(bytes[$0..<$0 + 8]) == identity })
    switch damage {
    case .header: for index in 0..<100 { bytes[index] = 0x55 }
    // Overwrites the page except its type.
    case .page: for index in entry / 4096 * 4096 + 1..<entry / 4096 * 4096 + 4096 { bytes[index] = 0xaa }
    // A flipped bit in a position, which SQLite does not detect.
    case .row: bytes[entry + 10] ^= 0x10
    case .text: bytes = Array("not a database".utf8) + bytes
    }
    try Data(bytes).write(to: URL(filePath: path))
    let second = store()
    #expect(known(0..<128, second).isEmpty)
    learn(0..<10, in: second)
    second.close()
    #expect(known(0..<128, store()).count == 10)
    let names = try FileManager.default.contentsOfDirectory(atPath: directory.path)
    #expect(names.count { $0.hasPrefix("beacons.sqlite.damaged-") } == 1)
    #expect(recorder.lines.count { $0.contains("set aside") } == 1)
  }

  @Test func unwritableDiskIsReportedOnceAndRetried() throws {
    let folder = directory.file("missing")
    let store = BeaconStore(
      path: folder + "/beacons.sqlite",
      log: Logger(label: "test") { [recorder] _ in RecordingLogHandler(recorder) })
    write(store, turn: 0)
    for turn in 1...100 {
      learn(turn * 100..<turn * 100 + 100, in: store)
      write(store, turn: Double(turn))
    }
    #expect(recorder.lines.count { $0.contains("beacons not stored") } == 1)
    // Pending beacons are limited in number, but used.
    #expect(known(100..<10_200, store).count == 4096)
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    write(store, turn: 102)
    #expect(store.work?.beacons == 4096)
  }
}

/// Collects log messages.
final class LogRecorder: @unchecked Sendable {
  private let lock = NSLock()
  private var kept: [String] = []

  var lines: [String] { lock.withLock { kept } }

  func append(_ line: String) { lock.withLock { kept.append(line) } }
}

struct RecordingLogHandler: LogHandler {
  let recorder: LogRecorder
  var logLevel = Logger.Level.trace
  var metadata: Logger.Metadata = [:]

  init(_ recorder: LogRecorder) { self.recorder = recorder }

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) { recorder.append("\(event.message) \(event.metadata ?? [:])") }
}
