internal import JSON
internal import Spatial

/// The payload of one kind of message, with everything that the contract defines for the kind.
///
/// A new kind is a type that conforms to this protocol, a case of `VehicleMessage`, and a case of `MessageKind` if fleets can
/// select it.
protocol MessageContent: Hashable, Sendable {
  /// Topic and delivery of all messages of the kind.
  static var contract: MessageContract { get }
  /// Topic below the vehicle's topic.
  var path: String { get }
  /// Epoch and sequence number; always nil for kinds without an identity.
  var identity: MessageIdentity? { get set }
  /// Time of the message by the vehicle's clock; nil if there is none.
  var messageTime: UTCTime? { get }
  /// Encoded payload.
  var payload: [UInt8] { get }

  init(json: JSONValue) throws(JSONError)
}

/// A content with a time of its own.
protocol TimedContent: MessageContent {
  var time: UTCTime { get }
}

extension TimedContent {
  var messageTime: UTCTime? { time }
}

extension MessageContent {
  var path: String { Self.contract.path }

  var identity: MessageIdentity? {
    get { nil }
    set {}  // The payload has no members for it.
  }
}

/// Topic and delivery of a kind of message.
struct MessageContract: Sendable {
  /// Topic below the vehicle's topic, for example "location" or "config/reported".
  let path: String
  /// The queue in which the message waits for the broker's acknowledgement. Nil for messages that have no
  /// value later; they are sent immediately or dropped.
  let lane: DeliveryLane?
  /// MQTT quality of service.
  let qos: Int
  /// True if the broker retains the message.
  let isRetained: Bool
  /// Time in s after which the message has no value and expires; nil if it never expires.
  let expiry: Int?
  /// True if the payload contains epoch and sequence number.
  let carriesIdentity: Bool
  /// True if the message answers a remote request. Answers always use the native format.
  let isAnswer: Bool

  init(
    path: String, lane: DeliveryLane? = nil, qos: Int = 1, isRetained: Bool = false, expiry: Int? = nil,
    carriesIdentity: Bool = true, isAnswer: Bool = false
  ) {
    (self.path, self.lane, self.qos, self.isRetained, self.expiry) = (path, lane, qos, isRetained, expiry)
    (self.carriesIdentity, self.isAnswer) = (carriesIdentity, isAnswer)
  }

  init(
    _ kind: MessageKind, lane: DeliveryLane? = nil, qos: Int = 1, isRetained: Bool = false,
    expiry: Int? = nil, carriesIdentity: Bool = true
  ) {
    self.init(
      path: kind.rawValue, lane: lane, qos: qos, isRetained: isRetained, expiry: expiry,
      carriesIdentity: carriesIdentity)
  }
}
