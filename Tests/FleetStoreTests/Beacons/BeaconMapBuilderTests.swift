import Fleet
import Sensors
import Spatial
import Telemetry
import TestSupport
import Testing
import VehicleData

@testable import FleetStore

/// The fleet's beacon map from the scans of vehicles, and which scans are trusted.
@Suite struct BeaconMapBuilderTests {
  private static let day = 20_780
  private static let now = UTCTime(nanoseconds: Int64(day) * 86_400_000_000_000 + 36_000_000_000_000)
  private static let town = Coordinate(latitude: 48.137431, longitude: 11.575490)
  private static let elsewhere = Coordinate(latitude: 47.5, longitude: 12.4)

  private func beacon(_ number: Int) throws -> Beacon {
    try #require(Beacon(accessPoint: 0x0012_3400_0000 + UInt64(number)))
  }

  /// Adds scans of beacons by a vehicle, each some metres from `place`.
  private func hear(
    _ numbers: some Sequence<Int>, _ times: Int, by vehicle: String, at place: Coordinate = town,
    in builder: inout BeaconMapBuilder, time: UTCTime = now
  ) throws {
    for turn in 0..<times {
      var spot = place
      spot.latitude += Double(turn % 3 - 1) * 1e-4
      let scan = try #require(
        ScanMessage.Scan(
          time: time.advanced(bySeconds: Double(turn)), coordinate: PrivacyPolicy.unrestricted(spot),
          accuracy: 5,
          sightings: try numbers.map { BeaconSighting(beacon: try beacon($0), signal: -70) }))
      builder.add(
        ScanMessage(scans: [scan]), from: VehicleKey(fleet: "f", vehicle: vehicle), received: Self.now)
    }
  }

  @Test func beaconsHeardTwiceAreOnTheMap() throws {
    var builder = BeaconMapBuilder()
    try hear(0..<5, 4, by: "a", in: &builder)
    try hear(5..<7, 1, by: "a", in: &builder)
    let map = builder.map(.init())
    #expect(map.map(\.place.beacon) == (try (0..<5).map(beacon)))
    for entry in map {
      #expect(entry.place.coordinate.distance(to: Self.town) < 20 && entry.vehicles == 1)
      #expect(entry.place.sightings == 4 && entry.place.lastSeen == Self.day)
    }
    #expect(builder.counts == .init(scans: 5, vehicles: 1, heard: 7, rare: 2))
    #expect(builder.map(.init(vehicles: 2)).isEmpty)
    #expect(builder.map(.init(sightings: 1)).count == 7)
  }

  /// A vehicle with wrong positions in 1000 scans.
  @Test func falseScansOfOneVehicleAreOutvoted() throws {
    var builder = BeaconMapBuilder()
    try hear(0..<5, 1000, by: "liar", at: Self.elsewhere, in: &builder)
    // Without other scans the false positions are accepted, unless two vehicles are required.
    #expect(builder.map(.init()).count == 5 && builder.map(.init(vehicles: 2)).isEmpty)
    // Two vehicles that contradict each other: neither position is accepted.
    try hear(0..<5, 3, by: "a", in: &builder)
    #expect(builder.map(.init()).isEmpty && builder.counts.disputed == 5)
    try hear(0..<5, 3, by: "b", in: &builder)
    let map = builder.map(.init(vehicles: 2))
    #expect(map.count == 5)
    for entry in map {
      #expect(entry.place.coordinate.distance(to: Self.town) < 20 && entry.vehicles == 2)
      #expect(entry.place.sightings == 6)
    }
    // A false position 250 m away is near enough to count, but does not move the median.
    try hear(0..<5, 3, by: "c", in: &builder)
    try hear(0..<5, 1000, by: "near", at: Coordinate(latitude: 48.1394, longitude: 11.5755), in: &builder)
    for entry in builder.map(.init()) { #expect(entry.place.coordinate.distance(to: Self.town) < 30) }
  }

  @Test func movingBeaconsAreNotOnTheMap() throws {
    var builder = BeaconMapBuilder()
    var generator = SplitMix(seed: 1)
    for number in 0..<30 {
      let place = Coordinate(
        latitude: 48 + .random(in: 0...0.5, using: &generator),
        longitude: 11 + .random(in: 0...0.5, using: &generator))
      try hear([0], 1, by: number.isMultiple(of: 2) ? "a" : "b", at: place, in: &builder)
    }
    #expect(builder.map(.init(sightings: 1)).isEmpty && builder.counts.disputed == 1)
  }

  @Test func implausibleTimesAreIgnored() throws {
    var builder = BeaconMapBuilder()
    try hear(0..<5, 4, by: "a", in: &builder, time: Self.now.advanced(bySeconds: 2 * 86_400))
    try hear(0..<5, 4, by: "a", in: &builder, time: Self.now.advanced(bySeconds: -500 * 86_400))
    #expect(builder.map(.init()).isEmpty && builder.counts.misdated == 8)
  }

  @Test func positionsAcrossTheDateLineAreCombined() throws {
    var builder = BeaconMapBuilder()
    try hear([1], 3, by: "a", at: Coordinate(latitude: -16.8, longitude: 179.9995), in: &builder)
    try hear([1], 3, by: "b", at: Coordinate(latitude: -16.8, longitude: -179.9995), in: &builder)
    let place = try #require(builder.map(.init()).first).place.coordinate
    #expect(abs(place.longitude) > 179.999 && place.isValid)
  }
}

