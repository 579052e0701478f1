internal import Bytes
internal import MQTT

extension MQTTDisconnection {
  /// True if the settings are the cause, so that no connection was tried.
  var isOfSettings: Bool { if case .configuration = cause { true } else { false } }
}

extension AgentConfiguration {
  /// Returns the keys to check if a broker does not accept the connection.
  func remedy(of end: MQTTDisconnection) -> String {
    let client = mqtt.client
    let hasIdentity = client.tls?.identity != nil
    let ownCertificate =
      hasIdentity
      ? "check mqtt.certificate_file and mqtt.key_file, and that the broker trusts their CA"
      : "set mqtt.certificate_file and mqtt.key_file where the broker asks for a certificate"
    switch end.cause {
    case .configuration(let why):
      // If the message names several files, the remedy is about the first one. Of a key and its certificate,
      // that is the key.
      let files = client.credentialKeys.compactMap { key, path in
        why.firstRange(ofText: path).map { (key, $0.lowerBound) }
      }
      return files.min { $0.1 < $1.1 }.map { "check \($0.0)" } ?? "correct the mqtt keys"
    case .tls where end.isRefusedByBroker: return ownCertificate
    case .tls:
      return
        "check mqtt.ca_file, the broker's certificate (dates, names), this machine's clock, and that mqtt.broker speaks TLS"
    case .closedByPeer where client.tls != nil && end.phase >= .tls:
      return "check that mqtt.broker speaks TLS; " + ownCertificate
    case .clockNotSet: return end.remedy ?? ""
    default: return "check mqtt.broker, and that the broker listens there"
    }
  }
}

extension MQTTConfiguration {
  /// The configuration keys that contain file names, with their paths.
  fileprivate var credentialKeys: [(key: String, path: String)] {
    var keys: [(key: String, path: String)] = []
    if case .file(let path)? = password { keys.append(("mqtt.password_file", path)) }
    switch tls?.trust {
    case .file(let path)?: keys.append(("mqtt.ca_file", path))
    case .preSharedKey(_, .file(let path))?: keys.append(("mqtt.psk_file", path))
    default: break
    }
    if let identity = tls?.identity {
      keys.append(("mqtt.key_file", identity.keyFile))
      keys.append(("mqtt.certificate_file", identity.certificateFile))
    }
    return keys
  }
}
