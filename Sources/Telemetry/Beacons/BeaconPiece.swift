internal import Bytes
package import JSON
package import Sensors
package import Spatial

/// Payload of `beacons/piece`: a part of the fleet's beacon map, sent to one vehicle.
///
/// `beacons` is Base64 of bits. It starts with the day of the latest sighting of all beacons (16 bits), the
/// number of access points (12) and of cells (12), and their identities. Five fields follow for each beacon,
/// in the same order. Latitude and longitude are shares of the cell's height and width (16 bits each). The
/// reach has 7 bits, in steps of 9 %. The number of sightings has 4 bits, as a power of two. The last field
/// is the number of days from the beacon's last sighting to the latest one (8 bits). A piece therefore cannot
/// describe a position outside of its cell.
package struct BeaconPiece: Hashable, Sendable {
  /// A geohash of `cellLength` characters.
  package let cell: Geohash
  /// Identifies the content of all pieces of the cell.
  package let version: String
  /// Number of this piece, 1 ... `count`.
  package let part: Int
  /// Number of pieces of the cell, 1 ... `largestCount`.
  package let count: Int
  /// Beacons in order of their identities, rounded to the precision of the payload.
  package let beacons: [MappedBeacon]

  package static let cellLength = 4
  /// Maximum number of pieces of a cell.
  package static let largestCount = 8
  /// Maximum number of beacons in a piece.
  package static let capacity = 3000
  /// Maximum number of bytes in the payload of a piece.
  package static let sizeLimit = 1 << 16

  /// Creates all pieces of a cell.
  /// - Parameter beacons: beacons outside of the cell and implausible ones are omitted. If there are too many
  ///   beacons, those with the most sightings are included.
  /// - Returns: at least one piece; an empty array if the cell has another size.
  package static func pieces(of cell: Geohash, _ beacons: [MappedBeacon]) -> [BeaconPiece] {
    guard cell.text.utf8.count == cellLength else { return [] }
    var known: [Beacon: MappedBeacon] = [:]
    for beacon in beacons
    where beacon.isSound && beacon.beacon.isWellFormed && cell.contains(beacon.coordinate) {
      known[beacon.beacon] = beacon
    }
    let kept = known.values.sorted { ($0.sightings, $0.beacon) > ($1.sightings, $1.beacon) }
      .prefix(largestCount * capacity).sorted { $0.beacon < $1.beacon }
    let parts = stride(from: 0, to: max(1, kept.count), by: capacity).map {
      Array(kept[$0..<min($0 + capacity, kept.count)])
    }
    let packed = parts.map { Packing.write($0, cell) }
    let version = hex(FNV1a.hash64(packed.joined()))
    return packed.enumerated().compactMap { index, bytes in
      Packing.read(bytes, cell).map {
        BeaconPiece(cell: cell, version: version, part: index + 1, count: parts.count, beacons: $0)
      }
    }
  }

  private init(cell: Geohash, version: String, part: Int, count: Int, beacons: [MappedBeacon]) {
    (self.cell, self.version, self.part, self.count, self.beacons) = (cell, version, part, count, beacons)
  }

  package var payload: [UInt8] {
    let bytes = Packing.write(beacons, cell)
    return JSONWriter.object { json in
      json.field("cell", cell.text)
      json.field("version", version)
      json.field("part", part)
      json.field("count", count)
      json.field("beacons", Base64.encode(bytes))
      json.field("checksum", Self.hex(FNV1a.hash64(bytes)))
    }
  }

  /// - Throws: `JSONError` that describes the problem. A piece with a problem is rejected as a whole.
  package init(payload: [UInt8]) throws(JSONError) {
    guard payload.count <= Self.sizeLimit else { throw JSONError("more than \(Self.sizeLimit) bytes") }
    try self.init(json: JSONValue(parsing: payload))
  }

  /// - Throws: `JSONError` that describes the problem. A piece with a problem is rejected as a whole.
  package init(json: JSONValue) throws(JSONError) {
    guard let text = json["cell"]?.string, text.utf8.count == Self.cellLength, let cell = Geohash(text) else {
      throw JSONError("key \"cell\": not a geohash of \(Self.cellLength) characters")
    }
    guard let version = json["version"]?.string, Self.isVersion(version) else {
      throw JSONError("key \"version\": not 16 hexadecimal digits")
    }
    count = Int(try json.required("count", in: 1...Double(Self.largestCount)))
    part = Int(try json.required("part", in: 1...Double(count)))
    guard let bytes = json["beacons"]?.string.flatMap(Base64.decode) else {
      throw JSONError("key \"beacons\": missing or not Base64")
    }
    guard json["checksum"]?.string == Self.hex(FNV1a.hash64(bytes)) else {
      throw JSONError("key \"checksum\": wrong checksum")
    }
    guard let beacons = Packing.read(bytes, cell) else {
      throw JSONError("key \"beacons\": invalid encoding")
    }
    (self.cell, self.version, self.beacons) = (cell, version, beacons)
  }

  /// Returns whether a text is a valid `version`.
  package static func isVersion(_ text: String) -> Bool {
    text.utf8.count == 16 && text.utf8.allSatisfy { (48...57).contains($0) || (97...102).contains($0) }
  }

  private static func hex(_ number: UInt64) -> String { MessageIdentity.epoch(number) }
}

