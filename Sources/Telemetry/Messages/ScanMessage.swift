internal import Bytes
package import JSON
public import Sensors
public import Spatial
public import VehicleData

/// Payload of `scan`: radio transmitters observed together with accurate fixes, for the fleet's beacon map.
///
/// `scans` is Base64 of consecutive scans. Each scan starts at a whole byte and is packed with the high bits
/// first. It starts with the seconds since 1970 (32 bits), latitude (24) and longitude (25) as shares of
/// their ranges, and the position accuracy in metres at 68 % (5). The number of access points (6 bits) and of
/// cells (4), their identities, and the signal of each beacon in the same order (5) follow. Twenty access
/// points require 134 bytes, and a message with one such scan 194.
///
/// Messages have neither `epoch` nor `seq`, because the order of scans is irrelevant and duplicates are equal
/// byte for byte.
public struct ScanMessage: Hashable, Sendable {
  /// One scan. At creation, values are rounded to the precision of the payload.
  public struct Scan: Hashable, Sendable {
    /// Time of the scan, in whole seconds.
    public let time: UTCTime
    /// Position, rounded to 0.6 m.
    public let coordinate: Coordinate
    /// Position accuracy in m (68 %), 1 ... 31, rounded up.
    public let accuracy: Double
    /// Sightings in order of their beacons, without duplicates. Signals have steps of 2 dB from -94 to -34
    /// dBm. Sightings contain no age and no distance.
    public let sightings: [BeaconSighting]

    /// - Parameter sightings: the strongest are included, at most 63 access points and 15 cells. Only the
    ///   first few thousand sightings are examined.
    /// - Returns: nil for an invalid position, an accuracy above 31 m, a time before 1970 or after 2106, or
    ///   no beacons.
    public init?(
      time: UTCTime, coordinate: ShownCoordinate, accuracy: Double, sightings: [BeaconSighting]
    ) {
      let coordinate = coordinate.coordinate
      let seconds = time.nanoseconds / 1_000_000_000
      guard coordinate.isValid, accuracy > 0, accuracy <= 31, (0...Int64(UInt32.max)).contains(seconds) else {
        return nil
      }
      let told = Self.strongest(sightings.prefix(4096)).map {
        BeaconSighting(beacon: $0.beacon, signal: Packing.signal(Packing.code(signal: $0.signal)))
      }
      guard !told.isEmpty else { return nil }
      self.init(
        packed: UInt64(seconds), Packing.code(latitude: coordinate.latitude),
        Packing.code(longitude: coordinate.longitude), UInt64(accuracy.rounded(.up)), told)
    }

    /// Returns the scan without some beacons; nil if no other beacon remains.
    package func without(_ beacons: [Beacon]) -> Scan? {
      let others = sightings.filter { !beacons.contains($0.beacon) }
      guard others.count < sightings.count else { return self }
      return Scan(
        time: time, coordinate: PrivacyPolicy.unrestricted(coordinate), accuracy: accuracy, sightings: others)
    }

    fileprivate init(
      packed seconds: UInt64, _ latitude: UInt64, _ longitude: UInt64, _ accuracy: UInt64,
      _ sightings: [BeaconSighting]
    ) {
      time = UTCTime(nanoseconds: Int64(seconds) * 1_000_000_000)
      coordinate = Coordinate(
        latitude: Packing.latitude(latitude), longitude: Packing.longitude(longitude))
      self.accuracy = Double(accuracy)
      self.sightings = sightings
    }

    /// Returns the strongest sightings sorted by beacon; of duplicates, the first.
    private static func strongest(_ sightings: some Sequence<BeaconSighting>) -> [BeaconSighting] {
      let ranked = sightings.filter(\.beacon.isWellFormed).sorted {
        ($0.isServing ? 1 : 0, $0.signal ?? -200) > ($1.isServing ? 1 : 0, $1.signal ?? -200)
      }
      var (seen, counts): (Set<Beacon>, [Bool: Int]) = ([], [:])
      let chosen = ranked.filter { sighting in
        let isCell = sighting.beacon.technology.isCell
        guard seen.insert(sighting.beacon).inserted else { return false }
        counts[isCell, default: 0] += 1
        return counts[isCell, default: 0] <= (isCell ? Packing.list.limits.cells : Packing.list.limits.points)
      }
      return chosen.sorted { $0.beacon < $1.beacon }
    }
  }

