public import JSON
public import Spatial

/// Payload of `trace`: there is a trace, every sensor at full rate around a moment, and of an impact what it was. It goes before the pieces.
///
/// Of the messages of one trace the one with the greatest revision says all that is known.
public struct TraceMessage: Hashable, Sendable {
  /// What a trace was kept for.
  public enum Cause: Hashable, Sendable {
    case impact
    /// Somebody asked for it.
    case command
    /// One that this version does not know.
    case other(String)

    /// As it is written.
    public var name: String {
      switch self {
      case .impact: "impact"
      case .command: "command"
      case .other(let name): name
      }
    }

    init(name: String) { self = [.impact, .command].first { $0.name == name } ?? .other(name) }
  }

  public enum State: String, Hashable, Sendable, CaseIterable {
    /// The time after the moment is still being recorded.
    case recording
    /// It is whole, and `size`, `pieces` and `checksum` are those of it.
    case complete
    /// The agent or its power ended before it was whole; the same hold of what there is.
    case interrupted
  }

  /// What a blow did to the vehicle.
  public struct Impact: Hashable, Sendable {
    public enum Severity: String, Hashable, Sendable, CaseIterable {
      case light, moderate, severe
    }

    public var severity: Severity
    /// m/s before it; nil where that is not known.
    public var speedBefore: Double?
    /// m/s: the change of velocity, right, forward, up of the vehicle; of the device where `isInVehicleFrame` is false.
    public var changeOfVelocity: Vector3
    public var isInVehicleFrame: Bool
    /// Degrees clockwise from the front, 0 ..< 360: where the force came from.
    public var direction: Double
    /// m/s²: the largest mean over 10 ms of the acceleration in the plane.
    public var peak: Double
    /// Whether the sensor was at its limit, so that it was more.
    public var isClipped: Bool
    /// Seconds of the pulse.
    public var duration: Double
    /// Degrees: the largest angle so far between up of the vehicle and up of before the blow.
    public var largestTilt: Double
    /// Whether it lay on its side or roof.
    public var hasRolledOver: Bool
    /// Where and when it came to rest; nil before, and where nobody knows or may know.
    public var rest: Coordinate?
    public var restTime: UTCTime?

    public init(
      severity: Severity, speedBefore: Double? = nil, changeOfVelocity: Vector3, isInVehicleFrame: Bool,
      direction: Double, peak: Double, isClipped: Bool = false, duration: Double, largestTilt: Double = 0,
      hasRolledOver: Bool = false, rest: Coordinate? = nil, restTime: UTCTime? = nil
    ) {
      (self.severity, self.speedBefore) = (severity, speedBefore)
      (self.changeOfVelocity, self.isInVehicleFrame) = (changeOfVelocity, isInVehicleFrame)
      (self.direction, self.peak, self.isClipped, self.duration) = (direction, peak, isClipped, duration)
      (self.largestTilt, self.hasRolledOver) = (largestTilt, hasRolledOver)
      (self.rest, self.restTime) = (rest, restTime)
    }
  }

  public var identity: MessageIdentity?
  /// The moment that it was kept for.
  public var time: UTCTime
  /// Which of the vehicle's traces it is.
  public var trace: JournalNumber
  /// From 1.
  public var revision: Int
  public var cause: Cause
  public var state: State
  /// Seconds that it begins before the moment and ends after it.
  public var before, after: Double
  /// Bytes of the whole, how many pieces they come in, and their CRC-32 (ISO 3309); nil while it is being recorded.
  public var size, pieces: Int?
  public var checksum: UInt32?
  /// Where it was; nil where nobody knows or may know.
  public var coordinate: Coordinate?
  /// Metres at 68 %; nil when unknown.
  public var horizontalAccuracy: Double?
  /// Nil for what no blow was the cause of.
  public var impact: Impact?

  public init(
    time: UTCTime, trace: JournalNumber, revision: Int = 1, cause: Cause, state: State, before: Double,
    after: Double, size: Int? = nil, pieces: Int? = nil, checksum: UInt32? = nil,
    coordinate: Coordinate? = nil,
    horizontalAccuracy: Double? = nil, impact: Impact? = nil
  ) {
    (self.time, self.trace, self.revision) = (time, trace, revision)
    (self.cause, self.state, self.before, self.after) = (cause, state, before, after)
    (self.size, self.pieces, self.checksum) = (size, pieces, checksum)
    (self.coordinate, self.horizontalAccuracy, self.impact) = (coordinate, horizontalAccuracy, impact)
  }

