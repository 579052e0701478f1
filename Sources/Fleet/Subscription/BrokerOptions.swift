internal import Glibc
public import MQTT

/// How a consumer reaches its broker and what it shows of itself there: what the common options of `odograph` and its
/// environment variables come to.
public struct BrokerOptions: Hashable, Sendable {
  public var address: BrokerAddress
  /// Goes before the address's own.
  public var user: String?
  /// A file with the password in its first line.
  public var passwordFile: String?
  /// The password itself, from the environment and never from the command line.
  public var password: String?
  /// PEM file of the authorities to believe; nil believes the system's. Any of the three files turns TLS on.
  public var authorityFile: String?
  /// A folder of authorities, prepared by `openssl rehash`, instead.
  public var authorityFolder: String?
  /// PEM files of this client's certificate and key.
  public var certificateFile: String?
  public var keyFile: String?
  /// Instead of certificates: a key that both sides know, its name and the file with its hexadecimal digits.
  public var sharedKeyIdentity: String?
  public var sharedKeyFile: String?
  /// The application protocol to ask for, as in `mqtt`.
  public var applicationProtocol: String?
  public var minimumTLS = MQTTTLS.Version.tls12
  /// Speak MQTT 3.1.1 only.
  public var usesVersion311 = false

  public init(address: BrokerAddress = .local) { self.address = address }

  /// The session's settings.
  /// - Throws: `FleetError` when options contradict one another.
  public func configuration() throws(FleetError) -> MQTTConfiguration {
    let random = UInt32.random(in: 0 ... .max)
    var configuration = MQTTConfiguration(
      brokers: [.init(host: address.host, port: address.port)],
      clientID: "odograph-\(getpid())-\(String(random, radix: 16))")
    configuration.protocolVersion = usesVersion311 ? .v311 : .automatic
    configuration.userName = user ?? address.user
    configuration.password = passwordFile.map { .file($0) } ?? password.map { .value($0) }
    configuration.backoffLimit = 10
    guard (certificateFile == nil) == (keyFile == nil) else {
      throw .usage(
        "use", certificateFile == nil ? "--key" : "--cert", "a certificate and its key go together; give both"
      )
    }
    configuration.tls = try tls()
    return configuration
  }

  /// Whether something of TLS is set beside the address.
  public var mentionsTLS: Bool {
    authorityFile != nil || authorityFolder != nil || certificateFile != nil || sharedKeyIdentity != nil
  }

  /// Nil for plain text.
  private func tls() throws(FleetError) -> MQTTTLS? {
    guard (sharedKeyIdentity == nil) == (sharedKeyFile == nil) else {
      throw .usage(
        "use", sharedKeyIdentity == nil ? "--psk-file" : "--psk-identity",
        "a shared key and its name go together; give both")
    }
    let ways = [authorityFile, authorityFolder, sharedKeyIdentity].compactMap { $0 }
    guard ways.count <= 1 else {
      throw .usage(
        "use", "--ca, --ca-folder and --psk-identity", "each says whom to believe; give one of them")
    }
    guard address.usesTLS || mentionsTLS else { return nil }
    var tls = MQTTTLS(trust: .system)
    if let authorityFile { tls.trust = .file(authorityFile) }
    if let authorityFolder { tls.trust = .directory(authorityFolder) }
    if let sharedKeyIdentity, let sharedKeyFile {
      tls.trust = .preSharedKey(identity: sharedKeyIdentity, key: .file(sharedKeyFile))
    }
    if let certificateFile, let keyFile {
      tls.identity = .init(certificateFile: certificateFile, keyFile: keyFile)
    }
    tls.alpn = applicationProtocol
    tls.minimumVersion = minimumTLS
    return tls
  }
}
