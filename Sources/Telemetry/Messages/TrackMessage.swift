package import JSON
public import Spatial
public import VehicleData

/// Payload of `track`: a deferred batch of fixes in order. It contains every fix up to its precision, or a
/// thinned track with a stated error bound.
///
/// `points` is Google's encoded polyline with `precision` decimals, readable by any polyline decoder. `times`
/// are milliseconds since `time` as second differences, so that a regular rate requires one character per
/// fix. `accuracies` are differences of numbers, which are decimetres plus one, or 0 for unknown. `altitudes`
/// (decimetres above 10 km below mean sea level) and `speeds` (cm/s) are encoded in the same way. A list is
/// omitted if all of its values are unknown.
public struct TrackMessage: Hashable, Sendable {
  /// A fix of the batch.
  public struct Fix: Hashable, Sendable {
    /// Time of the fix in milliseconds, rounded down.
    public var time: UTCTime
    public private(set) var coordinate: Coordinate
    /// Horizontal accuracy in m (68 %), rounded up to decimetres.
    public var horizontalAccuracy: Double?
    /// Metres above mean sea level, -10,000 to 100,000, rounded to decimetres; nil if unknown.
    public var altitude: Double?
    /// Speed over ground in m/s, 0 to 10,000, rounded to cm/s; nil if unknown.
    public var speed: Double?

    public init(
      time: UTCTime, coordinate: ShownCoordinate, horizontalAccuracy: Double? = nil, altitude: Double? = nil,
      speed: Double? = nil
    ) {
      self.time = time
      self.coordinate = coordinate.coordinate
      self.horizontalAccuracy = horizontalAccuracy
      self.altitude = altitude
      self.speed = speed
    }
  }

  /// Maximum number of fixes read from one message.
  public static let largestCount = 100_000

  public var identity: MessageIdentity?
  public private(set) var fixes: [Fix]
  /// Decimals of a degree, 1 ... 8. Seven resolve a centimetre.
  public let precision: Int
  /// Error bound in m. Every omitted fix is within this distance of the interpolation in time between its
  /// neighbours. Nil if no fix was omitted.
  public var bound: Double?
  /// True if the track corrects locations of the same times that were published while the receiver was
  /// silent.
  public var isCorrection = false
  /// Odometer reading at the last fix; nil without an odometer.
  public var odometer: OdometerReading?

  /// Creates a track. Fixes with invalid coordinates are omitted.
  public init(identity: MessageIdentity?, fixes: [Fix], precision: Int = 7, bound: Double? = nil) {
    self.identity = identity
    self.fixes = fixes.filter(\.coordinate.isValid)
    self.precision = min(max(precision, 1), 8)
    self.bound = bound
  }

  /// Returns the maximum displacement in m of a point by rounding to a precision. The epsilon for thinning
  /// must be reduced by this amount.
  public static func roundingError(precision: Int) -> Double {
    // The maximum is half a unit north and half a unit east. A degree has at most 111.7 km.
    0.5 * 2.0.squareRoot() * 111_700 / TrackEncoder.scale(precision)
  }

  /// Encoded payload.
  public var payload: [UInt8] {
    var way = TrackEncoder(start: fixes.first?.time ?? UTCTime(nanoseconds: 0), precision: precision)
    var (accuracies, altitudes, speeds) = (DeltaEncoder(), DeltaEncoder(), DeltaEncoder())
    for fix in fixes {
      way.append(fix.coordinate, at: fix.time)
      accuracies.append(Self.decimetres(fix.horizontalAccuracy))
      altitudes.append(Self.units(fix.altitude, from: Self.lowest, in: 10, most: 1e5))
      speeds.append(Self.units(fix.speed, from: 0, in: 100, most: 1e4))
    }
    return JSONWriter.object { json in
      json.field("time", way.start.rfc3339)
      json.field("count", fixes.count)
      json.field("precision", precision)
      json.field("bound", bound, decimals: 3)
      if isCorrection { json.field("correction", true) }
      odometer?.write(to: &json)
      way.write(to: &json)
      if fixes.contains(where: { $0.horizontalAccuracy != nil }) {
        json.field("accuracies", String(decoding: accuracies.text, as: UTF8.self))
      }
      if fixes.contains(where: { $0.altitude != nil }) {
        json.field("altitudes", String(decoding: altitudes.text, as: UTF8.self))
      }
      if fixes.contains(where: { $0.speed != nil }) {
        json.field("speeds", String(decoding: speeds.text, as: UTF8.self))
      }
      json.write(identity)
    }
  }

  /// - Throws: `JSONError` naming the key that is missing, out of range or has another number of values than
  ///   `count`.
  package init(json: JSONValue) throws(JSONError) {
    let start = try json.requiredTime("time")
    let count = Int(try json.required("count", in: 0...Double(Self.largestCount)))
    precision = Int(try json.required("precision", in: 1...8))
    bound = try json.optional("bound", in: 0...1e8)
    isCorrection = json["correction"]?.bool ?? false
    odometer = OdometerReading(json: json)
    identity = json.identity
    var way = try TrackDecoder(json: json, start: start, count: count, precision: precision)
    let accuracies =
      json["accuracies"] == nil ? nil : try DeltaDecoder.numbers(json, "accuracies", count: count)
    let altitudes = json["altitudes"] == nil ? nil : try DeltaDecoder.numbers(json, "altitudes", count: count)
    let speeds = json["speeds"] == nil ? nil : try DeltaDecoder.numbers(json, "speeds", count: count)
    fixes = []
    fixes.reserveCapacity(count)
    for index in 0..<count {
      let place = try way.next()
      var fix = Fix(time: place.time, coordinate: PrivacyPolicy.unrestricted(place.coordinate))
      if let value = accuracies?[index], value > 0 { fix.horizontalAccuracy = Double(value - 1) / 10 }
      fix.altitude = Self.value(altitudes?[index], from: Self.lowest, in: 10, most: 1e5)
      fix.speed = Self.value(speeds?[index], from: 0, in: 100, most: 1e4)
      fixes.append(fix)
    }
  }

  private static func decimetres(_ metres: Double?) -> Int64 {
    guard let metres, metres.isFinite, metres >= 0 else { return 0 }
    return Int64((min(metres, 1e8) * 10 - 1e-6).rounded(.up)) + 1
  }

  /// Altitude in m from which encoded altitudes count, so that 0 means unknown.
  private static let lowest = -10_000.0

  /// Returns the value in units from `lowest`, plus one; 0 if the value is unknown or out of range.
  private static func units(_ value: Double?, from lowest: Double, in scale: Double, most: Double) -> Int64 {
    guard let value, value.isFinite, (lowest...most).contains(value) else { return 0 }
    return Int64(((value - lowest) * scale).rounded()) + 1
  }

  private static func value(_ units: Int64?, from lowest: Double, in scale: Double, most: Double) -> Double? {
    guard let units, units > 0, Double(units - 1) <= (most - lowest) * scale else { return nil }
    // The sum is in whole units, so that 520.3 is decoded exactly.
    return (Double(units - 1) + lowest * scale) / scale
  }
}

extension TrackMessage: MessageContent {
  static let contract = MessageContract(.track, lane: .tracks)
  var messageTime: UTCTime? { fixes.first?.time }
}
