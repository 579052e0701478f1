package import ArgumentParser
package import Fleet
package import FleetCommand
internal import JSON
internal import MQTT
internal import Platform
internal import Spatial
internal import Telemetry

/// The options of `odograph check`.
package struct CheckOptions: BrokerOptions {
  @Option(help: "Fleet whose topics to test (default: all); repeat for several.")
  package var fleet: [String] = []

  @Flag(help: "Print a JSON array of the findings.")
  package var json = false

  @OptionGroup(title: "Broker") package var broker: BrokerArguments

  package init() {}
}

/// The `odograph check` command: tests a broker's configuration from the view of a consumer, such as
/// reachability, authentication and permissions.
///
/// The command leaves nothing at the broker and does not disturb vehicles: test messages are published for a
/// vehicle that does not exist, and are not retained.
package enum CheckCommand {
  /// The name of a vehicle that does not exist, for which test messages are published.
  static let probeVehicle = "odograph-check"
  /// The number of days before the expiry of the broker's certificate from which a warning is reported.
  private static let expiryWarning = 21.0

  /// Runs all checks. Returns `.done` if none failed; warnings are not failures.
  package static func run(_ options: CheckOptions) throws(FleetError) -> ExitStatus {
    var findings: [CheckFinding] = []
    let broker = try options.broker.configuration()
    var failure: FleetError.LinkFailure?
    if let properties = try reach(broker, &findings, &failure) {
      limits(properties, &findings)
      try rights(options, broker, properties, &findings)
    }
    if options.json {
      var json = JSONWriter()
      json.openArray()
      for finding in findings { finding.write(to: &json) }
      json.closeArray()
      try CommandOutput.print(json.bytes + [0x0A])
    } else {
      try CommandOutput.print(findings.map(\.line), styles: CommandOutput.usesStyles)
    }
    // With --json no advice is printed, because programs that read the JSON often read standard error, too.
    if let failure, !options.json { options.broker.advice(on: failure).forEach(StandardError.report) }
    return findings.contains { $0.verdict == .failed } ? .unavailable : .done
  }

  /// Checks DNS lookup, TCP, TLS and login.
  private static func reach(
    _ broker: MQTTConfiguration, _ findings: inout [CheckFinding], _ failure: inout FleetError.LinkFailure?
  ) throws(FleetError) -> MQTTServerProperties? {
    let certificateFile = broker.tls?.identity?.certificateFile
    let outcome: BrokerProbe.Finding?
    do throws(MQTTError) { outcome = try BrokerProbe.run(broker, timeout: 15).first } catch {
      throw FleetError(error)
    }
    switch outcome {
    case .accepting(let properties), .rejecting(let properties, _):
      let version = properties.protocolLevel == 5 ? "5" : "3.1.1"
      findings.append(CheckFinding("reach", .ok, "\(properties.broker) speaks MQTT \(version)"))
      findings += tls(properties, isWanted: broker.tls != nil)
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
  private static func limits(_ properties: MQTTServerProperties, _ findings: inout [CheckFinding]) {
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

  private static func rights(
    _ options: CheckOptions, _ broker: MQTTConfiguration, _ properties: MQTTServerProperties,
    _ findings: inout [CheckFinding]
  ) throws(FleetError) {
    let rights = try CheckRights(options, broker, isVersion5: properties.protocolLevel == 5)
    findings += try rights.run()
  }
}

/// A finding of `odograph check`.
struct CheckFinding: Hashable, Sendable {
  enum Verdict: String, Hashable, Sendable {
    case ok
    /// The check has succeeded with a restriction, such as a certificate that expires soon or missing
    /// permissions.
    case warning
    case failed
    /// The result is unknown, because the broker does not report it.
    case unknown
  }

  /// The subject: `reach`, `tls`, `login`, `subscribe`, …
  var subject: String
  var verdict: Verdict
  var text: String
  /// The remedy; nil if none is needed.
  var remedy: String?

  init(_ subject: String, _ verdict: Verdict, _ text: String, remedy: String? = nil) {
    self.subject = subject
    self.verdict = verdict
    self.text = text
    self.remedy = remedy
  }

  var line: StyledText {
    let style: TextStyle =
      switch verdict {
      case .ok: TextStyle(.green)
      case .warning: TextStyle(.yellow)
      case .failed: TextStyle(.red, bold: true)
      case .unknown: .dim
      }
    var line = StyledText(verdict.rawValue, style: style).fitted(to: 9)
    line.append(StyledText(subject).fitted(to: 11))
    line.append(text)
    if let remedy { line.append("; \(remedy)", style: .dim) }
    return line
  }

  func write(to json: inout JSONWriter) {
    json.openObject()
    json.field("subject", subject)
    json.field("verdict", verdict.rawValue)
    json.field("text", text)
    json.field("remedy", remedy)
    json.closeObject()
  }
}