/// The file of the map.
@Suite struct FleetMapFileTests {
  private let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  private func failure(_ text: String) throws -> String {
    let path = try directory.write("map.csv", text)
    do { _ = try FleetMapFile.read(path) } catch { return error.description }
    return ""
  }

  @Test func aMapIsReadBackUnchanged() throws {
    let beacons: [Beacon] = try [
      #require(Beacon(accessPoint: 0x0000_0a0b_0c0d)),
      #require(Beacon(.gsm, country: 262, network: 7, area: 513, cell: 65_534)),
      #require(Beacon(.lte, country: 1, network: 0, cell: 0)),
      #require(Beacon(.nr, country: 999, network: 999, cell: 1 << 36 - 2)),
    ]
    let places = [
      Coordinate(latitude: 48.137431, longitude: -0.000004), Coordinate(latitude: -89.999999, longitude: 180),
    ]
    let map = beacons.enumerated().map { index, beacon in
      FleetBeacon(
        place: MappedBeacon(
          beacon: beacon, coordinate: places[index % 2], reach: 61, sightings: 4 + index, lastSeen: 20_780),
        vehicles: index == 3 ? 0 : 2, service: index == 3 ? "api.example:8443" : nil)
    }
    let path = try directory.write(
      "map.csv", ([FleetMapFile.head] + map.map(FleetMapFile.line)).joined(separator: "\n") + "\n")
    #expect(try FleetMapFile.read(path) == map)
    #expect(map.map(\.place.beacon.text)[0] == "00:00:0a:0b:0c:0d")
    #expect(map.map(\.place.beacon.text)[1] == "gsm-262-7-513-65534")
  }

