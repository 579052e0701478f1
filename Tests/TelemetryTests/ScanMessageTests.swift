import JSON
import Sensors
import Spatial
import Telemetry
import TestSupport
import Testing
import VehicleData

/// Encoding of `scan` messages: exact values, size, and rejected input.
@Suite struct ScanMessageTests {
  static let time = UTCTime(nanoseconds: 1_795_248_930_925_000_000)
  static let place = Coordinate(latitude: 48.137431, longitude: 11.575490)

  /// Returns access points with random unicast addresses, and cells of one network.
  static func sightings(_ points: Int, _ cells: Int, _ generator: inout some RandomNumberGenerator)
    -> [BeaconSighting]
  {
    var sightings: [BeaconSighting] = []
    while sightings.count < points {
      let address = UInt64.random(in: 1..<1 << 48, using: &generator)
      guard let beacon = Beacon(accessPoint: address) else { continue }
      sightings.append(
        BeaconSighting(beacon: beacon, signal: .random(in: -95 ... -35, using: &generator)))
    }
    while sightings.count < points + cells {
      let cell = UInt64.random(in: 0..<1 << 28 - 1, using: &generator)
      guard let beacon = Beacon(.lte, country: 262, network: 1, cell: cell) else { continue }
      sightings.append(BeaconSighting(beacon: beacon, signal: .random(in: -120 ... -60, using: &generator)))
    }
    return sightings
  }

