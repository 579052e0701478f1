import Bytes
import JSON
import Sensors
import Spatial
import Telemetry
import TestSupport
import Testing

/// Pieces of the fleet's beacon map.
@Suite struct BeaconPieceTests {
  private static let cell = Geohash("u281")

  private static func beacons(_ count: Int, in cell: Geohash, seed: UInt64 = 1) -> [MappedBeacon] {
    var generator = SplitMix(seed: seed)
    return ScanMessageTests.sightings(count - count / 20, count / 20, &generator).map { sighting in
      MappedBeacon(
        beacon: sighting.beacon,
        coordinate: Coordinate(
          latitude: .random(in: cell.southWest.latitude...cell.northEast.latitude, using: &generator),
          longitude: .random(in: cell.southWest.longitude...cell.northEast.longitude, using: &generator)),
        reach: .random(in: 15...2000, using: &generator), sightings: .random(in: 1...500, using: &generator),
        lastSeen: .random(in: 20_600...20_780, using: &generator))
    }
  }

  @Test func mapRoundTripsToItsResolution() throws {
    let cell = try #require(Self.cell)
    let beacons = Self.beacons(7000, in: cell)
    let pieces = BeaconPiece.pieces(of: cell, beacons)
    #expect(pieces.map(\.part) == [1, 2, 3] && pieces.allSatisfy { $0.count == 3 })
    var read: [Beacon: MappedBeacon] = [:]
    for piece in pieces {
      #expect(piece.payload.count <= BeaconPiece.sizeLimit)
      let again = try BeaconPiece(payload: piece.payload)
      #expect(again == piece)
      for beacon in again.beacons { read[beacon.beacon] = beacon }
    }
    #expect(read.count == beacons.count)
    for beacon in beacons {
      let told = try #require(read[beacon.beacon])
      #expect(told.coordinate.distance(to: beacon.coordinate) < 0.5)
      #expect(told.reach >= beacon.reach && told.reach < 1.09 * beacon.reach)
      #expect(told.sightings <= beacon.sightings && 2 * told.sightings > beacon.sightings)
      #expect(told.lastSeen == beacon.lastSeen)
    }
  }

  /// The pieces of a city fit into 64 kB. Beyond that limit, the beacons with the fewest sightings are omitted.
  @Test func leastSeenBeaconsAreOmittedIfTooMany() throws {
    let cell = try #require(Self.cell)
    let beacons = Self.beacons(25_000, in: cell)
    let pieces = BeaconPiece.pieces(of: cell, beacons)
    #expect(pieces.count == BeaconPiece.largestCount)
    let told = Set(pieces.flatMap { $0.beacons.map(\.beacon) })
    #expect(told.count == BeaconPiece.largestCount * BeaconPiece.capacity)
    let left = beacons.filter { !told.contains($0.beacon) }
    #expect((left.map(\.sightings).max() ?? 0) <= 30)
    // Beacons outside the cell and invalid coordinates are omitted.
    var wrong = beacons[0]
    wrong.coordinate.latitude += 1
    #expect(BeaconPiece.pieces(of: cell, [wrong]).map(\.beacons) == [[]])
    wrong.coordinate.latitude = .nan
    #expect(BeaconPiece.pieces(of: cell, [wrong]).map(\.beacons) == [[]])
    #expect(BeaconPiece.pieces(of: try #require(Geohash("u28")), beacons).isEmpty)
  }

  @Test func versionIdentifiesTheContent() throws {
    let cell = try #require(Self.cell)
    let beacons = Self.beacons(100, in: cell)
    let version = try #require(BeaconPiece.pieces(of: cell, beacons).first?.version)
    #expect(BeaconPiece.pieces(of: cell, beacons.reversed()).first?.version == version)
    #expect(BeaconPiece.pieces(of: cell, Array(beacons.dropLast())).first?.version != version)
  }

  /// An invalid field rejects the whole piece.
  @Test func invalidPiecesAreRejectedWithAReason() throws {
    let cell = try #require(Self.cell)
    let piece = try #require(BeaconPiece.pieces(of: cell, Self.beacons(50, in: cell)).first)
    func refusal(_ change: (inout [String: JSONValue]) -> Void) throws -> String {
      guard case .object(var members) = try JSONValue(parsing: piece.payload) else { return "" }
      change(&members)
      do { _ = try BeaconPiece(json: .object(members)) } catch { return error.description }
      return ""
    }
    func packed(_ bytes: [UInt8]) -> (inout [String: JSONValue]) -> Void {
      let digits = String(FNV1a.hash64(bytes), radix: 16)
      return { members in
        members["beacons"] = .string(Base64.encode(bytes))
        members["checksum"] = .string(String(repeating: "0", count: 16 - digits.count) + digits)
      }
    }
    #expect(try refusal { _ in }.isEmpty)
    #expect(try refusal { $0["cell"] = .string("u28l") }.contains("cell"))
    #expect(try refusal { $0["cell"] = .string("u2") }.contains("cell"))
    #expect(try refusal { $0["part"] = .integer(2) }.contains("part"))
    #expect(try refusal { $0["count"] = .integer(1_000_000) }.contains("count"))
    #expect(try refusal { $0["version"] = .string("../../etc") }.contains("version"))
    #expect(try refusal { $0["checksum"] = .string("0") }.contains("checksum"))
    #expect(try refusal { $0["beacons"] = .string("NaN") }.contains("beacons"))
    // A count of 4095 without data, and 30,000 zero bytes with a valid checksum.
    #expect(try refusal(packed([0, 0, 0xff, 0xf0, 0, 0])).contains("beacons"))
    #expect(try refusal(packed([UInt8](repeating: 0, count: 30_000))).contains("beacons"))
    #expect(try refusal(packed([UInt8](repeating: 0xff, count: 30_000))).contains("beacons"))
    let tooLarge = Array(#"{"cell":"\#(String(repeating: "u", count: 70_000))"}"#.utf8)
    #expect(throws: JSONError.self) { try BeaconPiece(payload: tooLarge) }
  }

  @Test func geohashesMatchTheStandard() throws {
    // Example from the inventor of the format.
    let place = Coordinate(latitude: 57.64911, longitude: 10.40744)
    #expect(Geohash(place, length: 11)?.text == "u4pruydqqvj")
    let cell = try #require(Geohash("ezs42"))
    #expect(cell.contains(Coordinate(latitude: 42.605, longitude: -5.603)))
    #expect(abs(cell.northEast.latitude - cell.southWest.latitude - 180 / 4096) < 1e-12)
    for text in ["", "a", "u28i", "U281", "u281u281u281u", "ü"] { #expect(Geohash(text) == nil, "\(text)") }
    #expect(Geohash(Coordinate(latitude: .nan, longitude: 0), length: 4) == nil)
    for corner in [Coordinate(latitude: 90, longitude: 180), Coordinate(latitude: -90, longitude: -180)] {
      #expect(Geohash(corner, length: 4)?.contains(corner) == true)
    }
    var generator = SplitMix(seed: 2)
    for _ in 0..<2000 {
      let place = Coordinate(
        latitude: .random(in: -90...90, using: &generator),
        longitude: .random(in: -180...180, using: &generator))
      let around = Geohash.around(place, margin: 5000, length: 4)
      // Near the poles, cells are narrower than the square.
      #expect((1...5).contains(around.count) && around.contains { $0.contains(place) })
    }
  }
}