  @Test func invalidMapsAreRefusedWithTheLine() throws {
    let good = "00:12:34:00:00:01,48.1,11.5,60,4,2,20780"
    // Maps of earlier versions have no source.
    #expect(
      try failure("beacon,latitude,longitude,reach,sightings,vehicles,last_seen\n" + good + "\r\n\n").isEmpty)
    #expect(try failure(FleetMapFile.head + "\n\(good),fleet\n").isEmpty)
    #expect(try failure("").contains("first line"))
    #expect(try failure("SQLite format 3\0").contains("first line"))
    for line in [
      "02:12:34:00:00:01,48.1,11.5,60,4,2,20780", "00:12:34:00:00,48.1,11.5,60,4,2,20780",
      "00:12:34:00:00:01,nan,11.5,60,4,2,20780", "00:12:34:00:00:01,98.1,11.5,60,4,2,20780",
      "00:12:34:00:00:01,48.1,11.5,inf,4,2,20780", "00:12:34:00:00:01,48.1,11.5,60,0,2,20780",
      "00:12:34:00:00:01,48.1,11.5,60,4,0,20780", "\(good),", "\(good),api.example",
      "00:12:34:00:00:01,48.1,11.5,60,4,0,20780,fleet", "00:12:34:00:00:01,48.1,11.5,60,4,0,20780,a b",
      "lte-0-1-5,48.1,11.5,60,4,2,20780", "-,,,,,,", ",,,,,,",
      "wifi-1-2-3,48.1,11.5,60,4,2,20780", "\(good),fleet,1",
    ] {
      #expect(try failure("\(FleetMapFile.head)\n\(good)\n\(line)\n").contains("line 3"), "\(line)")
    }
    #expect(throws: FleetError.self) { try FleetMapFile.read(directory.file("none")) }
  }
}

/// Answers to requests of vehicles for cells of the map.
@Suite struct PieceServerTests {
  private let van = VehicleKey(fleet: "f", vehicle: "van")

  private func server(_ count: Int) throws -> PieceServer {
    PieceServer(
      (1...count).compactMap { number in
        Beacon(accessPoint: UInt64(number)).map {
          FleetBeacon(
            place: MappedBeacon(
              beacon: $0, coordinate: Coordinate(latitude: 48.05, longitude: 11.4), reach: 60, sightings: 4,
              lastSeen: 20_780), vehicles: 1)
        }
      })
  }

  private func wanted(_ cells: [(String, String?)]) -> BeaconsWantedMessage {
    BeaconsWantedMessage(
      time: UTCTime(nanoseconds: 0),
      cells: cells.compactMap { name, version in Geohash(name).map { .init($0, version: version) } })
  }

  @Test func aVehicleReceivesMissingCellsOnce() throws {
    var server = try server(4000)
    #expect(server.cellCount == 1)
    let first = server.answer(wanted([("u281", nil), ("u284", nil)]), from: van, at: 0)
    #expect(first.map(\.cell.text) == ["u281", "u284"] && first.map(\.payloads.count) == [2, 1])
    let pieces = try first.flatMap(\.payloads).map { try BeaconPiece(payload: $0) }
    #expect(pieces[0].beacons.count + pieces[1].beacons.count == 4000 && pieces[2].beacons.isEmpty)
    // The vehicle repeats its request before the answer can have arrived; another vehicle gets its own answer.
    #expect(server.answer(wanted([("u281", nil), ("u284", nil)]), from: van, at: 60).isEmpty)
    let other = VehicleKey(fleet: "f", vehicle: "other")
    #expect(server.answer(wanted([("u281", nil)]), from: other, at: 60).count == 1)
    // The answer was lost.
    let again = server.answer(wanted([("u281", nil)]), from: van, at: PieceServer.pause)
    #expect(again.map(\.payloads) == [first[0].payloads])
    let has = wanted([("u281", pieces[0].version), ("u284", pieces[2].version)])
    #expect(server.answer(has, from: van, at: 10_000).isEmpty)
    let old = wanted([("u281", "0123456789abcdef"), ("u281", "0123456789abcdef")])
    #expect(server.answer(old, from: van, at: 20_000).count == 1)
  }

