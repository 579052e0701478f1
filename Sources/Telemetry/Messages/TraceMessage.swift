package import JSON
public import Spatial
public import VehicleData

/// Payload of `trace`: announces a trace, which is a recording of every sensor at full rate around an event.
/// For an impact it also describes the effects. The first message precedes the pieces of the trace.
///
/// Of the messages of one trace, the one with the highest revision is valid.
public struct TraceMessage: Hashable, Sendable {
  /// The cause of a trace.
  public enum Cause: Hashable, Sendable {
    case impact
    /// A command requested the trace.
    case command
    /// A cause unknown to this version.
    case other(String)

    /// Name on the wire.
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
    /// The event has occurred, and the time after it is still being recorded.
    case recording
    /// The trace is complete. `size`, `pieces` and `checksum` refer to the complete trace.
    case complete
    /// The agent or its power stopped before the trace was complete; `size`, `pieces` and `checksum` refer to
    /// the recorded part.
    case interrupted
  }

  /// Effects of an impact on the vehicle.
  public struct Impact: Hashable, Sendable {
    public enum Severity: String, Hashable, Sendable, CaseIterable {
      case light, moderate, severe
    }

    public var severity: Severity
    /// Speed in m/s before the impact; nil if unknown.
    public var speedBefore: Double?
    /// Change of velocity in m/s, along right, forward, up of the vehicle, or along the device's axes if
    /// `isInVehicleFrame` is false.
    public var changeOfVelocity: Vector3
    public var isInVehicleFrame: Bool
    /// Direction from which the force came, in degrees clockwise from the front, 0 ..< 360.
    public var direction: Double
    /// Largest mean over 10 ms of the horizontal acceleration in m/s².
    public var peak: Double
    /// True if the sensor reached the limit of its range, so that the real values were larger.
    public var isClipped: Bool
    /// Duration of the pulse in s.
    public var duration: Double
    /// Largest angle so far in degrees between the vehicle's vertical axis and its direction before the
    /// impact.
    public var largestTilt: Double
    /// True if the vehicle lay on its side or roof after the impact.
    public var hasRolledOver: Bool
    /// Position at which the vehicle came to rest. Nil before that, and if the position is unknown or
    /// private.
    public fileprivate(set) var rest: Coordinate?
    /// Time at which the vehicle came to rest. Nil before that, and if the time is unknown.
    public var restTime: UTCTime?

    public init(
      severity: Severity, speedBefore: Double? = nil, changeOfVelocity: Vector3, isInVehicleFrame: Bool,
      direction: Double, peak: Double, isClipped: Bool = false, duration: Double, largestTilt: Double = 0,
      hasRolledOver: Bool = false, rest: ShownCoordinate? = nil, restTime: UTCTime? = nil
    ) {
      (self.severity, self.speedBefore) = (severity, speedBefore)
      (self.changeOfVelocity, self.isInVehicleFrame) = (changeOfVelocity, isInVehicleFrame)
      (self.direction, self.peak, self.isClipped, self.duration) = (direction, peak, isClipped, duration)
      (self.largestTilt, self.hasRolledOver) = (largestTilt, hasRolledOver)
      (self.rest, self.restTime) = (rest?.coordinate, restTime)
    }
  }

  public var identity: MessageIdentity?
  /// Time of the event that caused the trace.
  public var time: UTCTime
  /// Number of the trace within the vehicle's journal.
  public var trace: JournalNumber
  /// Revision of the announcement, from 1.
  public var revision: Int
  public var cause: Cause
  public var state: State
  /// Time in s recorded before and after the event.
  public var before, after: Double
  /// Size of the trace in bytes, and number of its pieces; nil during the recording.
  public var size, pieces: Int?
  /// CRC-32 (ISO 3309) of all bytes of the trace; nil during the recording.
  public var checksum: UInt32?
  /// Position of the event; nil if unknown or private.
  public private(set) var coordinate: Coordinate?
  /// Horizontal accuracy in m (68 %); nil if unknown.
  public var horizontalAccuracy: Double?
  /// Description of the impact; nil if the trace has another cause.
  public var impact: Impact?

  public init(
    time: UTCTime, trace: JournalNumber, revision: Int = 1, cause: Cause, state: State, before: Double,
    after: Double, size: Int? = nil, pieces: Int? = nil, checksum: UInt32? = nil,
    coordinate: ShownCoordinate? = nil,
    horizontalAccuracy: Double? = nil, impact: Impact? = nil
  ) {
    (self.time, self.trace, self.revision) = (time, trace, revision)
    (self.cause, self.state, self.before, self.after) = (cause, state, before, after)
    (self.size, self.pieces, self.checksum) = (size, pieces, checksum)
    (self.coordinate, self.horizontalAccuracy, self.impact) = (
      coordinate?.coordinate, horizontalAccuracy, impact
    )
  }

  /// Removes positions that must not be published, and the speed, which narrows down the position.
  package mutating func withholdPositions(where isHidden: (Coordinate) -> Bool) {
    if coordinate.map(isHidden) == true {
      (coordinate, horizontalAccuracy) = (nil, nil)
      impact?.speedBefore = nil
    }
    if impact?.rest.map(isHidden) == true { impact?.rest = nil }
  }

  /// Encoded payload.
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
  package init(json: JSONValue) throws(JSONError) {
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

extension TraceMessage: TimedContent {
  static let contract = MessageContract(.trace, lane: .events)
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
