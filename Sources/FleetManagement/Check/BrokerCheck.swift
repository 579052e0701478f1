package import Fleet
package import MQTT
internal import Platform
internal import Telemetry

/// A test of a broker's configuration from the view of a consumer, such as reachability, authentication and
/// permissions.
///
/// The test leaves nothing at the broker and does not disturb vehicles: test messages are published for a
/// vehicle that does not exist, and are not retained.
package struct BrokerCheck {
  /// The name of a vehicle that does not exist, for which test messages are published.
  static let probeVehicle = "odograph-check"
  /// The number of days before the expiry of the broker's certificate from which a warning is reported.
  private static let expiryWarning = 21.0

  package private(set) var findings: [CheckFinding] = []
  /// The reason why the broker cannot be used; nil if it accepts the connection.
  package private(set) var failure: FleetError.LinkFailure?

  /// Runs all checks.
  ///
  /// - Parameters:
  ///   - root: the topic prefix of all fleets.
  ///   - fleets: the fleets whose topics are tested; empty for all.
  /// - Throws: `FleetError` for invalid settings, and if a signal arrives.
  package init(_ broker: MQTTConfiguration, root: String, fleets: [String]) throws(FleetError) {
    guard let properties = try reach(broker) else { return }
    limits(properties)
    findings += try CheckRights(broker, root: root, fleets: fleets, isVersion5: properties.protocolLevel == 5)
      .run()
  }

  /// Checks DNS lookup, TCP, TLS and login.
  private mutating func reach(_ broker: MQTTConfiguration) throws(FleetError) -> MQTTServerProperties? {
    let certificateFile = broker.tls?.identity?.certificateFile
    let outcome: BrokerProbe.Finding?
    do throws(OperationError) { outcome = try BrokerProbe.run(broker, timeout: 15).first } catch {
      throw FleetError(error)
    }
    switch outcome {
    case .accepting(let properties), .rejecting(let properties, _):
      let version = properties.protocolLevel == 5 ? "5" : "3.1.1"
      findings.append(CheckFinding("reach", .ok, "\(properties.broker) speaks MQTT \(version)"))
      findings += Self.tls(properties, isWanted: broker.tls != nil)
      let user = broker.userName.map { "as \"\($0)\"" }
      let certificate = certificateFile.map { "with certificate \($0)" }
      let who = [user, certificate].compactMap { $0 }.joined(separator: " ")
      findings.append(
        who.isEmpty
          ? CheckFinding(
            "login", .warning, "anonymous login accepted: every client can connect",
            remedy: "disable allow_anonymous if other hosts can reach the broker")
          : CheckFinding("login", .ok, "accepted \(who)"))
      return properties
    case .refused(let reason):
      failure = .unusable
      findings.append(CheckFinding("reach", .ok, "\(reason.broker) answers"))
      findings.append(CheckFinding("login", .failed, reason.description, remedy: reason.remedy))
    case .unreachable(let reason):
      failure = FleetError(reason).link
      let subject = reason.phase == .tls ? "tls" : "reach"
      if reason.phase == .tls { findings.append(CheckFinding("reach", .ok, "\(reason.broker) accepts TCP")) }
      var remedy = reason.remedy
      // A broker that requires a client certificate often closes the connection without a reason, with TLS
      // 1.3 after the handshake.
      if broker.tls != nil, certificateFile == nil, reason.phase >= .tls {
        let hint = "set --cert and --key if the broker requires a client certificate"
        remedy = remedy.map { "\($0); \(hint)" } ?? hint
      }
      findings.append(CheckFinding(subject, .failed, reason.description, remedy: remedy))
    case nil: break
    }
    return nil
  }

  private static func tls(_ properties: MQTTServerProperties, isWanted: Bool) -> [CheckFinding] {
    guard isWanted else {
      let isLocal = ["localhost", "127.0.0.1", "::1"].contains(properties.broker.host)
      return [
        isLocal
          ? CheckFinding("tls", .ok, "plain text on this machine")
          : CheckFinding(
            "tls", .warning, "plain text: positions and passwords are sent unencrypted",
            remedy: "use mqtts://")
      ]
    }
    guard let certificate = properties.certificate else {
      return [CheckFinding("tls", .ok, "encrypted; the broker's certificate is trusted")]
    }
    let days = certificate.secondsLeft / 86_400
    let text =
      "\(certificate.tlsVersion), \(certificate.subject) by \(certificate.issuer), "
      + "expires in \(QuantityText.age(max(0, certificate.secondsLeft)))"
    return [
      days < expiryWarning
        ? CheckFinding("tls", .warning, text, remedy: "renew the broker's certificate")
        : CheckFinding("tls", .ok, text)
    ]
  }

  /// Reports the limits that the broker has sent in CONNACK.
  private mutating func limits(_ properties: MQTTServerProperties) {
    guard properties.protocolLevel == 5 else {
      findings.append(
        CheckFinding(
          "limits", .unknown, "MQTT 3.1.1 reports no limits, and acknowledges messages that it drops",
          remedy: "use a broker with MQTT 5"))
      return
    }
    var parts = ["\(properties.receiveMaximum) messages in flight"]
    parts.append(
      properties.maximumPacketSize.map { "packets up to \(QuantityText.volume(Double($0)))" }
        ?? "packets of any size")
    if let keepAlive = properties.keepAlive { parts.append("keep-alive \(keepAlive) s") }
    findings.append(CheckFinding("limits", .ok, parts.joined(separator: ", ")))
    if let size = properties.maximumPacketSize, size < 65_536 {
      findings.append(
        CheckFinding(
          "limits", .warning, "a track can be longer than \(size) bytes",
          remedy: "raise the broker's packet limit (mosquitto: max_packet_size)"))
    }
    if properties.maximumQoS < .atLeastOnce {
      findings.append(
        CheckFinding("limits", .failed, "no QoS 1: delivery is not guaranteed", remedy: "use another broker"))
    }
    if !properties.retainAvailable {
      findings.append(
        CheckFinding(
          "limits", .failed, "no retained messages: status and last positions are lost",
          remedy: "enable retained messages"))
    }
    if !properties.sharedSubscriptionsAvailable {
      findings.append(
        CheckFinding(
          "limits", .warning, "no shared subscriptions: --share does not work", remedy: "use one consumer"))
    }
  }
}

/// A finding about a broker.
package struct CheckFinding: Hashable, Sendable {
  package enum Verdict: String, Hashable, Sendable {
    case ok
    /// The check has succeeded with a restriction, such as a certificate that expires soon or missing
    /// permissions.
    case warning
    case failed
    /// The result is unknown, because the broker does not report it.
    case unknown
  }

  /// The subject: `reach`, `tls`, `login`, `subscribe`, …
  package var subject: String
  package var verdict: Verdict
  package var text: String
  /// The remedy; nil if none is needed.
  package var remedy: String?

  init(_ subject: String, _ verdict: Verdict, _ text: String, remedy: String? = nil) {
    self.subject = subject
    self.verdict = verdict
    self.text = text
    self.remedy = remedy
  }
}
