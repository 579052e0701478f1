internal import Bytes
public import JSON
public import Positioning
internal import Sensors
public import Spatial

/// Payload of `beacons/piece`: what the fleet's map knows of a part of the earth, for one vehicle.
///
/// `beacons` is Base64 of bits: the day on which the latest was heard (16), how many access points (12) and cells (12), their identities, and
/// of each in the same order its place as shares of the cell's height and width (16 each), its reach (7, in steps of 9 %), how often it
/// was heard (4, a power of two) and how many days before that day last (8). So no piece can say anything of a place outside of its cell.
public struct BeaconPiece: Hashable, Sendable {
  /// A geohash of `cellLength` characters.
  public let cell: Geohash
  /// Names the content of all of the cell's pieces.
  public let version: String
  /// 1 ... `count`.
  public let part: Int
  /// Pieces of the cell, 1 ... `largestCount`.
  public let count: Int
  /// In the order of their identities, rounded as they are told.
  public let beacons: [MappedBeacon]

  public static let cellLength = 4
  /// Pieces of a cell at most, beacons of a piece, and bytes of its payload.
  public static let largestCount = 8
  public static let capacity = 3000
  public static let sizeLimit = 1 << 16

  /// All pieces of a cell.
  /// - Parameter beacons: those outside of the cell or not sound are left out; of more than fit those that were heard most often stay.
  /// - Returns: one at least; nothing for a cell of another size.
  public static func pieces(of cell: Geohash, _ beacons: [MappedBeacon]) -> [BeaconPiece] {
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

  public var payload: [UInt8] {
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

  /// - Throws: `JSONError` naming what is wrong: nothing of such a piece is believed.
  public init(payload: [UInt8]) throws(JSONError) {
    guard payload.count <= Self.sizeLimit else { throw JSONError("more than \(Self.sizeLimit) bytes") }
    try self.init(json: JSONValue(parsing: payload))
  }

  /// - Throws: `JSONError` naming what is wrong: nothing of such a piece is believed.
  public init(json: JSONValue) throws(JSONError) {
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
      throw JSONError("key \"checksum\": the beacons have another one")
    }
    guard let beacons = Packing.read(bytes, cell) else {
      throw JSONError("key \"beacons\": not what it should be")
    }
    (self.cell, self.version, self.beacons) = (cell, version, beacons)
  }

  /// Whether a text can be a `version`.
  public static func isVersion(_ text: String) -> Bool {
    text.utf8.count == 16 && text.utf8.allSatisfy { (48...57).contains($0) || (97...102).contains($0) }
  }

  private static func hex(_ number: UInt64) -> String { MessageIdentity.epoch(number) }
}

/// The bits of a piece.
private enum Packing {
  static let list = BeaconList(pointsWidth: 12, cellsWidth: 12)
  private static let steps = 65_536.0
  /// Reaches from 1 m on, in steps by which the 127th is 50 km.
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

  /// - Returns: nil for what `write` does not write.
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

  /// The nearest that is not less.
  private static func code(_ reach: Double) -> UInt64 {
    UInt64(reaches.firstIndex { $0 >= reach } ?? 127)
  }
}