  /// The wire form.
  public var payload: [UInt8] {
    JSONWriter.object { json in
      json.field("time", time.rfc3339)
      trace.write(to: &json)
      json.field("revision", revision)
      json.field("cause", cause.name)
      json.field("state", state.rawValue)
      json.field("before", before, decimals: 2)
      json.field("after", after, decimals: 2)
      json.field("size", size)
      json.field("pieces", pieces)
      json.field("checksum", checksum.map(Self.text))
      json.field("latitude", coordinate?.latitude, decimals: 8)
      json.field("longitude", coordinate?.longitude, decimals: 8)
      json.field("horizontalAccuracy", horizontalAccuracy, decimals: 2)
      if let impact { json.field("impact") { impact.write(to: &$0) } }
      json.write(identity)
    }
  }

  /// - Throws: `JSONError` naming the key that is missing or wrong.
  public init(json: JSONValue) throws(JSONError) {
    time = try json.requiredTime("time")
    trace = try JournalNumber(json: json)
    revision = Int(try json.required("revision", in: 1...1e9))
    guard let cause = json["cause"]?.string, !cause.isEmpty else {
      throw JSONError("key \"cause\": missing or not a string")
    }
    self.cause = Cause(name: cause)
    let word = json["state"]?.string ?? ""
    guard let state = State(rawValue: word) else {
      throw JSONError("key \"state\": \"\(word.prefix(40))\" is not one of recording, complete, interrupted")
    }
    self.state = state
    before = try json.required("before", in: 0...86_400)
    after = try json.required("after", in: 0...86_400)
    size = try json.optional("size", in: 0...1e9).map { Int($0) }
    pieces = try json.optional("pieces", in: 1...1e6).map { Int($0) }
    if let text = json["checksum"]?.string {
      guard text.utf8.count == 8, let checksum = UInt32(text, radix: 16) else {
        throw JSONError("key \"checksum\": not 8 hexadecimal digits")
      }
      self.checksum = checksum
    }
    coordinate = try Coordinate(optional: json)
    horizontalAccuracy = try json.optional("horizontalAccuracy", in: 0...1e8)
    if let blow = json["impact"] { impact = try Impact(json: blow) }
    identity = json.identity
  }

  private static func text(_ checksum: UInt32) -> String {
    let digits = String(checksum, radix: 16)
    return String(repeating: "0", count: 8 - digits.utf8.count) + digits
  }
}

extension TraceMessage.Impact {
  fileprivate func write(to json: inout JSONWriter) {
    json.field("severity", severity.rawValue)
    json.field("speedBefore", speedBefore, decimals: 2)
    json.field("changeOfVelocity", changeOfVelocity, decimals: 2)
    json.field("frame", isInVehicleFrame ? "vehicle" : "device")
    json.field("direction", direction, decimals: 1)
    json.field("peak", peak, decimals: 1)
    if isClipped { json.field("clipped", true) }
    json.field("duration", duration, decimals: 3)
    json.field("largestTilt", largestTilt, decimals: 1)
    if hasRolledOver { json.field("rolledOver", true) }
    guard rest != nil || restTime != nil else { return }
    json.field("rest") { json in
      json.field("time", restTime?.rfc3339)
      json.field("latitude", rest?.latitude, decimals: 8)
      json.field("longitude", rest?.longitude, decimals: 8)
    }
  }

  fileprivate init(json: JSONValue) throws(JSONError) {
    let word = json["severity"]?.string ?? ""
    guard let severity = Severity(rawValue: word) else {
      throw JSONError("key \"severity\": \"\(word.prefix(40))\" is not one of light, moderate, severe")
    }
    guard let change = json["changeOfVelocity"]?.vector, change.isFinite else {
      throw JSONError("key \"changeOfVelocity\": missing or not three numbers")
    }
    let frame = json["frame"]?.string
    guard frame == "vehicle" || frame == "device" else {
      throw JSONError("key \"frame\": missing or not one of vehicle, device")
    }
    self.init(
      severity: severity, speedBefore: try json.optional("speedBefore", in: 0...1e4),
      changeOfVelocity: change,
      isInVehicleFrame: frame == "vehicle", direction: try json.required("direction", in: 0...360),
      peak: try json.required("peak", in: 0...1e6), isClipped: json["clipped"]?.bool ?? false,
      duration: try json.required("duration", in: 0...60),
      largestTilt: try json.optional("largestTilt", in: 0...180) ?? 0,
      hasRolledOver: json["rolledOver"]?.bool ?? false)
    guard let rest = json["rest"] else { return }
    self.rest = try Coordinate(optional: rest)
    restTime = rest["time"]?.string.flatMap { UTCTime(rfc3339: $0) }
  }
}
