internal import Bytes
internal import Glibc
internal import JSON
internal import Sensors
package import Spatial
internal import Telemetry

/// The members of a payload that have a column of their own, read without building the rest of it: making a tree of
/// values costs several times as much as storing the message. Of the native profile and of OwnTracks.
package struct PayloadFields: Hashable {
  package var time: UTCTime?
  package var epoch: String?
  package var seq: Int64?
  package var latitude: Double?
  package var longitude: Double?
  package var altitude: Double?
  package var accuracy: Double?
  /// m/s.
  package var speed: Double?
  package var course: Double?
  /// What happened, or the state, in the native profile's words; `coarse` of a position that is by radios and no fix.
  package var event: String?
  /// The OwnTracks format's will.
  package var isWill = false

  /// An epoch is sixteen bytes or so; longer ones are not believed, nor those that a database could not hold.
  fileprivate static let longestEpoch = 128

  /// Whether the payload is JSON: text, then, and without a zero.
  package var isJSON = false

  /// Reads them where the payload is a JSON object. Members of the wrong type, or with values that cannot be, are as
  /// if they were not there; of a repeated member, the last counts.
  /// - Parameter onlyIdentity: for a reader that wants no more than `epoch` and `seq`.
  package init(_ payload: [UInt8], onlyIdentity: Bool = false) {
    guard payload.first.map({ $0 == UInt8(ascii: "{") || $0 <= 0x20 }) == true else { return }
    var reader = PayloadReader(onlyIdentity: onlyIdentity)
    guard JSONScan(membersOf: payload.span, &reader).isValid else { return }
    self = reader.fields
    isJSON = true
    if reader.isOwnTracks {
      speed = speed.map { $0 / 3.6 }
      if isWill { event = "offline" } else if event == "leave" { event = "exit" }
    }
    if latitude == nil || longitude == nil { (latitude, longitude) = (nil, nil) }
    if epoch == nil || seq == nil { (epoch, seq) = (nil, nil) }
  }

  fileprivate init() {}
}

/// Takes the members of a payload as they pass.
private struct PayloadReader: JSONMemberVisitor {
  let onlyIdentity: Bool
  private(set) var fields = PayloadFields()
  /// Whether units are those of OwnTracks.
  private(set) var isOwnTracks = false

  // Inside of the scan's loop it would take the registers that most bytes need.
  @inline(never) mutating func visit(_ key: Range<Int>, _ value: Range<Int>, of bytes: Span<UInt8>) {
    func named(_ text: StaticString) -> Bool { bytes.equals(key, text) }
    // By length first: most members of a message have no column.
    switch key.count {
    case 3 where named("seq"): fields.seq = bytes.jsonNatural(value)
    case 5 where named("epoch"):
      fields.epoch = bytes.jsonString(value).flatMap { text in
        let isSound = (1...PayloadFields.longestEpoch).contains(text.utf8.count) && !text.utf8.contains(0)
        return isSound ? text : nil
      }
    case _ where onlyIdentity: break
    case 4 where named("time"): fields.time = Self.time(value, bytes)
    case 8 where named("latitude"): fields.latitude = Self.number(value, bytes, -90...90)
    case 9 where named("longitude"): fields.longitude = Self.number(value, bytes, -180...180)
    case 8 where named("altitude"): fields.altitude = Self.number(value, bytes, -1e8...1e8)
    case 18 where named("horizontalAccuracy"): fields.accuracy = Self.number(value, bytes, 0...1e8)
    case 5 where named("speed"): fields.speed = Self.number(value, bytes, 0...1e5)
    case 6 where named("course"): fields.course = Self.number(value, bytes, 0...360)
    case 5 where named("event") || named("state"): fields.event = Self.label(value, bytes)
    case 14 where named("positionSource"):
      if bytes.equals(value, "\"coarse\"") { fields.event = PositionSource.coarse.rawValue }
    case 5 where named("_type"):
      isOwnTracks = true
      fields.isWill = bytes.jsonString(value) == "lwt"
    case 3 where named("lat"): fields.latitude = Self.number(value, bytes, -90...90)
    case 3 where named("lon"): fields.longitude = Self.number(value, bytes, -180...180)
    case 3 where named("alt"): fields.altitude = Self.number(value, bytes, -1e8...1e8)
    case 3 where named("acc"): fields.accuracy = Self.number(value, bytes, 0...1e8)
    case 3 where named("vel"): fields.speed = Self.number(value, bytes, 0...1e5)
    case 3 where named("cog"): fields.course = Self.number(value, bytes, 0...360)
    case 3 where named("tst"):
      fields.time = Self.number(value, bytes, 0...1e10).map { UTCTime(secondsSince1970: $0) }
    default: break
    }
  }