  static func scan(_ sightings: [BeaconSighting]) throws -> ScanMessage.Scan {
    try #require(
      ScanMessage.Scan(
        time: time, coordinate: PrivacyPolicy.unrestricted(place), accuracy: 4.2, sightings: sightings))
  }

  /// Random addresses are the worst case: consecutive addresses of one manufacturer are encoded in fewer bytes.
  @Test(arguments: [(20, 0), (19, 1), (17, 3), (14, 6), (10, 10), (0, 20)])
  func scanOfTwentyBeaconsFits200Bytes(points: Int, cells: Int) throws {
    var longest = 0
    for seed in 0..<500 {
      var generator = SplitMix(seed: UInt64(seed))
      let message = ScanMessage(scans: [try Self.scan(Self.sightings(points, cells, &generator))])
      longest = max(longest, message.payload.count)
    }
    #expect(longest <= 200)
  }

  /// Eight scans of 20 beacons in one message, including topic, header and MQTT 5 properties.
  @Test func batchedScanCostsUnder200BytesOnTheWire() throws {
    var generator = SplitMix(seed: 5)
    let scans = try (0..<8).map { _ in try Self.scan(Self.sightings(20, 0, &generator)) }
    let publication = Publication(
      .scan(ScanMessage(scans: scans)), in: try TopicScheme(fleet: "delivery", vehicle: "van-1"))
    let packet = publication.payload(identity: nil).count + publication.topic.utf8.count + 64
    #expect(packet <= 8 * 200)
  }

  @Test func beaconsAreExactAndOtherValuesRoundedOnce() throws {
    for seed in 0..<200 {
      var generator = SplitMix(seed: UInt64(seed))
      let heard = Self.sightings(Int(seed % 60), 1 + seed % 14, &generator)
      let scan = try Self.scan(heard)
      #expect(Set(scan.sightings.map(\.beacon)) == Set(heard.map(\.beacon)))
      #expect(scan.coordinate.distance(to: Self.place) < 1)
      #expect(scan.accuracy == 5 && scan.time == UTCTime(nanoseconds: 1_795_248_930_000_000_000))
      let signals = Dictionary(heard.map { ($0.beacon, $0.signal) }) { first, _ in first }
      for sighting in scan.sightings {
        let before = try #require(signals[sighting.beacon] ?? nil)
        #expect(abs((sighting.signal ?? 0) - max(-94, min(-34, before))) <= 1)
      }
      let message = ScanMessage(scans: [scan, scan])
      #expect(try ScanMessage(json: JSONValue(parsing: message.payload)) == message)
    }
  }

  @Test func strongestBeaconsArePublishedIfTooMany() throws {
    var generator = SplitMix(seed: 3)
    let heard = Self.sightings(200, 30, &generator)
    let scan = try Self.scan(heard + heard)
    let points = scan.sightings.filter { !$0.beacon.technology.isCell }
    #expect(points.count == 63 && scan.sightings.count == 63 + 15)
    let told = Set(points.map(\.beacon))
    let left = heard.filter { !$0.beacon.technology.isCell && !told.contains($0.beacon) }
    let weakest = try #require(points.compactMap(\.signal).min())
    #expect(left.allSatisfy { ($0.signal ?? 0) <= weakest + 1 })
  }

  @Test func scanWithoutPublishableBeaconsIsNil() throws {
    var generator = SplitMix(seed: 4)
    let heard = Self.sightings(3, 0, &generator)
    func scan(_ place: Coordinate, _ accuracy: Double, _ heard: [BeaconSighting]) -> ScanMessage.Scan? {
      ScanMessage.Scan(
        time: Self.time, coordinate: PrivacyPolicy.unrestricted(place), accuracy: accuracy, sightings: heard)
    }
    #expect(scan(Self.place, 30, heard) != nil)
    for accuracy in [0, -1, 31.5, .nan, .infinity] { #expect(scan(Self.place, accuracy, heard) == nil) }
    #expect(scan(Coordinate(latitude: .nan, longitude: 0), 5, heard) == nil)
    #expect(scan(Self.place, 5, []) == nil)
    // Two 64-bit values that are not valid transmitters: a locally administered address, and a country without
    // a number.
    for number in [0x1000_0200_0000_0001 as UInt64, 0x4000_0000_0000_0001] {
      let wrong = try #require(Beacon(rawValue: number))
      #expect(scan(Self.place, 5, [BeaconSighting(beacon: wrong, signal: nil)]) == nil)
    }
    let poles = [Coordinate(latitude: 90, longitude: 180), Coordinate(latitude: -90, longitude: -180)]
    for pole in poles { #expect(scan(pole, 5, heard)?.coordinate.isValid == true) }
  }

  @Test func invalidScanIsRejectedWithAReason() throws {
    let hostile = [
      "{}", #"{"scans":7}"#, #"{"scans":""}"#, #"{"scans":"????"}"#, #"{"scans":"AAAA"}"#,
      "{\"scans\":\"\(String(repeating: "A", count: 200))\"}",
      "{\"scans\":\"\(String(repeating: "/", count: 4000))\"}",
      "{\"scans\":\"\(String(repeating: "A", count: 70_000))\"}",
    ]
    for text in hostile {
      #expect(throws: JSONError.self, "\(text.prefix(40))") {
        try ScanMessage(json: JSONValue(parsing: Array(text.utf8)))
      }
    }
  }

  /// Random changes of the payload never trap; each message that can be decoded round-trips.
  @Test func randomBytesAreRejectedOrRoundTrip() throws {
    var generator = SplitMix(seed: 9)
    var readable = 0
    let whole = ScanMessage(scans: [try Self.scan(Self.sightings(20, 2, &generator))]).payload
    for _ in 0..<20_000 {
      var payload = whole
      for _ in 0...Int.random(in: 0...2, using: &generator) {
        payload[.random(in: 10..<payload.count - 2, using: &generator)] = UInt8.random(
          in: 0x2b...0x7a, using: &generator)
      }
      guard let json = try? JSONValue(parsing: payload), let message = try? ScanMessage(json: json) else {
        continue
      }
      readable += 1
      #expect(try ScanMessage(json: JSONValue(parsing: message.payload)) == message)
      #expect(message.scans.allSatisfy { $0.coordinate.isValid && !$0.sightings.isEmpty })
    }
    #expect(readable > 100)
  }
}
