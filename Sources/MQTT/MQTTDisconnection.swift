internal import Bytes

/// The reason why there is no connection to a broker.
public struct MQTTDisconnection: Error, Hashable, Sendable, CustomStringConvertible {
  /// The phase that a connection attempt reached.
  public enum Phase: String, Hashable, Sendable, Comparable, CaseIterable {
    case lookup = "name lookup"
    case tcp = "TCP connection"
    case tls = "TLS handshake"
    case connect = "MQTT connection"
    case established

    /// Earlier phases are smaller.
    public static func < (a: Phase, b: Phase) -> Bool {
      allCases.firstIndex(of: a) ?? 0 < allCases.firstIndex(of: b) ?? 0
    }
  }

  public enum Cause: Hashable, Sendable {
    /// The name has no address, the port is closed, or there is no route.
    case unreachable(String)
    /// No answer arrived within the time limit.
    case timedOut(seconds: Double)
    /// The broker closed the connection without a reason.
    case closedByPeer
    /// The network or the kernel ended the connection.
    case networkError(String)
    /// A problem with certificate, key or TLS version.
    case tls(String)
    /// The broker refused the connection, with its explanation if it sent one.
    case refused(MQTTReasonCode, String?)
    /// The broker ended an established connection with a reason.
    case disconnectedByServer(MQTTReasonCode)
    /// The broker did not answer a ping.
    case keepAliveExpired
    /// The broker did not acknowledge messages or subscriptions, although it answered pings.
    case unanswered(seconds: Double)
    /// The machine was suspended for longer than the broker waits.
    case suspended(seconds: Double)
    /// The broker violated the protocol.
    case protocolViolation(String)
    /// The broker lacks a capability that the session requires.
    case unsuitable(String)
    /// The handler could not store a batch; it was not acknowledged.
    case notCommitted(String)
    /// The settings cannot work, for example because of a missing file.
    case configuration(String)
    /// The wall clock is before the earliest plausible time, so certificates cannot be verified.
    case clockNotSet
    /// The burst is over; the next `wakeUp` opens the link again.
    case asleep
    /// Credentials were renewed; the session reconnects with them.
    case renewing
    /// The settings of the connection were changed; the session reconnects with them.
    case reconfiguring
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
    case .unanswered(let seconds):
      return "\(place) ended: the broker acknowledged no messages or subscriptions within \(Int(seconds)) s"
    case .suspended(let seconds): return "\(place) lost: the machine slept \(Int(seconds)) s"
    case .protocolViolation(let why): return "\(place) ended: the broker broke the protocol (\(why))"
    case .unsuitable(let why): return "\(broker) cannot be used: \(why)"
    case .notCommitted(let why): return "\(place) ended: received messages could not be stored: \(why)"
    case .configuration(let why): return "connection to \(broker) not tried: \(why)"
    case .clockNotSet:
      return "\(place) postponed: the wall clock is not set, so certificates cannot be checked"
    case .asleep: return "\(place) closed until the next burst"
    case .renewing: return "\(place) closed, to reconnect with renewed credentials"
    case .reconfiguring: return "\(place) closed, to reconnect with changed settings"
    case .stopped: return "\(place) ended by this side"
    }
  }

  /// True if this side closed the connection to open it again later.
  package var isTemporary: Bool {
    switch cause {
    case .asleep, .renewing, .reconfiguring: true
    default: false
    }
  }

  /// True if the TLS handshake ended because the broker rejected this client, which OpenSSL reports as an
  /// alert.
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
      return "set this machine's clock, or issue a new certificate"
    }
    if why.contains(text: "issuer") || why.contains(text: "self-signed") || why.contains(text: "self signed")
    {
      return "check that the CA file contains the authority of the broker's certificate"
    }
    return "check the CA file, the certificate's dates and names, and this machine's clock"
  }

  /// Remedy for the operator; nil if waiting suffices.
  public var remedy: String? {
    switch cause {
    case .unreachable where phase == .lookup: "check the host name and the resolver (/etc/resolv.conf)"
    case .unreachable: "check that the broker runs and listens on this address and port, and the firewall"
    case .timedOut where phase == .tcp: "check the route to the broker and the firewall"
    case .timedOut where phase == .connect: "check that this port speaks MQTT, and whether it requires TLS"
    case .closedByPeer where phase == .connect:
      "check that this port speaks MQTT, and whether it requires TLS or a client certificate"
    case .closedByPeer where phase == .tls:
      "check that this port speaks TLS, and whether it requires a client certificate"
    case .tls where isRefusedByBroker:
      "the broker refuses this client: check its certificate and key, and that the broker trusts their CA"
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
    case .unanswered: "check the broker's log and its storage, or restart the broker"
    case .clockNotSet: "set the clock: by GNSS, NTP or a battery-backed clock"
    case .unsuitable, .configuration: "change the configuration"
    default: nil
    }
  }
}