  public let scans: [Scan]

  /// Maximum number of scans read from one message.
  public static let largestCount = 256
  /// Maximum number of bytes of `scans` in one message.
  private static let largestText = 1 << 16

  public init(scans: [Scan]) { self.scans = scans }

  /// Encoded payload.
  public var payload: [UInt8] {
    var bits = BitWriter()
    for scan in scans { Packing.write(scan, to: &bits) }
    return JSONWriter.object { $0.field("scans", Base64.encode(bits.bytes)) }
  }

  /// - Throws: `JSONError` that describes the problem.
  package init(json: JSONValue) throws(JSONError) {
    guard let text = json["scans"]?.string else { throw JSONError("key \"scans\": missing or not a string") }
    guard text.utf8.count <= Self.largestText else {
      throw JSONError("key \"scans\": more than \(Self.largestText) bytes")
    }
    guard let bytes = Base64.decode(text) else { throw JSONError("key \"scans\": not Base64") }
    var bits = BitReader(bytes)
    var scans: [Scan] = []
    while !bits.isAtEnd {
      guard scans.count < Self.largestCount, let scan = Packing.read(from: &bits) else {
        throw JSONError("key \"scans\": scan \(scans.count) is invalid, or there are too many scans")
      }
      scans.append(scan)
    }
    guard !scans.isEmpty else { throw JSONError("key \"scans\": contains no scan") }
    self.scans = scans
  }
}

extension ScanMessage: MessageContent {
  static let contract = MessageContract(.scan, lane: .other, carriesIdentity: false)
  var messageTime: UTCTime? { scans.first?.time }
}

/// Bit encoding of a scan.
private enum Packing {
  static let list = BeaconList(pointsWidth: 6, cellsWidth: 4)

  static func write(_ scan: ScanMessage.Scan, to bits: inout BitWriter) {
    bits.align()
    bits.append(UInt64(scan.time.nanoseconds / 1_000_000_000), 32)
    bits.append(code(latitude: scan.coordinate.latitude), 24)
    bits.append(code(longitude: scan.coordinate.longitude), 25)
    bits.append(UInt64(scan.accuracy), 5)
    list.write(scan.sightings.map(\.beacon), to: &bits)
    for sighting in scan.sightings { bits.append(code(signal: sighting.signal), 5) }
  }

  static func read(from bits: inout BitReader) -> ScanMessage.Scan? {
    bits.align()
    guard let time = bits.next(32), let latitude = bits.next(24), let longitude = bits.next(25),
      let accuracy = bits.next(5), accuracy > 0, let beacons = list.read(from: &bits), !beacons.isEmpty
    else { return nil }
    var sightings: [BeaconSighting] = []
    for beacon in beacons {
      guard let code = bits.next(5) else { return nil }
      sightings.append(BeaconSighting(beacon: beacon, signal: signal(code)))
    }
    return ScanMessage.Scan(packed: time, latitude, longitude, accuracy, sightings)
  }

  private static let (rows, columns) = (Double(1 << 24), Double(1 << 25))

  static func code(latitude: Double) -> UInt64 {
    UInt64(min(max((latitude + 90) / 180 * rows, 0), rows - 1))
  }

  static func code(longitude: Double) -> UInt64 {
    UInt64(min(max((longitude + 180) / 360 * columns, 0), columns - 1))
  }

  static func latitude(_ code: UInt64) -> Double { (Double(code) + 0.5) / rows * 180 - 90 }
  static func longitude(_ code: UInt64) -> Double { (Double(code) + 0.5) / columns * 360 - 180 }

  /// Returns the code of a signal: 0 if unknown, otherwise steps of 2 dB.
  static func code(signal: Double?) -> UInt64 {
    guard let signal, signal.isFinite else { return 0 }
    return UInt64(min(max(((-32 - signal) / 2).rounded(), 1), 31))
  }

  static func signal(_ code: UInt64) -> Double? { code == 0 ? nil : -32 - 2 * Double(code) }
}