/// Bit encoding of a piece.
private enum Packing {
  static let list = BeaconList(pointsWidth: 12, cellsWidth: 12)
  private static let steps = 65_536.0
  /// Factor between successive codes for reach. Code 0 means 1 m, code 127 means 50 km.
  private static let growth = 1.0889

  static func write(_ beacons: [MappedBeacon], _ cell: Geohash) -> [UInt8] {
    var bits = BitWriter()
    let day = min(beacons.map(\.lastSeen).max() ?? 0, 65_535)
    bits.append(UInt64(day), 16)
    list.write(beacons.map(\.beacon), to: &bits)
    let (height, width) = size(cell)
    for beacon in beacons {
      bits.append(share((beacon.coordinate.latitude - cell.southWest.latitude) / height), 16)
      bits.append(share((beacon.coordinate.longitude - cell.southWest.longitude) / width), 16)
      bits.append(code(beacon.reach), 7)
      bits.append(UInt64(min(15, Int.bitWidth - 1 - max(1, beacon.sightings).leadingZeroBitCount)), 4)
      bits.append(UInt64(min(max(day - beacon.lastSeen, 0), 255)), 8)
    }
    return bits.bytes
  }

  /// - Returns: the beacons of a piece; nil for bits that `write` cannot have produced.
  static func read(_ bytes: [UInt8], _ cell: Geohash) -> [MappedBeacon]? {
    var bits = BitReader(bytes)
    guard let day = bits.next(16), let identities = list.read(from: &bits),
      identities.count <= BeaconPiece.capacity
    else { return nil }
    let (height, width) = size(cell)
    var beacons: [MappedBeacon] = []
    for beacon in identities {
      guard let north = bits.next(16), let east = bits.next(16), let reach = bits.next(7),
        let sightings = bits.next(4), let age = bits.next(8)
      else { return nil }
      beacons.append(
        MappedBeacon(
          beacon: beacon,
          coordinate: Coordinate(
            latitude: cell.southWest.latitude + (Double(north) + 0.5) / steps * height,
            longitude: cell.southWest.longitude + (Double(east) + 0.5) / steps * width),
          reach: metres(reach), sightings: 1 << Int(sightings), lastSeen: max(0, Int(day) - Int(age))))
    }
    return bits.isAtEnd ? beacons : nil
  }

  private static func size(_ cell: Geohash) -> (height: Double, width: Double) {
    (
      cell.northEast.latitude - cell.southWest.latitude, cell.northEast.longitude - cell.southWest.longitude
    )
  }

  private static func share(_ value: Double) -> UInt64 { UInt64(min(max(value * steps, 0), steps - 1)) }

  private static let reaches: [Double] = (0...127).map { step in
    min(50_000, (0..<step).reduce(1.0) { reach, _ in reach * growth })
  }

  private static func metres(_ code: UInt64) -> Double { reaches[Int(code & 127)] }

  /// Returns the smallest code whose reach is at least `reach` metres.
  private static func code(_ reach: Double) -> UInt64 {
    UInt64(reaches.firstIndex { $0 >= reach } ?? 127)
  }
}
