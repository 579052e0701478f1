internal import Bytes
public import Sensors
package import Spatial

/// The learned entry of a transmitter, with the learner's state.
public struct LearnedBeacon: Hashable, Sendable {
  /// The newest estimate. `mapped` returns this entry only if it may be used.
  public internal(set) var place: MappedBeacon
  /// True if the beacon was heard at too many positions to be stationary, such as a phone or a transmitter in
  /// a vehicle.
  public internal(set) var isTravelling = false

  /// Standard deviation (per axis) in m of the mean of the positions where the beacon was heard.
  var centreDeviation: Double
  /// Another position where the beacon was heard, too far from `place` for one stationary transmitter; nil if
  /// there is none.
  var other: OtherPosition?
  /// Number of recent relocations to a new position. Each later day with sightings there reduces the number
  /// by one.
  var moves = 0

  struct OtherPosition: Hashable, Sendable {
    var coordinate: Coordinate
    /// Number of consecutive sightings at this position, 1 ... 63.
    var sightings: Int
    /// Day of the first sighting at this position, or of the last counted sighting if sightings were
    /// contested. In days since 1970.
    var since: Int
    /// Number of days with sightings at this position, 0 ... 3, if several other beacons contested the
    /// position at least once; otherwise 0.
    var contestedDays = 0

    static let mostSightings = 63
  }

  /// Creates an entry from an entry of another map, with the same weight as a learned one.
  public init(_ place: MappedBeacon) {
    self.place = place
    centreDeviation = place.reach / Double(max(1, place.sightings)).squareRoot()
  }

  init(place: MappedBeacon, centreDeviation: Double) {
    (self.place, self.centreDeviation) = (place, centreDeviation)
  }

  /// Another position where the beacon was heard; nil if there is none.
  package var elsewhere: Coordinate? { other?.coordinate }

  /// The entry for use in a map. Nil for travelling beacons, and while recent sightings at another position
  /// contradict the entry.
  public var mapped: MappedBeacon? {
    guard !isTravelling, place.isSound, other.map({ $0.sightings < BeaconLearner.doubt }) ?? true else {
      return nil
    }
    return place
  }
}

extension LearnedBeacon {
  /// Length of `bytes`.
  public static let byteCount = 34

  /// Versions of the encoded form, in the high four bits of a byte. Version 1 has no strongest signal, and
  /// uses all 16 bits for the number of sightings. Version 2 has no contested days, and eight bits of
  /// sightings at the other position.
  private static let (version, secondVersion, firstVersion): (UInt8, UInt8, UInt8) = (3 << 4, 2 << 4, 1 << 4)
  /// Limits of a 16-bit field. Ten bits contain the number of sightings, which matters only up to some
  /// dozens. Six bits contain the strongest signal in dB above `weakest`; 0 means unknown.
  private static let (mostSightings, weakest, loudest) = (1023, -95.0, 63.0)
  /// Flag of the encoded form: the beacon is travelling.
  private static let travelling: UInt8 = 1
  /// Flag of the encoded form: the fields of another position are in use.
  private static let elsewhere: UInt8 = 2
  /// Scales of a coordinate in 32 and in 24 bits.
  private static let (fine, rough) = (1e7, 16_777_216 / 360.0)

  /// Encoded form of `byteCount` bytes. The first eight are the beacon's `rawValue`; all numbers are
  /// little-endian. A store whose key is the beacon does not need to store these eight bytes again.
  public var bytes: [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(Self.byteCount)
    bytes.append(little: place.beacon.rawValue)
    bytes.append(
      Self.version | (isTravelling ? Self.travelling : 0) | (other == nil ? 0 : Self.elsewhere)
        | UInt8(min(max(moves, 0), 3)) << 2)
    bytes.append(little: Int32(clamped: place.coordinate.latitude * Self.fine))
    bytes.append(little: Int32(clamped: place.coordinate.longitude * Self.fine))
    bytes.append(little: UInt16(clamped: place.reach))
    let strength = place.strongest.map { UInt16(clamped: min(max($0 - Self.weakest, 1), Self.loudest)) } ?? 0
    bytes.append(little: UInt16(min(max(place.sightings, 0), Self.mostSightings)) | strength << 10)
    bytes.append(little: UInt16(clamped: Double(place.lastSeen)))
    bytes.append(little: UInt16(clamped: centreDeviation * 10))
    let away =
      other ?? OtherPosition(coordinate: Coordinate(latitude: -90, longitude: -180), sightings: 0, since: 0)
    for degrees in [away.coordinate.latitude + 90, away.coordinate.longitude + 180] {
      let number = UInt32(clamped: degrees * Self.rough)
      for shift in [0, 8, 16] { bytes.append(UInt8(truncatingIfNeeded: min(number, 0xff_ffff) >> shift)) }
    }
    bytes.append(
      UInt8(min(max(away.sightings, 0), OtherPosition.mostSightings)) | UInt8(
        min(max(away.contestedDays, 0), 3))
        << 6)
    bytes.append(little: UInt16(clamped: Double(away.since)))
    return bytes
  }

  /// - Parameter bytes: encoded form; nil for an invalid one.
  public init?(bytes: [UInt8]) {
    guard bytes.count == Self.byteCount, case let version = bytes[8] & 0xf0,
      [Self.version, Self.secondVersion, Self.firstVersion].contains(version),
      let beacon = Beacon(rawValue: UInt64(little: bytes, at: 0))
    else { return nil }
    let count = UInt16(little: bytes, at: 19)
    let (sightings, strength) = version == Self.firstVersion ? (count, 0) : (count & 1023, count >> 10)
    let place = MappedBeacon(
      beacon: beacon,
      coordinate: Coordinate(
        latitude: Double(Int32(little: bytes, at: 9)) / Self.fine,
        longitude: Double(Int32(little: bytes, at: 13)) / Self.fine),
      reach: Double(UInt16(little: bytes, at: 17)), sightings: Int(sightings),
      lastSeen: Int(UInt16(little: bytes, at: 21)),
      strongest: strength == 0 ? nil : Self.weakest + Double(strength))
    guard place.isSound else { return nil }
    self.init(place: place, centreDeviation: max(0.1, Double(UInt16(little: bytes, at: 23)) / 10))
    isTravelling = bytes[8] & Self.travelling != 0
    moves = Int(bytes[8] >> 2 & 3)
    guard bytes[8] & Self.elsewhere != 0 else { return }
    let (north, east) = (UInt32(little: bytes[25...27]), UInt32(little: bytes[28...30]))
    let away = Coordinate(
      latitude: Double(north) / Self.rough - 90, longitude: Double(east) / Self.rough - 180)
    let isContestable = version == Self.version
    let heard = min(Int(isContestable ? bytes[31] & 63 : bytes[31]), OtherPosition.mostSightings)
    guard away.isValid, heard > 0 else { return nil }
    other = OtherPosition(
      coordinate: away, sightings: heard, since: Int(UInt16(little: bytes, at: 32)),
      contestedDays: isContestable ? Int(bytes[31] >> 6) : 0)
  }
}

extension FixedWidthInteger {
  /// Converts to the nearest value; to the limits outside of the range, and to zero for NaN.
  fileprivate init(clamped value: Double) {
    let (least, most) = (Double(Self.min), Double(Self.max))
    // Doubles cannot represent the largest 64-bit number exactly, but the numbers here have at most 32 bits.
    self = value.isNaN ? 0 : Self(Swift.min(Swift.max(value.rounded(), least), most))
  }

  fileprivate init(little bytes: ArraySlice<UInt8>) {
    self = bytes.reversed().reduce(0) { $0 << 8 | Self($1) }
  }
}