  /// A word for a person, of bounded length.
  private static func label(_ value: Range<Int>, _ bytes: Span<UInt8>) -> String? {
    bytes.jsonString(value).map {
      String($0.unicodeScalars.filter { $0.value != 0 }.prefix(80).map(Character.init))
    }
  }

  private static func number(
    _ value: Range<Int>, _ bytes: Span<UInt8>, _ range: ClosedRange<Double>
  ) -> Double? {
    bytes.jsonNumber(value).flatMap { range.contains($0) ? $0 : nil }
  }

  private static func time(_ value: Range<Int>, _ bytes: Span<UInt8>) -> UTCTime? {
    guard bytes[value.lowerBound] == UInt8(ascii: "\""), (2...42).contains(value.count) else { return nil }
    return UTCTime(rfc3339UTF8: bytes.extracting(value.lowerBound + 1..<value.upperBound - 1))
  }
}

/// What a count needs of a payload: its number and its time, found in one pass and without building anything of the
/// rest, which would cost ten times as much.
///
/// Only members of the outermost object count. What is no JSON object has nothing.
package struct MessageGlance: Hashable, Sendable {
  /// A hash of the epoch's text; nil without one.
  package var epoch: UInt64?
  package var seq: Int64?
  package var time: UTCTime?
  package var isWill = false
  /// Whether the payload is one JSON object.
  package var isObject = false
  /// Whether it names a time that is none.
  package var hasWrongTime = false

  package init(_ payload: [UInt8]) {
    guard payload.first(where: { $0 > 0x20 }) == UInt8(ascii: "{") else { return }
    var glance = MessageGlance()
    guard JSONScan(membersOf: payload.span, &glance).isValid else { return }
    self = glance
    isObject = true
  }

  private init() {}
}

extension MessageGlance: JSONMemberVisitor {
  // Inside of the scan's loop it would take the registers that most bytes need.
  @inline(never) package mutating func visit(_ key: Range<Int>, _ value: Range<Int>, of bytes: Span<UInt8>) {
    switch key.count {
    case 3 where bytes.equals(key, "seq"): seq = bytes.jsonNatural(value)
    // The OwnTracks format's time, and its will.
    case 3 where bytes.equals(key, "tst"):
      time = bytes.jsonNatural(value).flatMap { seconds in
        seconds < 9_000_000_000 ? UTCTime(nanoseconds: seconds * 1_000_000_000) : nil
      }
    case 5 where bytes.equals(key, "_type"): isWill = bytes.equals(value, "\"lwt\"")
    case 4 where bytes.equals(key, "time"):
      time = Self.time(bytes, value)
      hasWrongTime = time == nil
    case 4 where bytes.equals(key, "will"): isWill = bytes.equals(value, "true")
    case 5 where bytes.equals(key, "epoch"):
      guard bytes[value.lowerBound] == UInt8(ascii: "\"") else { return }
      epoch = FNV1a.hash64(bytes.extracting(value))
    default: break
    }
  }

  private static func time(_ bytes: Span<UInt8>, _ range: Range<Int>) -> UTCTime? {
    guard (22...42).contains(range.count), bytes[range.lowerBound] == UInt8(ascii: "\"") else { return nil }
    return UTCTime(rfc3339UTF8: bytes.extracting(range.lowerBound + 1..<range.upperBound - 1))
  }
}
