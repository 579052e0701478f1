internal import Glibc
internal import MQTT

/// The files that systemd copies when the package's service starts: from `/etc/odographd/credentials/NAME`, readable by root
/// only, to `/run/credentials/odographd.service/mqtt_NAME`.
package enum ServiceCredentials {
  package static let passed = "/run/credentials/odographd.service/mqtt_"
  package static let stored = "/etc/odographd/credentials/"

  /// Returns the path of the stored file if the service, which is not running, will pass it; otherwise the path itself.
  package static func source(of path: String, passed: String = passed, stored: String = stored) -> String {
    guard path.hasPrefix(passed), access(path, F_OK) != 0 else { return path }
    let source = stored + path.dropFirst(passed.count)
    return access(source, R_OK) == 0 ? source : path
  }

  /// Returns why the service's user cannot read a file; nil if it can, or if there is no such file.
  package static func obstacle(_ path: String) -> String? {
    // The unit has ProtectHome and PrivateTmp.
    if let folder = ["/home/", "/root/", "/run/user/", "/tmp/", "/var/tmp/"].first(where: path.hasPrefix) {
      return "the service does not see \(folder.dropLast())"
    }
    var status = stat()
    guard unsafe stat(path, &status) == 0, status.st_uid == 0 else { return nil }
    let others = status.st_gid == 0 ? S_IROTH : S_IROTH | S_IRGRP
    guard status.st_mode & others == 0 else { return nil }
    return "only root may read it"
  }
}

extension MQTTConfiguration {
  /// Replaces files that the service will pass by their sources, for a check before the service runs.
  mutating func useSourcesOfCredentials() {
    func source(_ secret: MQTTSecret) -> MQTTSecret {
      if case .file(let path) = secret { .file(ServiceCredentials.source(of: path)) } else { secret }
    }
    password = password.map(source)
    if let identity = tls?.identity {
      tls?.identity = MQTTTLS.Identity(
        certificateFile: ServiceCredentials.source(of: identity.certificateFile),
        keyFile: ServiceCredentials.source(of: identity.keyFile))
    }
    switch tls?.trust {
    case .file(let path): tls?.trust = .file(ServiceCredentials.source(of: path))
    case .preSharedKey(let name, let key): tls?.trust = .preSharedKey(identity: name, key: source(key))
    case .system, .directory, nil: break
    }
  }
}
