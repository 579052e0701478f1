internal import Bytes
public import JSON
public import Sensors
public import Spatial

/// Payload of `scan`: what was heard of the transmitters around, beside good fixes, for the fleet's map of beacons.
///
/// `scans` is Base64 of one scan after the other, each from a whole byte on and packed with the high bits first. The numbers and their bits:
/// seconds since 1970 (32), latitude (24) and longitude (25) as shares of their ranges, metres at 68 % of the position (5), how many
/// access points (6) and cells (4), their identities, and of each in the same order its signal (5). Twenty access points take 134
/// bytes, and a message of one such scan 194.
///
/// There is neither `epoch` nor `seq`: nobody puts scans in order, and what is the same byte for byte is the same.
public struct ScanMessage: Hashable, Sendable {
  /// One scan. What it holds is what is told: it is rounded when it is made.
  public struct Scan: Hashable, Sendable {
    /// Whole seconds.
    public let time: UTCTime
    /// Within 0.6 m.
    public let coordinate: Coordinate
    /// Metres at 68 %, 1 ... 31, rounded up.
    public let accuracy: Double
    /// In the order of their beacons, none twice; signals in steps of 2 dB, -94 ... -34 dBm, and neither ages nor distances.
    public let sightings: [BeaconSighting]

    /// - Parameter sightings: of which the strongest are told, at most 63 access points and 15 cells; more than some thousand are not
    ///   looked at.
    /// - Returns: nil for a place that is not valid or not known to 31 m, a time before 1970 or after 2106, and no beacons.
    public init?(time: UTCTime, coordinate: Coordinate, accuracy: Double, sightings: [BeaconSighting]) {
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

    /// Sorted by beacon; of one that was seen twice the first.
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

  /// Scans that are read of one message, and the bytes of text that may have them.
  public static let largestCount = 256
  private static let largestText = 1 << 16

  public init(scans: [Scan]) { self.scans = scans }

  /// The wire form.
  public var payload: [UInt8] {
    var bits = BitWriter()
    for scan in scans { Packing.write(scan, to: &bits) }
    return JSONWriter.object { $0.field("scans", Base64.encode(bits.bytes)) }
  }

  /// - Throws: `JSONError` naming what is wrong.
  public init(json: JSONValue) throws(JSONError) {
    guard let text = json["scans"]?.string else { throw JSONError("key \"scans\": missing or not a string") }
    guard text.utf8.count <= Self.largestText else {
      throw JSONError("key \"scans\": more than \(Self.largestText) bytes")
    }
    guard let bytes = Base64.decode(text) else { throw JSONError("key \"scans\": not Base64") }
    var bits = BitReader(bytes)
    var scans: [Scan] = []
    while !bits.isAtEnd {
      guard scans.count < Self.largestCount, let scan = Packing.read(from: &bits) else {
        throw JSONError("key \"scans\": no scan at number \(scans.count)")
      }
      scans.append(scan)
    }
    guard !scans.isEmpty else { throw JSONError("key \"scans\": holds none") }
    self.scans = scans
  }
}

/// The bits of a scan.
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

  /// 0 for none, then 2 dB each.
  static func code(signal: Double?) -> UInt64 {
    guard let signal, signal.isFinite else { return 0 }
    return UInt64(min(max(((-32 - signal) / 2).rounded(), 1), 31))
  }

  static func signal(_ code: UInt64) -> Double? { code == 0 ? nil : -32 - 2 * Double(code) }
}
