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
  fileprivate static let longestEpoch = 128

  /// Whether the payload is JSON: text, then, and without a zero.
  var isJSON = false

  /// Reads them where the payload is a JSON object. Members of the wrong type, or with values that cannot be, are as
  /// if they were not there; of a repeated member, the last counts.
  /// - Parameter onlyIdentity: for a reader that wants no more than `epoch` and `seq`.
  init(_ payload: [UInt8], onlyIdentity: Bool = false) {
    guard payload.first.map({ $0 == UInt8(ascii: "{") || $0 <= 0x20 }) == true else { return }
    var reader = PayloadReader(onlyIdentity: onlyIdentity)
    guard JSONScan(payload, &reader) != .invalid else { return }
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

  init(onlyIdentity: Bool) { self.onlyIdentity = onlyIdentity }

  mutating func visit(_ key: Range<Int>, _ value: Range<Int>, of bytes: Span<UInt8>) {
    func named(_ text: StaticString) -> Bool {
      guard text.utf8CodeUnitCount == key.count else { return false }
      for offset in 0..<key.count where unsafe text.utf8Start[offset] != bytes[key.lowerBound + offset] {
        return false
      }
      return true
    }
    // By length first: most members of a message have no column.
    switch key.count {
    case 3 where named("seq"): fields.seq = Self.integer(value, bytes)
    case 5 where named("epoch"):
      fields.epoch = Self.text(value, bytes).flatMap { text in
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
    case 5 where named("_type"):
      isOwnTracks = true
      fields.isWill = Self.text(value, bytes) == "lwt"
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

  private static func isString(_ value: Range<Int>, _ bytes: Span<UInt8>) -> Bool {
    bytes[value.lowerBound] == UInt8(ascii: "\"")
  }

  private static func text(_ value: Range<Int>, _ bytes: Span<UInt8>) -> String? {
    guard isString(value, bytes) else { return nil }
    return unsafe bytes.extracting(value).withUnsafeBufferPointer { quoted in
      if unsafe quoted.contains(UInt8(ascii: "\\")) {
        return unsafe (try? JSONValue(parsing: Array(quoted)))?.string
      }
      return unsafe String(decoding: quoted[1..<quoted.count - 1], as: UTF8.self)
    }
  }

  /// A word for a person, of bounded length.
  private static func label(_ value: Range<Int>, _ bytes: Span<UInt8>) -> String? {
    text(value, bytes).map {
      String($0.unicodeScalars.filter { $0.value != 0 }.prefix(80).map(Character.init))
    }
  }

  private static func integer(_ value: Range<Int>, _ bytes: Span<UInt8>) -> Int64? {
    guard value.count <= 19 else { return nil }
    var result: Int64 = 0
    for index in value {
      let byte = bytes[index]
      guard (0x30...0x39).contains(byte) else { return nil }
      let (product, overflows) = result.multipliedReportingOverflow(by: 10)
      let (sum, overflowsToo) = product.addingReportingOverflow(Int64(byte - 0x30))
      if overflows || overflowsToo { return nil }
      result = sum
    }
    return result
  }

  private static func number(
    _ value: Range<Int>, _ bytes: Span<UInt8>, _ range: ClosedRange<Double>
  ) -> Double? {
    let first = bytes[value.lowerBound]
    guard first == UInt8(ascii: "-") || (0x30...0x39).contains(first) else { return nil }
    let digits = bytes.extracting(value)
    return (DecimalText.double(digits) ?? DecimalText.slow(digits)).flatMap { range.contains($0) ? $0 : nil }
  }

  private static func time(_ value: Range<Int>, _ bytes: Span<UInt8>) -> UTCTime? {
    guard isString(value, bytes), (2...42).contains(value.count) else { return nil }
    return UTCTime(rfc3339UTF8: bytes.extracting(value.lowerBound + 1..<value.upperBound - 1))
  }
}

/// Numbers in the form in which vehicles write them; nil for every other, which is no error.
enum DecimalText {
  /// Digits with at most one point, exact: the digits fit into 53 bits and the power of ten into a double, so that one
  /// division rounds correctly (W. Clinger, "How to read floating point numbers accurately", 1990).
  static func double(_ bytes: Span<UInt8>) -> Double? {
    var index = 0
    let isNegative = bytes.count > 0 && bytes[0] == UInt8(ascii: "-")
    if isNegative { index += 1 }
    var digits: Int64 = 0
    var decimals = -1
    while index < bytes.count {
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
  static func slow(_ bytes: Span<UInt8>) -> Double? {
    let text = unsafe bytes.withUnsafeBufferPointer { unsafe String(decoding: $0, as: UTF8.self) }
    return Double(text).flatMap { $0.isFinite ? $0 : nil }
  }

  private static let powers: [Double] = {
    var power = 1.0
    return (0...22).map { _ in
      defer { power *= 10 }
      return power
    }
  }()
}