  @Test func changedCellsAreSent() throws {
    var server = try server(100)
    let first = server.answer(wanted([("u281", nil)]), from: van, at: 0)
    let has = wanted([("u281", try BeaconPiece(payload: first[0].payloads[0]).version)])
    let map = try (1...50).map { FleetBeacon(place: try #require(entry($0)), vehicles: 1) }
    server.renew(map)
    let next = server.answer(has, from: van, at: 1)
    #expect(try BeaconPiece(payload: try #require(next.first?.payloads.first)).beacons.count == 50)
    server.renew(map)
    #expect(server.answer(has, from: van, at: 2).isEmpty)
  }

  private func entry(_ number: Int) -> MappedBeacon? {
    Beacon(accessPoint: UInt64(number)).map {
      MappedBeacon(
        beacon: $0, coordinate: Coordinate(latitude: 48.05, longitude: 11.4), reach: 60, sightings: 4,
        lastSeen: 20_780)
    }
  }
}

/// The queue of requests.
@Suite struct PieceRequestsTests {
  private func wanted(_ second: Int64) -> BeaconsWantedMessage {
    BeaconsWantedMessage(time: UTCTime(nanoseconds: second * 1_000_000_000), cells: [])
  }

  private func key(_ number: Int) -> VehicleKey { VehicleKey(fleet: "f", vehicle: "v\(number)") }

  @Test func theNewestRequestOfEachVehicleWaits() {
    var requests = PieceRequests(most: 3)
    for second in 0..<1000 as Range<Int64> {
      for number in 0..<3 { #expect(requests.append(wanted(second), from: key(number)) == true) }
    }
    #expect(requests.append(wanted(0), from: key(3)) == false)
    #expect(requests.count == 3)
    for number in 0..<3 {
      let next = requests.next()
      #expect(next?.vehicle == key(number) && next?.wanted == wanted(999))
    }
    #expect(requests.next() == nil)
    requests.askAgain()
    requests.askAgain()
    #expect(requests.count == 3)
    #expect(requests.next()?.vehicle == key(0))
  }

  @Test func requestsAreAnsweredInOrder() {
    var requests = PieceRequests()
    for number in 0..<10_000 { _ = requests.append(wanted(0), from: key(number)) }
    for number in 0..<10_000 { #expect(requests.next()?.vehicle == key(number)) }
    #expect(requests.next() == nil)
  }
}

/// Counts that `odograph beacons show` prints.
@Suite struct FleetMapSummaryTests {
  @Test func beaconsAreCountedByKindAndArea() throws {
    func entry(_ beacon: Beacon?, _ latitude: Double, _ day: Int, _ service: String? = nil) throws
      -> FleetBeacon
    {
      FleetBeacon(
        place: MappedBeacon(
          beacon: try #require(beacon), coordinate: Coordinate(latitude: latitude, longitude: 11.4),
          reach: 60,
          sightings: 4, lastSeen: day), vehicles: service == nil ? 1 : 0, service: service)
    }
    var map = try [
      entry(Beacon(accessPoint: 1), 48.05, 20_780), entry(Beacon(accessPoint: 2), 48.05, 20_774),
      entry(Beacon(.lte, country: 262, network: 1, cell: 5), 48.05, 20_773, "api.example"),
    ]
    for number in 0..<12 {
      map.append(try entry(Beacon(accessPoint: UInt64(number + 9)), Double(number), 20_000))
    }
    let summary = FleetMapSummary(map, day: 20_780)
    #expect(
      summary.count == 15 && summary.groups.map(\.name) == ["technology", "source", "last heard", "area"])
    #expect(summary.groups[3].counts.count == 11 && summary.groups[3].counts[0] == ("u281", 3))
    #expect(summary.groups[3].counts[10] == ("3 others", 3))
    let lines = summary.text.split(separator: "\n").map(String.init)
    #expect(
      Set(lines.map(\.count)).count == 1 && lines.contains { $0.hasPrefix("source") && $0.hasSuffix(" 14") })
    #expect(
      String(decoding: summary.json, as: UTF8.self).hasPrefix(
        #"{"beacons":15,"technology":{"wifi":14,"lte":1},"source":{"fleet":14,"api.example":1},"#
          + #""lastHeard":{"180 days or more":12,"under 7 days":2,"under 30 days":1},"area":{"u281":3,"#))
    #expect(FleetMapSummary([], day: 0).text.contains("all"))
  }
}
