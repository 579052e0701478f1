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
  /// PEM files of this client's certificate and key.
  public var certificateFile: String?
  public var keyFile: String?
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
      throw FleetError(
        operation: "use", object: certificateFile == nil ? "--key" : "--cert",
        cause: "a certificate and its key go together; give both", exit: .usage)
    }
    if address.usesTLS || authorityFile != nil || certificateFile != nil {
      var tls = MQTTTLS(trust: authorityFile.map { .file($0) } ?? .system)
      if let certificateFile, let keyFile {
        tls.identity = .init(certificateFile: certificateFile, keyFile: keyFile)
      }
      configuration.tls = tls
    }
    return configuration
  }
}
