package import JSON
public import Spatial
public import VehicleData

/// Payload of `motion`: a gesture, an impact or another event of the vehicle's motion.
public struct MotionMessage: Hashable, Sendable {
  public enum ShakePhase: String, Hashable, Sendable, CaseIterable {
    case began
    case ended
    case cancelled
  }

  public enum Event: Hashable, Sendable {
    /// A shake. `axis` is the axis of the swings so far; nil from vehicles that do not report it.
    case shake(ShakePhase, axis: ShakeAxis?)
    /// An impact. `peak` is in g. `direction` points towards the origin of the impact, in the frame `axes`;
    /// nil if unknown.
    case impact(side: Impact.Side, peak: Double, direction: Vector3?)
    case orientation(DeviceOrientation)
    case activity(MotionState)
    /// An event unknown to this version.
    case other(String)

    /// Name on the wire.
    public var name: String {
      switch self {
      case .shake: "shake"
      case .impact: "impact"
      case .orientation: "orientation"
      case .activity(let state): state.rawValue
      case .other(let name): name
      }
    }
  }

  public var identity: MessageIdentity?
  /// Time of the event.
  public var time: UTCTime
  public var event: Event
  /// Axes to which an impact's side and direction refer; nil for other events, and from vehicles that do not
  /// report the axes.
  public var axes: BodyAxes?

  public init(identity: MessageIdentity? = nil, time: UTCTime, event: Event, axes: BodyAxes? = nil) {
    self.identity = identity
    self.time = time
    self.event = event
    self.axes = axes
  }

  public var payload: [UInt8] {
    JSONWriter.object { json in
      json.field("time", time.rfc3339)
      json.field("event", event.name)
      switch event {
      case .shake(let phase, let axis):
        json.field("phase", phase.rawValue)
        json.field("axis", axis?.rawValue)
      case .impact(let side, let peak, let direction):
        json.field("side", side.rawValue)
        json.field("peak", peak, decimals: 3)
        json.field("direction", direction, decimals: 4)
      case .orientation(let orientation): json.field("orientation", orientation.rawValue)
      case .activity, .other: break
      }
      json.field("axes", axes?.rawValue)
      json.write(identity)
    }
  }

  /// - Throws: `JSONError` naming the key that is missing or wrong.
  package init(json: JSONValue) throws(JSONError) {
    time = try json.requiredTime("time")
    let name = json["event"]?.string ?? ""
    switch name {
    case "shake":
      let axis = json["axis"]?.string.flatMap(ShakeAxis.init)
      event = .shake(try json.requiredCase("phase"), axis: axis)
    case "impact":
      event = .impact(
        side: try json.requiredCase("side"), peak: try json.required("peak", in: 0...1e6),
        direction: json["direction"]?.vector)
    case "orientation": event = .orientation(try json.requiredCase("orientation"))
    default:
      guard !name.isEmpty else { throw JSONError("key \"event\": missing or not a string") }
      event = MotionState(rawValue: name).map { .activity($0) } ?? .other(name)
    }
    axes = json["axes"]?.string.flatMap(BodyAxes.init)
    identity = json.identity
  }
}

extension MotionMessage: TimedContent {
  static let contract = MessageContract(.motion, lane: .events)
}

extension JSONValue {
  fileprivate func requiredCase<Value: RawRepresentable & CaseIterable>(
    _ name: String
  ) throws(JSONError) -> Value where Value.RawValue == String {
    guard let text = self[name]?.string, let value = Value(rawValue: text) else {
      let names = Value.allCases.map(\.rawValue).joined(separator: ", ")
      throw JSONError("key \"\(name)\": must be one of \(names)")
    }
    return value
  }
}
