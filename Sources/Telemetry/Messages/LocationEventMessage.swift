package import JSON
public import Spatial
public import VehicleData

/// Payload of `location/event`: location updates failed, paused or resumed, or a deferral ended.
public struct LocationEventMessage: Hashable, Sendable {
  public enum Event: Hashable, Sendable {
    case failed
    /// Positions are available again after `failed`.
    case recovered
    case paused
    case resumed
    case deferralEnded
    /// Other measurements contradict the positions.
    case suspect
    /// The positions are plausible again.
    case plausible
    /// An event unknown to this version.
    case other(String)

    /// Name on the wire.
    public var name: String {
      switch self {
      case .failed: "failed"
      case .recovered: "recovered"
      case .paused: "paused"
      case .resumed: "resumed"
      case .deferralEnded: "deferralEnded"
      case .suspect: "suspect"
      case .plausible: "plausible"
      case .other(let name): name
      }
    }

    init(name: String) {
      let known: [Event] = [
        .failed, .recovered, .paused, .resumed, .deferralEnded, .suspect, .plausible,
      ]
      self = known.first { $0.name == name } ?? .other(name)
    }
  }

  public var identity: MessageIdentity?
  /// Time of the event.
  public var time: UTCTime
  public var event: Event
  /// Name of the failure or deferral error, for example `positionUnknown`; nil for other events.
  public var error: String?
  /// The reason, as a sentence; nil if there is none.
  public var reason: String?
  /// The remedy.
  public var remedy: String?
  /// Number of preceding events that were suppressed by the rate limit.
  public var suppressed = 0

  public init(time: UTCTime, event: Event, error: String? = nil, reason: String? = nil, remedy: String? = nil)
  {
    self.time = time
    self.event = event
    self.error = error
    self.reason = reason
    self.remedy = remedy
  }

  /// Creates an event for positions that became suspect, or that are plausible again.
  /// - Parameter suspicion: nil if the positions are plausible again.
  public init(time: UTCTime, suspicion: Suspicion?) {
    self.init(
      time: time, event: suspicion == nil ? .plausible : .suspect, error: suspicion?.reason.rawValue,
      reason: suspicion?.reason.problem ?? "the positions agree with all measurements again",
      remedy: suspicion?.reason.remedy)
  }

  public var payload: [UInt8] {
    JSONWriter.object { json in
      json.field("time", time.rfc3339)
      json.field("event", event.name)
      json.field("error", error)
      json.field("reason", reason)
      json.field("remedy", remedy)
      if suppressed > 0 { json.field("suppressed", suppressed) }
      json.write(identity)
    }
  }

  /// - Throws: `JSONError` naming the key that is missing or wrong.
  package init(json: JSONValue) throws(JSONError) {
    time = try json.requiredTime("time")
    guard let name = json["event"]?.string, !name.isEmpty else {
      throw JSONError("key \"event\": missing or not a string")
    }
    event = Event(name: name)
    error = json["error"]?.string
    reason = json["reason"]?.string
    remedy = json["remedy"]?.string
    suppressed = json["suppressed"]?.integer.map { Int(clamping: $0) } ?? 0
    identity = json.identity
  }
}

extension LocationEventMessage: TimedContent {
  static let contract = MessageContract(.locationEvent, lane: .events)
}

extension Suspicion.Reason {
  /// The reason as a sentence for the operator.
  public var problem: String {
    switch self {
    case .jump: "the position jumped farther than any vehicle moves"
    case .velocity: "the position drifts against the receiver's own velocity"
    case .navigation: "the position contradicts inertial navigation"
    case .wheels: "the receiver's speed contradicts the wheel speed"
    case .other: "other measurements contradict the position"
    case .beacons: "known access points and cells indicate another position"
    }
  }

  var remedy: String {
    "regions and alerts wait; if it lasts, check the antenna and look for a jammer or a GNSS repeater nearby"
  }
}
