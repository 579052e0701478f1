import Foundation
import Glibc
import MQTT
import Spatial
import TestSupport
import Testing

/// TLS with a real broker: accepted and refused certificates, causes and remedies in the reported errors.
@Suite(.serialized) struct BrokerTLSTests {
  let authority: CertificateAuthority

  init() throws { authority = try CertificateAuthority() }

  @Test(.timeLimit(.minutes(6)))
  func mutualCertificatesAreAccepted() async throws {
    let broker = try tlsBroker(authority.issue("broker"), requiresClients: true)
    let client = try authority.issue("vehicle")
    var settings = tlsConfiguration(broker)
    settings.tls?.identity = .init(certificateFile: client.certificateFile, keyFile: client.keyFile)
    settings.tls?.minimumVersion = .tls13
    settings.tls?.alpn = "mqtt"
    #expect(try await firstState(settings).isConnected)
    // The host name is verified as well.
    settings.brokers = [.init(host: "localhost", port: broker.port)]
    #expect(try await firstState(settings).isConnected)
  }

  @Test(.timeLimit(.minutes(6)))
  func missingClientCertificateIsReported() async throws {
    let broker = try tlsBroker(authority.issue("broker"), requiresClients: true)
    let state = try await firstState(tlsConfiguration(broker))
    #expect(state.cause?.contains("certificate required") == true, "\(state.cause ?? "") \(state)")
  }

  @Test(.timeLimit(.minutes(6)))
  func anExpiredCertificateIsRefused() async throws {
    let broker = try tlsBroker(authority.issue("broker", validity: .expired))
    let state = try await firstState(tlsConfiguration(broker))
    #expect(state.cause?.contains("has expired") == true, "\(state)")
    #expect(state.remedy?.contains("renew the broker's certificate") == true, "\(state)")
  }

  @Test(.timeLimit(.minutes(6)))
  func notYetValidCertificateIsRefused() async throws {
    let broker = try tlsBroker(authority.issue("broker", validity: .notYet))
    let state = try await firstState(tlsConfiguration(broker))
    #expect(state.cause?.contains("not yet valid") == true, "\(state)")
  }

  @Test(.timeLimit(.minutes(6)))
  func aCertificateForAnotherNameIsRefused() async throws {
    let broker = try tlsBroker(authority.issue("broker", alternativeName: "DNS:other.example"))
    let state = try await firstState(tlsConfiguration(broker))
    #expect(state.cause?.contains("not for the name 127.0.0.1") == true, "\(state)")
    #expect(state.remedy?.contains("host name of the certificate") == true, "\(state)")
  }

  @Test(.timeLimit(.minutes(6)))
  func aCertificateOfAnotherAuthorityIsRefused() async throws {
    let other = try CertificateAuthority("Other")
    let broker = try tlsBroker(other.issue("broker"))
    let state = try await firstState(tlsConfiguration(broker))
    #expect(state.cause?.contains("issuer") == true, "\(state)")
    #expect(state.remedy?.contains("CA file contains the authority") == true, "\(state)")
  }

  @Test(.timeLimit(.minutes(6)))
  func aPlainTextBrokerIsRefusedWhenTLSIsRequired() async throws {
    let broker = try BrokerFixture()
    let state = try await firstState(tlsConfiguration(broker))
    guard case .disconnected(let end, _) = state else {
      Issue.record("\(state)")
      return
    }
    #expect(end.phase == .tls)
    #expect(end.remedy?.contains("TLS") == true, "\(end)")
  }

  @Test(.timeLimit(.minutes(6)))
  func preSharedKeyIsAccepted() async throws {
    let directory = try TemporaryDirectory()
    let keys = try directory.write("psk", "vehicle:0011223344556677\n")
    let broker = try BrokerFixture(["allow_anonymous true", "psk_hint hint", "psk_file \(keys)"])
    var settings = tlsConfiguration(broker)
    settings.tls?.trust = .preSharedKey(identity: "vehicle", key: .value("0011223344556677"))
    #expect(try await firstState(settings).isConnected)
    settings.tls?.trust = .preSharedKey(identity: "vehicle", key: .value("00"))
    #expect(try await !firstState(settings).isConnected)
  }

  /// Packets received through TLS are validated before they reach the library.
  @Test(.timeLimit(.minutes(6)))
  func unknownPropertyThroughTLSClosesTheConnection() async throws {
    let identity = try authority.issue("broker")
    let port: Int = try FreePort.next()
    let server = try ChildProcess(
      "sh",
      [
        "-c",
        "(printf '\\040\\005\\000\\000\\002\\177\\000'; sleep 600) | openssl s_server -quiet -accept 127.0.0.1:\(port) "
          + "-cert \(identity.certificateFile) -key \(identity.keyFile)",
      ])
    var settings = MQTTConfiguration(
      brokers: [.init(host: "127.0.0.1", port: port)], clientID: "vehicle")
    settings.tls = MQTTTLS(trust: .file(authority.certificateFile))
    settings.protocolVersion = .v5
    let state = try await firstState(settings, saying: "unknown property 0x7f")
    #expect(state.cause?.contains("CONNACK, byte 5: unknown property 0x7f") == true, "\(state)")
    #expect(server.isRunning)
  }

