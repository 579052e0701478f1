internal import Bytes
internal import Glibc
internal import JSON
internal import Sensors
package import Spatial
internal import Telemetry

/// The members of a payload for which the database has columns, in the native and the OwnTracks format. They
/// are read without building a JSON tree, which would take several times as long as storing the message.
package struct PayloadFields: Hashable {
  package var time: UTCTime?
  package var epoch: String?
  package var seq: Int64?
  package var latitude: Double?
  package var longitude: Double?
  package var altitude: Double?
  package var accuracy: Double?
  /// The ground speed in m/s.
  package var speed: Double?
  package var course: Double?
  /// The event or the state, with its native name. For a position: `suspect` if another measurement
  /// contradicts it, `coarse` if it is from radio beacons.
  package var event: String?
  /// The `_type` of an OwnTracks payload, at most 80 characters; nil for other payloads.
  package var ownTracksType: String?

  /// The native kind of an OwnTracks payload on the device's own topic. Nil for types without vehicle data,
  /// and for payloads of another format.
  package var ownTracksKind: String? {
    switch ownTracksType {
    case "location": MessageKind.location.rawValue
    case "lwt": MessageKind.status.rawValue
    case "transition": MessageKind.region.rawValue
    case "waypoint", "waypoints", "encrypted": ownTracksType
    default: nil
    }
  }

  /// The maximum length of an epoch in bytes; usual epochs have about sixteen. A longer epoch, and one that a
  /// database cannot store, is ignored.
  fileprivate static let longestEpoch = 128

  /// The value of `event` for a suspect position.
  package static let suspect = "suspect"

  /// True if the payload is valid JSON without NUL characters.
  package var isJSON = false

  /// Reads the members if the payload is a JSON object. A member of the wrong type, or with an impossible
  /// value, is ignored. Of duplicate members the last one is used.
  /// - Parameters:
  ///   - payload: the payload of a message.
  ///   - onlyIdentity: true to read only `epoch` and `seq`.
  package init(_ payload: [UInt8], onlyIdentity: Bool = false) {
    guard payload.first.map({ $0 == UInt8(ascii: "{") || $0 <= 0x20 }) == true else { return }
    var reader = PayloadReader(onlyIdentity: onlyIdentity)
    guard JSONScan(membersOf: payload.span, &reader).isValid else { return }
    self = reader.fields
    isJSON = true
    if ownTracksType != nil {
      speed = speed.map { $0 / 3.6 }
      if ownTracksType == "lwt" { event = "offline" } else if event == "leave" { event = "exit" }
    }
    if latitude == nil || longitude == nil { (latitude, longitude) = (nil, nil) }
    if epoch == nil || seq == nil { (epoch, seq) = (nil, nil) }
  }

  fileprivate init() {}
}

/// A JSON visitor that reads the members while the payload is scanned.
private struct PayloadReader: JSONMemberVisitor {
  let onlyIdentity: Bool
  private(set) var fields = PayloadFields()

  // Inlining this function would slow down the scan loop: the function is called for few bytes, but would
  // occupy registers for all.
  @inline(never) mutating func visit(_ key: Range<Int>, _ value: Range<Int>, of bytes: Span<UInt8>) {
    func named(_ text: StaticString) -> Bool { bytes.equals(key, text) }
    // The length is compared first, because most members have no column.
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
      if fields.event != PayloadFields.suspect, bytes.equals(value, "\"coarse\"") {
        fields.event = PositionSource.coarse.rawValue
      }
    case 7 where named("suspect"):
      if bytes[value.lowerBound] == UInt8(ascii: "\"") { fields.event = PayloadFields.suspect }
    case 5 where named("_type"): fields.ownTracksType = Self.label(value, bytes) ?? ""
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

  /// Returns the first 80 characters of a text, without NUL.
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

/// The sequence number and time of a payload, for statistics. They are read in one pass without building a
/// JSON tree, which would take ten times as long.
///
/// Only members of the outermost object are read. A payload that is not a JSON object has neither number nor
/// time.
package struct MessageGlance: Hashable, Sendable {
  /// A hash of the epoch; nil if the payload has no epoch.
  package var epoch: UInt64?
  package var seq: Int64?
  package var time: UTCTime?
  package var isWill = false
  /// True if the payload is a JSON object.
  package var isObject = false
  /// True if the payload has a time that is invalid.
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
  // Inlining this function would slow down the scan loop: the function is called for few bytes, but would
  // occupy registers for all.
  @inline(never) package mutating func visit(_ key: Range<Int>, _ value: Range<Int>, of bytes: Span<UInt8>) {
    switch key.count {
    case 3 where bytes.equals(key, "seq"): seq = bytes.jsonNatural(value)
    // The OwnTracks format has other members for the time and the will.
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
