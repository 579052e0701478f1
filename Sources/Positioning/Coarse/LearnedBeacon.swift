internal import Bytes
internal import Sensors
package import Spatial

/// What is known of a transmitter by its sightings, and what the learner must remember to go on.
public struct LearnedBeacon: Hashable, Sendable {
  /// The newest belief; `mapped` says whether it may be used.
  public internal(set) var place: MappedBeacon
  /// Whether it was heard at so many places that it stands at none: a phone, a vehicle.
  public internal(set) var isTravelling = false

  /// Metres: one standard deviation (per axis) of the middle of the places where it was heard.
  var centreDeviation: Double
  /// Another place where it was heard meanwhile, too far off to be of the same transmitter; nil while there is none.
  var other: OtherPlace?
  /// How often it was heard where it was neither before nor at the other place.
  var moves = 0

  struct OtherPlace: Hashable, Sendable {
    var coordinate: Coordinate
    /// Sightings there in succession, 1 ... 63.
    var sightings: Int
    /// Days since 1970: of the first, or of the last that was counted where they were contested.
    var since: Int
    /// Days on which it was heard there, 0 ... 3, where several other beacons said at least once that the device was elsewhere; 0 where
    /// nothing spoke against the place.
    var contestedDays = 0

    static let mostSightings = 63
  }

  /// What another's map says of it: it is believed as if it had been learned here.
  public init(_ place: MappedBeacon) {
    self.place = place
    centreDeviation = place.reach / Double(max(1, place.sightings)).squareRoot()
  }

  init(place: MappedBeacon, centreDeviation: Double) {
    (self.place, self.centreDeviation) = (place, centreDeviation)
  }

  /// Where else it was heard meanwhile; nil where nowhere.
  package var elsewhere: Coordinate? { other?.coordinate }

  /// As a map may tell it; nil for what travels, and where it was heard elsewhere lately and not here any more.
  public var mapped: MappedBeacon? {
    guard !isTravelling, place.isSound, other.map({ $0.sightings < BeaconLearner.doubt }) ?? true else {
      return nil
    }
    return place
  }
}

extension LearnedBeacon {
  /// How many bytes `bytes` are.
  public static let byteCount = 34

  /// In the high bits. Version 1 has no strongest signal, and its 16 bits are all of the number of sightings. Version 2 has no contested days,
  /// and eight bits of sightings at the other place.
  private static let (version, secondVersion, firstVersion): (UInt8, UInt8, UInt8) = (3 << 4, 2 << 4, 1 << 4)
  /// Of 16 bits, ten are the number of sightings, which says no more beyond some dozens, and six the strongest signal: dB above the
  /// weakest that is told, or 0 for none.
  private static let (mostSightings, weakest, loudest) = (1023, -95.0, 63.0)
  private static let travelling: UInt8 = 1
  private static let elsewhere: UInt8 = 2
  /// Of a coordinate in 32 and in 24 bits.
  private static let (fine, rough) = (1e7, 16_777_216 / 360.0)

  /// In a form of `byteCount` bytes. The first eight are the beacon's `rawValue`, little-endian as all of it, so that a store
  /// that has it as a key need not have it twice.
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
      other ?? OtherPlace(coordinate: Coordinate(latitude: -90, longitude: -180), sightings: 0, since: 0)
    for degrees in [away.coordinate.latitude + 90, away.coordinate.longitude + 180] {
      let number = UInt32(clamped: degrees * Self.rough)
      for shift in [0, 8, 16] { bytes.append(UInt8(truncatingIfNeeded: min(number, 0xff_ffff) >> shift)) }
    }
    bytes.append(
      UInt8(min(max(away.sightings, 0), OtherPlace.mostSightings)) | UInt8(min(max(away.contestedDays, 0), 3))
        << 6)
    bytes.append(little: UInt16(clamped: Double(away.since)))
    return bytes
  }

  /// - Parameter bytes: as `bytes` gave them; nil for what it gives for no beacon.
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
    let heard = min(Int(isContestable ? bytes[31] & 63 : bytes[31]), OtherPlace.mostSightings)
    guard away.isValid, heard > 0 else { return nil }
    other = OtherPlace(
      coordinate: away, sightings: heard, since: Int(UInt16(little: bytes, at: 32)),
      contestedDays: isContestable ? Int(bytes[31] >> 6) : 0)
  }
}

extension FixedWidthInteger {
  /// The nearest; the ends of the range for what is beyond it, zero for NaN.
  fileprivate init(clamped value: Double) {
    let (least, most) = (Double(Self.min), Double(Self.max))
    // The greatest of 64 bits is none of a double's numbers, but no more than 32 are asked for here.
    self = value.isNaN ? 0 : Self(Swift.min(Swift.max(value.rounded(), least), most))
  }

  fileprivate init(little bytes: ArraySlice<UInt8>) {
    self = bytes.reversed().reduce(0) { $0 << 8 | Self($1) }
  }
}
