import Fleet
import FleetFixtures
import Foundation
import JSON
import Spatial
import TestSupport
import Testing
import Transfers

@testable import FleetAlerts

/// Deliveries to real servers: rejections are reported, and redirects are not followed.
@Suite(.timeLimit(.minutes(2))) struct ReceiverClientTests {
  private let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  private let message = AlertMessage(
    number: 1, receiver: "ops", key: "e-1:began", created: noon, subject: "low: van", body: Array("{}".utf8),
    vehicles: [])

  private func deliver(_ way: Receiver.Way, shouldContinue: @escaping () -> Bool = { true }) throws
    -> ReceiverClient.Outcome
  {
    let client = try #require(ReceiverClient(Receiver(name: "ops", way: way), shouldContinue: shouldContinue))
    return client.deliver(message, attempt: 1, at: noon)
  }

  private func failure(_ outcome: ReceiverClient.Outcome) -> String {
    if case .failed(let why, _, _) = outcome { why } else { "" }
  }

  private func hook(_ url: String, authorities: String? = nil) -> Receiver.Way {
    var hook = WebhookReceiver(url: url, secret: Array("a secret of some length".utf8), isLocal: true)
    (hook.authorities, hook.timeout) = (authorities, 2)
    return .webhook(hook)
  }

  @Test func aWebhookIsCalledOnceAndRedirectsAreNotFollowed() throws {
    let service = try GeolocateFixture()
    #expect(try deliver(hook(service.url("good"))) == .taken("status 200"))
    let asked = try service.requests().map { try JSONValue(parsing: Array($0.utf8)) }
    let headers = try #require(asked.first?["headers"])
    #expect(
      asked.count == 1 && asked[0]["body"]?.string == "{}"
        && headers["Content-Type"]?.string == "application/json")
    #expect(headers["Idempotency-Key"]?.string == "e-1:began" && headers["Odograph-Attempt"]?.string == "1")
    let seconds = Int(noon.nanoseconds / 1_000_000_000)
    #expect(headers["Odograph-Timestamp"]?.string == "\(seconds)")
    let signature = Signature.hex(
      of: message.body, timestamp: seconds, secret: Array("a secret of some length".utf8))
    #expect(headers["Odograph-Signature"]?.string == signature.map { "sha256=\($0)" })
    #expect(
      try failure(deliver(hook(service.url("redirect")))).contains("redirects to another address (302)"))
    #expect(try service.requests().count == 2)
    // Status 200, and then a body that is too long to read.
    #expect(try deliver(hook(service.url("large"))) == .taken("status 200"))
    #expect(try failure(deliver(hook(service.url("forbidden")))).contains("check secret_file"))
    #expect(try failure(deliver(hook(service.url("broken")))).contains("status 500"))
    guard case .failed(_, let after, let isRefusal) = try deliver(hook(service.url("later"))) else {
      Issue.record("the message was accepted")
      return
    }
    #expect(after == 86_400 && !isRefusal)
    #expect(try deliver(hook(service.url("good")), shouldContinue: { false }) == .left)
    let port: Int = try FreePort.next()
    #expect(try !failure(deliver(hook("http://127.0.0.1:\(port)/"))).isEmpty)
  }

  @Test func certificatesAreChecked() throws {
    let authority = try CertificateAuthority()
    let service = try GeolocateFixture(certificate: authority.issue("here"))
    let url = service.url("good").replacing("http://", with: "https://")
    #expect(try failure(deliver(hook(url))).contains("untrusted"))
    #expect(try deliver(hook(url, authorities: authority.certificateFile)) == .taken("status 200"))
    let other = try GeolocateFixture(certificate: authority.issue("there", alternativeName: "DNS:elsewhere"))
    let wrong = other.url("good").replacing("http://", with: "https://")
    #expect(
      try failure(deliver(hook(wrong, authorities: authority.certificateFile))).contains(
        "untrusted"))
    #expect(try other.requests().isEmpty)
  }

  private func mailServer(_ mode: String, _ certificate: (certificateFile: String, keyFile: String)? = nil)
    throws
    -> (child: ChildProcess, port: String)
  {
    let child = try ChildProcess(
      ContractScript.python,
      ["\(ContractScript.repository)/Tests/Alerts/smtp.py", directory.file(mode), mode]
        + (certificate.map { [$0.certificateFile, $0.keyFile] } ?? []))
    #expect(waitUntil { child.output.hasSuffix("\n") })
    return (child, String(child.output.split(whereSeparator: \.isWhitespace).last ?? ""))
  }

  private func letters(_ mode: String) throws -> [JSONValue] {
    let text = (try? String(contentsOfFile: directory.file(mode), encoding: .utf8)) ?? ""
    return try text.split(separator: "\n").map { try JSONValue(parsing: Array($0.utf8)) }
  }

  private func mail(_ url: String, encrypted: Bool = true, user: Bool = false, authorities: String? = nil)
    -> Receiver.Way
  {
    var mail = MailReceiver(
      server: MailServer(
        url: url, requiresEncryption: encrypted, user: user ? "ann" : nil, password: user ? "pass word" : nil,
        authorities: authorities), sender: "odograph@example.org",
      recipients: ["a@example.org", "b@example.org"])
    mail.timeout = 5
    return .mail(mail)
  }

  @Test func mailIsEncryptedUnlessConfiguredOtherwise() throws {
    let authority = try CertificateAuthority()
    let file = authority.certificateFile
    let plain = try mailServer("plain")
    // A server without STARTTLS gets no mail unless encryption is not required.
    #expect(try !failure(deliver(mail("smtp://127.0.0.1:\(plain.port)"))).isEmpty && letters("plain").isEmpty)
    #expect(try failure(deliver(mail("smtp://127.0.0.1:\(plain.port)", encrypted: false))).isEmpty)
    let letter = try #require(try letters("plain").first)
    #expect(letter["from"]?.string?.hasPrefix("MAIL FROM:<odograph@example.org>") == true)
    #expect(letter["to"]?.array?.count == 2)
    let text = try #require(letter["text"]?.string)
    #expect(
      text.contains("Subject: [odograph] low: van\r\n")
        && text.contains("Message-ID: <e-1.began@example.org>"))
    #expect(text.hasSuffix("\r\n\r\ne30=\r\n"))

    let secure = try mailServer("starttls", authority.issue("mail"))
    let url = "smtp://127.0.0.1:\(secure.port)"
    #expect(try failure(deliver(mail(url))).contains("untrusted") && letters("starttls").isEmpty)
    #expect(try failure(deliver(mail(url, user: true, authorities: file))).isEmpty)
    let safe = try #require(try letters("starttls").first)
    #expect(safe["safe"]?.bool == true && safe["login"] == .array([.string("ann"), .string("pass word")]))

    let tls = try mailServer("tls", authority.issue("mails"))
    #expect(try failure(deliver(mail("smtps://127.0.0.1:\(tls.port)", authorities: file))).isEmpty)
    #expect(try letters("tls").first?["safe"]?.bool == true)
  }

  /// A mail that the server has read and rejected does not block the following ones; a server that refuses all clients does.
  @Test(arguments: [("unwanted", true), ("refuse", false)])
  func aRejectedMailDiffersFromAServerThatRefusesClients(mode: String, isRefusal: Bool) throws {
    let server = try mailServer(mode)
    let outcome = try deliver(mail("smtp://127.0.0.1:\(server.port)", encrypted: false))
    guard case .failed(let text, nil, let found) = outcome else {
      Issue.record("\(outcome)")
      return
    }
    #expect(found == isRefusal && text.contains("(554)") == isRefusal, "\(text)")
  }

  /// The other recipients get the mail, which is not sent again.
  @Test func rejectedRecipientsAreReported() throws {
    let server = try mailServer("partly")
    let url = "smtp://127.0.0.1:\(server.port)"
    #expect(
      try deliver(mail(url, encrypted: false))
        == .taken("accepted by \(url)", refused: "b@example.org (550 ask the postmaster)"))
    #expect(try letters("partly").first?["to"]?.array?.count == 1)
    let receiver = Receiver(name: "ops", way: mail(url, encrypted: false))
    #expect(
      receiver.test(at: noon) { true }
        == .failed("the mail server rejected recipients: b@example.org (550 ask the postmaster)"))
  }

  /// A server that has the mail gets more time to answer, as a mail that is given up would be sent again.
  @Test func theAnswerToASentMailIsAwaited() throws {
    let slow = try mailServer("slow")
    let receiver = mail("smtp://127.0.0.1:\(slow.port)", encrypted: false)
    guard case .mail(var patient) = receiver else {
      Issue.record("\(receiver)")
      return
    }
    patient.timeout = 1
    #expect(try failure(deliver(.mail(patient))).isEmpty)
    #expect(try letters("slow").count == 1)
    let stuck = try mailServer("stuck")
    patient.server.url = "smtp://127.0.0.1:\(stuck.port)"
    #expect(try failure(deliver(.mail(patient))).contains("timed out after 1 s"))
  }
}
