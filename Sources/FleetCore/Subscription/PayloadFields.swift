internal import Glibc
internal import Spatial
internal import Telemetry

/// The members of a payload that have a column of their own, read without building the rest of it: making a tree of
/// values costs several times as much as storing the message. Of the native profile and of OwnTracks.
struct PayloadFields: Hashable {
  var time: UTCTime?
  var epoch: String?
  var seq: Int64?
  var latitude: Double?
  var longitude: Double?
  var altitude: Double?
  var accuracy: Double?
  /// m/s.
  var speed: Double?
  var course: Double?
  /// What happened, or the state, in the native profile's words.
  var event: String?
  /// The OwnTracks format's will.
  var isWill = false

  /// An epoch is sixteen bytes or so; longer ones are not believed, nor those that a database could not hold.
  private static let longestEpoch = 128

  /// Reads them where the payload is a JSON object. Members of the wrong type, or with values that cannot be, are as
  /// if they were not there; of a repeated member, the last counts.
  /// - Parameter onlyIdentity: for a reader that wants no more than `epoch` and `seq`.
  init(_ payload: [UInt8], onlyIdentity: Bool = false) {
    guard payload.first.map({ $0 == UInt8(ascii: "{") || $0 <= 0x20 }) == true, JSONScan(payload) != .invalid
    else { return }
    var reader = MemberReader(payload)
    let isOwnTracks = reader.read(into: &self, onlyIdentity: onlyIdentity, payload)
    if isOwnTracks {
      speed = speed.map { $0 / 3.6 }
      if isWill { event = "offline" } else if event == "leave" { event = "exit" }
    }
    if latitude == nil || longitude == nil { (latitude, longitude) = (nil, nil) }
    if epoch == nil || seq == nil { (epoch, seq) = (nil, nil) }
  }

  /// Walks over the members of the outermost object of text that is known to be JSON.
  private struct MemberReader {
    private enum Value {
      case string(Range<Int>, escaped: Bool)
      case number(Range<Int>)
      case other
    }

    private let payload: [UInt8]
    private var position = 0

    init(_ payload: [UInt8]) { self.payload = payload }

    /// Returns whether units are those of OwnTracks.
    mutating func read(into fields: inout PayloadFields, onlyIdentity: Bool, _ bytes: [UInt8]) -> Bool {
      var isOwnTracks = false
      skipSpace(bytes)
      guard position < bytes.count, bytes[position] == UInt8(ascii: "{") else { return false }
      position += 1
      while true {
        skipSpace(bytes)
        guard position < bytes.count, bytes[position] == UInt8(ascii: "\"") else { return isOwnTracks }
        guard case .string(let name, let isEscaped) = value(bytes) else { return isOwnTracks }
        skipSpace(bytes)
        position += 1
        skipSpace(bytes)
        let value = value(bytes)
        if !isEscaped { assign(name, value, &fields, &isOwnTracks, onlyIdentity, bytes) }
        skipSpace(bytes)
        position += 1
      }
    }

    private func assign(
      _ name: Range<Int>, _ value: Value, _ fields: inout PayloadFields, _ isOwnTracks: inout Bool,
      _ onlyIdentity: Bool, _ bytes: [UInt8]
    ) {
      func named(_ text: StaticString) -> Bool {
        guard text.utf8CodeUnitCount == name.count else { return false }
        for offset in 0..<name.count where unsafe text.utf8Start[offset] != bytes[name.lowerBound + offset] {
          return false
        }
        return true
      }
      // By length first: most members of a message have no column.
      switch name.count {
      case 3 where named("seq"): fields.seq = integer(value, bytes)
      case 5 where named("epoch"):
        fields.epoch = text(value).flatMap { text in
          let isSound = (1...PayloadFields.longestEpoch).contains(text.utf8.count) && !text.utf8.contains(0)
          return isSound ? text : nil
        }
      case _ where onlyIdentity: break
      case 4 where named("time"): fields.time = time(value, bytes)
      case 8 where named("latitude"): fields.latitude = number(value, bytes, -90...90)
      case 9 where named("longitude"): fields.longitude = number(value, bytes, -180...180)
      case 8 where named("altitude"): fields.altitude = number(value, bytes, -1e8...1e8)
      case 18 where named("horizontalAccuracy"): fields.accuracy = number(value, bytes, 0...1e8)
      case 5 where named("speed"): fields.speed = number(value, bytes, 0...1e5)
      case 6 where named("course"): fields.course = number(value, bytes, 0...360)
      case 5 where named("event"), 5 where named("state"): fields.event = label(value)
      case 5 where named("_type"):
        isOwnTracks = true
        fields.isWill = text(value) == "lwt"
      case 3 where named("lat"): fields.latitude = number(value, bytes, -90...90)
      case 3 where named("lon"): fields.longitude = number(value, bytes, -180...180)
      case 3 where named("alt"): fields.altitude = number(value, bytes, -1e8...1e8)
      case 3 where named("acc"): fields.accuracy = number(value, bytes, 0...1e8)
      case 3 where named("vel"): fields.speed = number(value, bytes, 0...1e5)
      case 3 where named("cog"): fields.course = number(value, bytes, 0...360)
      case 3 where named("tst"):
        fields.time = number(value, bytes, 0...1e10).map { UTCTime(secondsSince1970: $0) }
      default: break
      }
    }

