/// The certificate that a broker showed, and under which protocol.
public struct MQTTPeerCertificate: Hashable, Sendable {
  /// As in `TLSv1.3`.
  public var tlsVersion: String
  /// Distinguished names in OpenSSL's one-line form.
  public var subject: String
  public var issuer: String
  /// Seconds from the moment of the connection until it ends.
  public var secondsLeft: Double
}