  @Test(.timeLimit(.minutes(6)))
  func missingFilesAreNamed() async throws {
    var settings = MQTTConfiguration(brokers: [.init(host: "127.0.0.1", port: 1)], clientID: "x")
    settings.tls = MQTTTLS(trust: .file("/nowhere/ca.crt"))
    #expect(try await firstState(settings).cause?.contains("/nowhere/ca.crt") == true)
  }

  @Test(.timeLimit(.minutes(6)))
  func aKeyOfAnotherCertificateIsNamed() async throws {
    let broker = try tlsBroker(authority.issue("broker"), requiresClients: true)
    let (client, other) = (try authority.issue("vehicle"), try authority.issue("other"))
    var settings = tlsConfiguration(broker)
    settings.tls?.identity = .init(certificateFile: client.certificateFile, keyFile: other.keyFile)
    let state = try await firstState(settings)
    #expect(
      state.cause?.contains("\(other.keyFile) cannot be read, or does not belong to the certificate") == true,
      "\(state)")
  }

  @Test(.timeLimit(.minutes(6)))
  func unsetClockPostponesTLS() async throws {
    let broker = try tlsBroker(authority.issue("broker"))
    var settings = tlsConfiguration(broker)
    settings.earliestPlausibleTime = UTCTime(secondsSince1970: 4_000_000_000)
    let state = try await firstState(settings)
    guard case .disconnected(let end, let retry) = state else {
      Issue.record("must be refused: \(state)")
      return
    }
    #expect(end.cause == .clockNotSet)
    #expect(retry == 5)
  }

  @Test(.timeLimit(.minutes(6)), arguments: [false, true])
  func renewedCredentialsAreUsedWithoutARestart(isBusy: Bool) async throws {
    let broker = try tlsBroker(authority.issue("broker"), requiresClients: true)
    let first = try authority.issue("first")
    let directory = try TemporaryDirectory()
    let (certificate, key) = (directory.file("vehicle.crt"), directory.file("vehicle.key"))
    try replace(certificate, with: first.certificateFile)
    try replace(key, with: first.keyFile)
    var settings = tlsConfiguration(broker)
    settings.keepAlive = 5
    settings.tls?.identity = .init(certificateFile: certificate, keyFile: key)
    let recorder = SessionRecorder()
    let session = try MQTTSession(configuration: settings, handlers: recorder.handlers)
    try session.start()
    try await eventually { session.statistics.connections == 1 }
    let second = try authority.issue("second")
    try replace(key, with: second.keyFile)
    try replace(certificate, with: second.certificateFile)
    try await eventually {
      if isBusy { session.publishNow(MQTTMessage(topic: "busy", text: "x")) }
      return session.statistics.connections == 2
    }
    try await broker.waitForLog("u'second'")
    #expect(recorder.states.count == 3)
    session.stop()
  }

  private func tlsBroker(
    _ identity: (certificateFile: String, keyFile: String), requiresClients: Bool = false
  ) throws -> BrokerFixture {
    try BrokerFixture([
      "allow_anonymous true", "cafile \(authority.certificateFile)", "certfile \(identity.certificateFile)",
      "keyfile \(identity.keyFile)", "require_certificate \(requiresClients)",
      "use_identity_as_username \(requiresClients)",
    ])
  }

  private func tlsConfiguration(_ broker: BrokerFixture) -> MQTTConfiguration {
    var settings = configuration(broker, "vehicle")
    settings.tls = MQTTTLS(trust: .file(authority.certificateFile))
    settings.connectTimeout = 5
    return settings
  }

  /// Returns the first state that a session reports; with `text`, the first one whose cause contains it.
  private func firstState(
    _ settings: MQTTConfiguration, saying text: String? = nil
  ) async throws -> MQTTConnectionState {
    let recorder = SessionRecorder()
    let session = try MQTTSession(configuration: settings, handlers: recorder.handlers)
    try session.start()
    func found() -> MQTTConnectionState? {
      recorder.states.first { state in text.map { state.cause?.contains($0) == true } ?? true }
    }
    waitUntil { found() != nil }
    let state = try #require(found() ?? recorder.states.first)
    session.stop()
    return state
  }

  private func replace(_ path: String, with other: String) throws {
    try Data(contentsOf: URL(fileURLWithPath: other)).write(to: URL(fileURLWithPath: path), options: .atomic)
  }
}

extension MQTTConnectionState {
  var isConnected: Bool { if case .connected = self { true } else { false } }

  /// Remedy of a disconnection; nil while connected.
  var remedy: String? { if case .disconnected(let end, _) = self { end.remedy } else { nil } }

  /// Description of a disconnection; nil while connected.
  var cause: String? { if case .disconnected(let end, _) = self { end.description } else { nil } }
}