    private mutating func skipSpace(_ bytes: [UInt8]) {
      while position < bytes.count, bytes[position] <= 0x20 { position += 1 }
    }

    /// Passes over a value.
    private mutating func value(_ bytes: [UInt8]) -> Value {
      guard position < bytes.count else { return .other }
      switch bytes[position] {
      case UInt8(ascii: "\""): return string(bytes)
      case UInt8(ascii: "{"), UInt8(ascii: "["):
        var depth = 0
        repeat {
          switch bytes[position] {
          case UInt8(ascii: "\""):
            _ = string(bytes)
            continue
          case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
          case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
          default: break
          }
          position += 1
        } while depth > 0 && position < bytes.count
        return .other
      default:
        let start = position
        while position < bytes.count, !Self.endsWord(bytes[position]) { position += 1 }
        let first = bytes[start]
        return first == UInt8(ascii: "-") || (0x30...0x39).contains(first)
          ? .number(start..<position) : .other
      }
    }

    private static func endsWord(_ byte: UInt8) -> Bool {
      byte <= 0x20 || byte == UInt8(ascii: ",") || byte == UInt8(ascii: "}") || byte == UInt8(ascii: "]")
    }

    private mutating func string(_ bytes: [UInt8]) -> Value {
      position += 1
      let start = position
      var isEscaped = false
      while position < bytes.count, bytes[position] != UInt8(ascii: "\"") {
        if bytes[position] == UInt8(ascii: "\\") {
          isEscaped = true
          position += 1
        }
        position += 1
      }
      let end = min(position, bytes.count)
      position += 1
      return .string(start..<end, escaped: isEscaped)
    }

    private func text(_ value: Value) -> String? {
      guard case .string(let range, let isEscaped) = value else { return nil }
      if !isEscaped { return String(decoding: payload[range], as: UTF8.self) }
      let quoted = Array(payload[(range.lowerBound - 1)...range.upperBound])
      return (try? JSONValue(parsing: quoted))?.string
    }

    /// A word for a person, of bounded length.
    private func label(_ value: Value) -> String? {
      text(value).map { String($0.unicodeScalars.filter { $0.value != 0 }.prefix(80).map(Character.init)) }
    }

    private func integer(_ value: Value, _ bytes: [UInt8]) -> Int64? {
      guard case .number(let range) = value, range.count <= 19 else { return nil }
      var result: Int64 = 0
      for index in range {
        let byte = bytes[index]
        guard (0x30...0x39).contains(byte) else { return nil }
        let (product, overflows) = result.multipliedReportingOverflow(by: 10)
        let (sum, overflowsToo) = product.addingReportingOverflow(Int64(byte - 0x30))
        if overflows || overflowsToo { return nil }
        result = sum
      }
      return result
    }

    private func number(_ value: Value, _ bytes: [UInt8], _ range: ClosedRange<Double>) -> Double? {
      guard case .number(let place) = value else { return nil }
      let result = DecimalText.double(bytes, place) ?? DecimalText.slow(payload[place])
      return result.flatMap { range.contains($0) ? $0 : nil }
    }

    private func time(_ value: Value, _ bytes: [UInt8]) -> UTCTime? {
      guard case .string(let range, escaped: false) = value, range.count <= 40 else { return nil }
      return UTCTime(rfc3339UTF8: bytes.span.extracting(range))
    }
  }
}

/// Numbers in the form in which vehicles write them; nil for every other, which is no error.
enum DecimalText {
  /// Digits with at most one point, exact: the digits fit into 53 bits and the power of ten into a double, so that one
  /// division rounds correctly (W. Clinger, "How to read floating point numbers accurately", 1990).
  static func double(_ bytes: [UInt8], _ range: Range<Int>) -> Double? {
    var index = range.lowerBound
    let isNegative = index < range.upperBound && bytes[index] == UInt8(ascii: "-")
    if isNegative { index += 1 }
    var digits: Int64 = 0
    var decimals = -1
    while index < range.upperBound {
      let byte = bytes[index]
      if (0x30...0x39).contains(byte) {
        digits = digits * 10 + Int64(byte - 0x30)
        if digits >= 1 << 53 { return nil }
        if decimals >= 0 { decimals += 1 }
      } else if byte == UInt8(ascii: "."), decimals < 0 {
        decimals = 0
      } else {
        return nil
      }
      index += 1
    }
    let magnitude = decimals <= 0 ? Double(digits) : decimals <= 22 ? Double(digits) / powers[decimals] : .nan
    guard magnitude.isFinite else { return nil }
    return isNegative ? -magnitude : magnitude
  }

  /// Any number of JSON.
  static func slow(_ bytes: ArraySlice<UInt8>) -> Double? {
    Double(String(decoding: bytes, as: UTF8.self)).flatMap { $0.isFinite ? $0 : nil }
  }

  private static let powers: [Double] = {
    var power = 1.0
    return (0...22).map { _ in
      defer { power *= 10 }
      return power
    }
  }()
}
