internal import Bytes

/// Why there is no connection to a broker.
public struct MQTTDisconnection: Error, Hashable, Sendable, CustomStringConvertible {
  /// How far the attempt had come.
  public enum Phase: String, Hashable, Sendable, Comparable, CaseIterable {
    case lookup = "name lookup"
    case tcp = "TCP connection"
    case tls = "TLS handshake"
    case connect = "MQTT connection"
    case established

    /// The earlier one is the smaller.
    public static func < (a: Phase, b: Phase) -> Bool {
      allCases.firstIndex(of: a) ?? 0 < allCases.firstIndex(of: b) ?? 0
    }
  }

  public enum Cause: Hashable, Sendable {
    /// The name has no address, or nobody listens there, or no route leads there.
    case unreachable(String)
    /// Nothing came back in time.
    case timedOut(seconds: Double)
    /// The broker ended the connection without a word.
    case closedByPeer
    /// The network or the kernel ended the connection.
    case networkError(String)
    /// Certificate, key or protocol do not fit.
    case tls(String)
    /// The broker said no; with its own words where it gave some.
    case refused(MQTTReasonCode, String?)
    /// The broker ended an established connection and said why.
    case disconnectedByServer(MQTTReasonCode)
    /// The broker answered no ping.
    case keepAliveExpired
    /// The machine slept for longer than the broker waits.
    case suspended(seconds: Double)
    /// The broker broke the protocol's rules.
    case protocolViolation(String)
    /// The broker cannot do what the session needs.
    case unsuitable(String)
    /// The handler could not keep a batch; it was not acknowledged.
    case notCommitted(String)
    /// The settings cannot work: a missing file, for one.
    case configuration(String)
    /// The wall clock stands before the time at which it can be right, so no certificate can be judged.
    case clockNotSet
    /// The burst is over; the next `wakeUp` opens the link again.
    case asleep
    /// Credentials were renewed; the connection is made anew with them.
    case renewing
    /// `stop` was called.
    case stopped
  }

  public var broker: MQTTConfiguration.Broker
  public var phase: Phase
  public var cause: Cause

  public var description: String {
    let place = phase == .established ? "connection to \(broker)" : "\(phase.rawValue) to \(broker)"
    switch cause {
    case .unreachable(let why): return "\(place) failed: \(why)"
    case .timedOut(let seconds): return "\(place): no answer within \(Int(seconds)) s"
    case .closedByPeer: return "\(place): closed by the other side without a reason"
    case .networkError(let why): return "\(place) lost: \(why)"
    case .tls(let why): return "\(place) failed: \(why)"
    case .refused(let code, let text):
      return "\(broker) refused the connection: \(code)" + (text.map { " - \"\($0)\"" } ?? "")
    case .disconnectedByServer(let code): return "\(broker) ended the connection: \(code)"
    case .keepAliveExpired: return "\(place) lost: no answer to the keep-alive ping"
    case .suspended(let seconds): return "\(place) lost: the machine slept \(Int(seconds)) s"
    case .protocolViolation(let why): return "\(place) ended: the broker broke the protocol (\(why))"
    case .unsuitable(let why): return "\(broker) cannot be used: \(why)"
    case .notCommitted(let why): return "\(place) ended: received messages could not be kept: \(why)"
    case .configuration(let why): return "connection to \(broker) not tried: \(why)"
    case .clockNotSet: return "\(place) put off: the wall clock is not set, so no certificate can be judged"
    case .asleep: return "\(place) closed until the next burst"
    case .renewing: return "\(place) closed to be made anew with renewed credentials"
    case .stopped: return "\(place) ended by this side"
    }
  }

  /// Whether the TLS handshake ended because the broker did not believe this side, which OpenSSL calls an alert.
  package var isRefusedByBroker: Bool {
    guard case .tls(let why) = cause else { return false }
    return why.contains(text: " alert ") && !why.contains(text: "protocol version")
  }

  /// Returns the remedy for a refused certificate, by OpenSSL's reason.
  private static func remedy(forTLS why: String) -> String {
    if why.contains(text: "not for the name") {
      return "use a host name of the certificate, or issue one with this name"
    }
    if why.contains(text: "expired") { return "renew the broker's certificate, or set this machine's clock" }
    if why.contains(text: "not yet valid") {
      return "set this machine's clock, or issue the certificate anew"
    }
    if why.contains(text: "issuer") || why.contains(text: "self-signed") || why.contains(text: "self signed")
    {
      return "check that the CA file contains the authority of the broker's certificate"
    }
    return "check the CA file, the certificate's dates and names, and this machine's clock"
  }

  /// What a person can do about it; nil when waiting is all.
  public var remedy: String? {
    switch cause {
    case .unreachable where phase == .lookup: "check the host name and the resolver (/etc/resolv.conf)"
    case .unreachable: "check that the broker runs and listens on this address and port, and the firewall"
    case .timedOut where phase == .tcp: "check the route to the broker and the firewall"
    case .timedOut where phase == .connect: "check that this port speaks MQTT, and whether it wants TLS"
    case .closedByPeer where phase == .connect:
      "check that this port speaks MQTT, and whether it wants TLS or a client certificate"
    case .closedByPeer where phase == .tls:
      "check that this port speaks TLS, and whether it wants a client certificate"
    case .tls where isRefusedByBroker:
      "the broker refuses this client: check its certificate and key, and that the broker knows their CA"
    case .tls(let why): Self.remedy(forTLS: why)
    case .refused(.badUserNameOrPassword, _), .refused(.badAuthenticationMethod, _):
      "check user name and password against the broker's password file"
    case .refused(.notAuthorized, _):
      "check user name, certificate and the broker's access list for this client identifier"
    case .refused(.clientIdentifierNotValid, _): "choose another client identifier"
    case .refused(.unsupportedProtocolVersion, _):
      "allow MQTT 3.1.1 in the configuration, or update the broker"
    case .disconnectedByServer(.sessionTakenOver):
      "another client uses the same client identifier: give each its own"
    case .clockNotSet: "set the clock: by GNSS, NTP or a battery-backed clock"
    case .unsuitable, .configuration: "change the configuration"
    default: nil
    }
  }
}
