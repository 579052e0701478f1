/// A reason code of MQTT 5 (section 2.4), with which a broker accepts, refuses or ends an operation.
///
/// An open struct: codes without a name here are passed on and printed, too. Return codes of 3.1.1 are mapped
/// to the equivalent codes of 5.
public struct MQTTReasonCode: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
  public var rawValue: UInt8

  public init(rawValue: UInt8) { self.rawValue = rawValue }

  public static let success = MQTTReasonCode(rawValue: 0x00)
  public static let grantedQoS1 = MQTTReasonCode(rawValue: 0x01)
  public static let grantedQoS2 = MQTTReasonCode(rawValue: 0x02)
  public static let noMatchingSubscribers = MQTTReasonCode(rawValue: 0x10)
  public static let unspecifiedError = MQTTReasonCode(rawValue: 0x80)
  public static let malformedPacket = MQTTReasonCode(rawValue: 0x81)
  public static let protocolError = MQTTReasonCode(rawValue: 0x82)
  public static let implementationSpecificError = MQTTReasonCode(rawValue: 0x83)
  public static let unsupportedProtocolVersion = MQTTReasonCode(rawValue: 0x84)
  public static let clientIdentifierNotValid = MQTTReasonCode(rawValue: 0x85)
  public static let badUserNameOrPassword = MQTTReasonCode(rawValue: 0x86)
  public static let notAuthorized = MQTTReasonCode(rawValue: 0x87)
  public static let serverUnavailable = MQTTReasonCode(rawValue: 0x88)
  public static let serverBusy = MQTTReasonCode(rawValue: 0x89)
  public static let banned = MQTTReasonCode(rawValue: 0x8A)
  public static let serverShuttingDown = MQTTReasonCode(rawValue: 0x8B)
  public static let badAuthenticationMethod = MQTTReasonCode(rawValue: 0x8C)
  public static let keepAliveTimeout = MQTTReasonCode(rawValue: 0x8D)
  public static let sessionTakenOver = MQTTReasonCode(rawValue: 0x8E)
  public static let topicFilterInvalid = MQTTReasonCode(rawValue: 0x8F)
  public static let topicNameInvalid = MQTTReasonCode(rawValue: 0x90)
  public static let packetIdentifierInUse = MQTTReasonCode(rawValue: 0x91)
  public static let packetIdentifierNotFound = MQTTReasonCode(rawValue: 0x92)
  public static let receiveMaximumExceeded = MQTTReasonCode(rawValue: 0x93)
  public static let topicAliasInvalid = MQTTReasonCode(rawValue: 0x94)
  public static let packetTooLarge = MQTTReasonCode(rawValue: 0x95)
  public static let messageRateTooHigh = MQTTReasonCode(rawValue: 0x96)
  public static let quotaExceeded = MQTTReasonCode(rawValue: 0x97)
  public static let administrativeAction = MQTTReasonCode(rawValue: 0x98)
  public static let payloadFormatInvalid = MQTTReasonCode(rawValue: 0x99)
  public static let retainNotSupported = MQTTReasonCode(rawValue: 0x9A)
  public static let qosNotSupported = MQTTReasonCode(rawValue: 0x9B)
  public static let useAnotherServer = MQTTReasonCode(rawValue: 0x9C)
  public static let serverMoved = MQTTReasonCode(rawValue: 0x9D)
  public static let sharedSubscriptionsNotSupported = MQTTReasonCode(rawValue: 0x9E)
  public static let connectionRateExceeded = MQTTReasonCode(rawValue: 0x9F)
  public static let maximumConnectTime = MQTTReasonCode(rawValue: 0xA0)
  public static let subscriptionIdentifiersNotSupported = MQTTReasonCode(rawValue: 0xA1)
  public static let wildcardSubscriptionsNotSupported = MQTTReasonCode(rawValue: 0xA2)

  /// Creates the MQTT 5 code equivalent to a CONNACK return code of 3.1.1 (table 3.1 of that specification).
  init(version311ReturnCode code: UInt8) {
    switch code {
    case 0: self = .success
    case 1: self = .unsupportedProtocolVersion
    case 2: self = .clientIdentifierNotValid
    case 3: self = .serverUnavailable
    case 4: self = .badUserNameOrPassword
    case 5: self = .notAuthorized
    default: self = .unspecifiedError
    }
  }

  /// True for codes from 0x80, which report failures.
  public var isError: Bool { rawValue >= 0x80 }

  public var description: String {
    "\(Self.names[self] ?? "unknown reason") (0x\(rawValue < 16 ? "0" : "")\(String(rawValue, radix: 16)))"
  }

  private static let names: [MQTTReasonCode: String] = [
    .success: "success",
    .grantedQoS1: "granted QoS 1",
    .grantedQoS2: "granted QoS 2",
    .noMatchingSubscribers: "no matching subscribers",
    .unspecifiedError: "unspecified error",
    .malformedPacket: "malformed packet",
    .protocolError: "protocol error",
    .implementationSpecificError: "implementation specific error",
    .unsupportedProtocolVersion: "unsupported protocol version",
    .clientIdentifierNotValid: "client identifier not valid",
    .badUserNameOrPassword: "bad user name or password",
    .notAuthorized: "not authorized",
    .serverUnavailable: "server unavailable",
    .serverBusy: "server busy",
    .banned: "banned",
    .serverShuttingDown: "server shutting down",
    .badAuthenticationMethod: "bad authentication method",
    .keepAliveTimeout: "keep alive timeout",
    .sessionTakenOver: "session taken over",
    .topicFilterInvalid: "topic filter invalid",
    .topicNameInvalid: "topic name invalid",
    .packetIdentifierInUse: "packet identifier in use",
    .packetIdentifierNotFound: "packet identifier not found",
    .receiveMaximumExceeded: "receive maximum exceeded",
    .topicAliasInvalid: "topic alias invalid",
    .packetTooLarge: "packet too large",
    .messageRateTooHigh: "message rate too high",
    .quotaExceeded: "quota exceeded",
    .administrativeAction: "administrative action",
    .payloadFormatInvalid: "payload format invalid",
    .retainNotSupported: "retain not supported",
    .qosNotSupported: "QoS not supported",
    .useAnotherServer: "use another server",
    .serverMoved: "server moved",
    .sharedSubscriptionsNotSupported: "shared subscriptions not supported",
    .connectionRateExceeded: "connection rate exceeded",
    .maximumConnectTime: "maximum connect time",
    .subscriptionIdentifiersNotSupported: "subscription identifiers not supported",
    .wildcardSubscriptionsNotSupported: "wildcard subscriptions not supported",
  ]
}
